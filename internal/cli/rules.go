package cli

import (
	_ "embed"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Rule describes a rule to users who do not know its name.
type Rule struct {
	Name string `yaml:"rule"`
	// Finds is what its findings are about, and Fix what to do; empty if each finding
	// says it.
	Finds string `yaml:"finds"`
	Fix   string `yaml:"fix"`
	// Page is the page below docs that describes it, with the section.
	Page string `yaml:"page"`
}

//go:embed rules.yaml
var rulesText []byte

// Rules are the documented rules by name.
type Rules map[string]Rule

// NewRules returns the rules that any command can report, and more.
func NewRules(more ...Rule) Rules {
	var own []Rule
	if err := yaml.Unmarshal(rulesText, &own); err != nil {
		panic(err) // embedded, and read by tests
	}
	all := Rules{}
	for _, r := range append(more, own...) {
		all[r.Name] = r
	}
	return all
}

// Of describes a rule. Rules about an input that cannot be used, such as a file that
// is not YAML, share one description: their findings say more.
func (all Rules) Of(name string) Rule {
	if r, known := all[name]; known {
		return r
	}
	if strings.HasPrefix(name, "remote-") {
		return Rule{name, "a remote source could not be fetched", "", "sources.md#when-a-source-fails"}
	}
	return Rule{name, "Ladder cannot use a part of the input as it is written", "", "components.md#errors"}
}

// releases matches the versions that have a tag.
var releases = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)

// sarif describes a rule to code hosts. version is that of the program.
func (r Rule) sarif(version string) sarifRule {
	ref := "main"
	if releases.MatchString(version) {
		ref = "v" + strings.TrimPrefix(version, "v")
	}
	full := r.Finds + "."
	if r.Fix != "" {
		full += " Fix: " + r.Fix + "."
	}
	uri := repository + "/blob/" + ref + "/docs/" + r.Page
	return sarifRule{ID: r.Name, ShortDescription: sarifMessage{r.Finds}, FullDescription: sarifMessage{full}, Help: sarifMessage{full + " See " + uri}, HelpURI: uri}
}
