package cli

import (
	_ "embed"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// Rule describes a rule to users who do not know its name.
type Rule struct {
	Name finding.Rule `yaml:"rule"`
	// Finds is what its findings are about, and Fix what to do, in Markdown; empty if each
	// finding says it.
	Finds string `yaml:"finds"`
	Fix   string `yaml:"fix"`
	// Page is the page below docs that describes it, with the section.
	Page string `yaml:"page"`
}

//go:embed rules.yaml
var rulesText []byte

// Rules are the documented rules by name.
type Rules map[finding.Rule]Rule

// NewRules returns the rules that any command can report, and more.
func NewRules(more ...Rule) Rules {
	all := Rules{}
	for _, r := range append(more, settings.Embedded[[]Rule](rulesText)...) {
		all[r.Name] = r
	}
	return all
}
