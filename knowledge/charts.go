package knowledge

import (
	"slices"

	"github.com/ladder-cmp/ladder/profile"
)

// Chart is what is known of a chart that is not at hand, such as one in a
// registry: enough to say what comes before it and after it.
type Chart struct {
	// Name is that of the chart, Others are names of charts that bring the same.
	Name   string   `yaml:"name"`
	Others []string `yaml:"others"`
	// Rung is what it is for.
	Rung string `yaml:"rung"`
	// Provides are the API groups whose kinds come with it, or their endings
	// ("*.crossplane.io"); Needs are those whose kinds must be there before.
	Provides []string `yaml:"provides"`
	Needs    []string `yaml:"needs"`
	Why      string   `yaml:"why"`
	Source   string   `yaml:"source"`
}

// Brings reports whether the kinds of a group come with the chart.
func (c Chart) Brings(group string) bool { return brings(c.Provides, group) }

// chartFile is charts.yaml.
type chartFile struct {
	Charts []Chart `yaml:"charts"`
}

func loadCharts() ([]Chart, error) {
	var f chartFile
	err := decode("charts.yaml", &f)
	return f.Charts, err
}

// Chart returns what is known of the chart of that name.
func (b *Base) Chart(name string) (Chart, bool) {
	all, err := b.charts()
	must(err)
	for _, c := range all {
		if c.Name == name || slices.Contains(c.Others, name) {
			return c, true
		}
	}
	return Chart{}, false
}

// Charts lists all that are known, by name.
func (b *Base) Charts() []Chart {
	all, err := b.charts()
	must(err)
	return all
}

// Fleet is what the nearest ladder.yaml says that speaks of a fleet.
func (b *Base) Fleet() profile.Fleet { return b.fleet }
