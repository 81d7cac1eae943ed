package crds

import (
	"slices"
	"strings"
	"text/template"
)

// Chart is a chart as data, with its subcharts, also those that its values
// leave out. Templated YAML is one, too.
type Chart struct {
	// Name is what its Chart.yaml says.
	Name string
	// Key is where its values stand in those of the whole.
	Key Path
	// ValuesFile is its values.yaml, and Declared the file and line at which a
	// path of its values stands in it, 0 if it does not.
	ValuesFile string
	Declared   func(Path) int
	Templates  []File
	// Definitions are the files of crds/, Files the others that hold any
	// definition and that templates may read.
	Definitions, Files []File
	// Conditions and Tags say whether the chart above takes it in.
	Conditions []Path
	Tags       []string
	Charts     []*Chart
}

// File is a file of a chart: its name there, the name by which people know it,
// and its text.
type File struct{ Name, Shown, Text string }

// Path is the way to a value.
type Path []string

func (p Path) String() string { return strings.Join(p, ".") }

// Expression is the path as it stands in an expression for "set".
func (p Path) Expression() string {
	steps := make([]string, len(p))
	for i, step := range p {
		steps[i] = strings.NewReplacer(`\`, `\\`, ".", `\.`, ",", `\,`, "=", `\=`, "[", `\[`).Replace(step)
	}
	return strings.Join(steps, ".")
}

// below returns a path in the values of the whole.
func (c *Chart) below(p Path) Path { return append(slices.Clone(c.Key), p...) }

// Values are the values of a chart and its subcharts, as they hold.
type Values map[string]any

// at returns a value, and whether there is one.
func (v Values) at(p Path) (any, bool) {
	var here any = map[string]any(v)
	for _, step := range p {
		m, ok := here.(map[string]any)
		if !ok {
			return nil, false
		}
		if here, ok = m[step]; !ok {
			return nil, false
		}
	}
	return here, here != nil
}

// true reports whether a template takes a value for true.
func (v Values) true(p Path) bool {
	value, ok := v.at(p)
	if !ok {
		return false
	}
	truth, _ := template.IsTrue(value)
	return truth
}
