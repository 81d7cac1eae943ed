package verdict

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/render/repeat"
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

// described are the documented rules by name.
var described = sync.OnceValue(func() map[string]Rule {
	var own []Rule
	if err := yaml.Unmarshal(rulesText, &own); err != nil {
		panic(err) // embedded, and read by tests
	}
	all := map[string]Rule{}
	for _, r := range doctor.Rules() {
		all[r.Name] = Rule{r.Name, r.Finds, r.Remedy, "doctor.md#the-rules"}
	}
	for _, r := range repeat.Rules() {
		all[r.Name] = Rule{r.Name, r.Finds, "", "repeatable.md"}
	}
	for _, r := range lint.Rules() {
		all[r.Name] = Rule{r.Name, r.Finds, "", "fleet.md#lint"}
	}
	for _, r := range own {
		all[r.Name] = r
	}
	return all
})

// RuleOf describes a rule. Rules about an input that cannot be used, such as a file that
// is not YAML, share one description: their findings say more.
func RuleOf(name string) Rule {
	if r, known := described()[name]; known {
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
