package crds

import (
	"slices"
	"strings"
	"text/template"
)

// Chart is a chart as data, including disabled subcharts. It can also represent
// templated YAML.
type Chart struct {
	// Name is the name in Chart.yaml.
	Name string
	// Key is the path of its values within those of the root chart.
	Key Path
	// ValuesFile is its values.yaml. Declared returns the line of a path in it; 0 if
	// the file does not set it.
	ValuesFile string
	Declared   func(Path) int
	Templates  []File
	// CRDFiles are the files of crds/; Files are others that contain a CRD and
	// that templates may read.
	CRDFiles, Files []File
	// Conditions and Tags decide whether the parent chart enables it.
	Conditions []Path
	Tags       []string
	Charts     []*Chart
}

// File is a file of a chart: its name there, its name for users, and its text.
type File struct{ Name, Shown, Text string }

// Path is the path of a value.
type Path []string

func (p Path) String() string { return strings.Join(p, ".") }

// Expression returns the path in the syntax of "set".
func (p Path) Expression() string {
	steps := make([]string, len(p))
	for i, step := range p {
		steps[i] = strings.NewReplacer(`\`, `\\`, ".", `\.`, ",", `\,`, "=", `\=`, "[", `\[`).Replace(step)
	}
	return strings.Join(steps, ".")
}

// below returns a path within the values of the root chart.
func (c *Chart) below(p Path) Path { return append(slices.Clone(c.Key), p...) }

// Values are the effective values of a chart and its subcharts.
type Values map[string]any

// at returns a value, and whether it exists.
func (v Values) at(p Path) (any, bool) {
	var value any = map[string]any(v)
	for _, step := range p {
		m, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = m[step]; !ok {
			return nil, false
		}
	}
	return value, value != nil
}

// isTrue reports whether a value is true for templates.
func (v Values) isTrue(p Path) bool {
	value, ok := v.at(p)
	if !ok {
		return false
	}
	truth, _ := template.IsTrue(value)
	return truth
}
