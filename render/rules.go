package render

// The rules of findings by which others tell what is wrong.
const (
	// UselessValues marks values that were given to what takes none.
	UselessValues = "useless-values"
	// BadName marks a name that no release can have.
	BadName = "bad-name"
	// Empty marks a component of which nothing is rendered.
	Empty = "empty-rendering"
	// Nothing marks a directory that holds nothing to render.
	Nothing = "nothing-to-render"
)
