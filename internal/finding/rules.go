package finding

// Rules about inputs that cannot be used as they are, which several packages have.
const (
	// BadSettings is about component.yaml, ladder.yaml, parameters and flags.
	BadSettings Rule = "bad-settings"
	// BadValues is about values of a chart, and their schema.
	BadValues Rule = "bad-values"
	// BadChart is about a chart that Helm rejects, or reads differently than it is written.
	BadChart Rule = "bad-chart"
	// BadKustomization is the same about a kustomization.
	BadKustomization Rule = "bad-kustomization"
	// NotFound is about what is named, and missing or unreadable.
	NotFound Rule = "not-found"
	// NotRendered is about a part of the input that is left out.
	NotRendered Rule = "not-rendered"
	// NotWritten is about output that is not written.
	NotWritten Rule = "not-written"
	// Rollout is about the order in which Applications are deployed.
	Rollout Rule = "rollout"
)
