package cli

import (
	_ "embed"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
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

// releases matches the versions that have a tag.
var releases = lazyregexp.New(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)

// links matches links of Markdown, which code hosts show as text.
var links = lazyregexp.New(`\[([^]]*)\]\([^)]*\)`)

// sarif describes a rule to code hosts. version is that of the program.
func (r Rule) sarif(version string) sarifRule {
	ref := "main"
	if releases.MatchString(version) {
		ref = "v" + strings.TrimPrefix(version, "v")
	}
	r.Finds, r.Fix = links.ReplaceAllString(r.Finds, "$1"), links.ReplaceAllString(r.Fix, "$1")
	full := r.Finds + "."
	if r.Fix != "" {
		full += " Fix: " + r.Fix + "."
	}
	uri := repository + "/blob/" + ref + "/docs/" + r.Page
	return sarifRule{ID: r.Name, ShortDescription: sarifMessage{r.Finds}, FullDescription: sarifMessage{full},
		Help: sarifMessage{full + " See " + uri}, HelpURI: uri}
}
