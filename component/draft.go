package component

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// Draft is the content for the component.yaml of a component without one. Empty
// fields are left to its owners, as comments if they should be set.
type Draft struct {
	// Schema is the path of the JSON Schema, for editors.
	Schema string
	// Facts are sentences about the component, each written as a comment.
	Facts []string
	// Name, Namespace and About are the keys name, namespace and description.
	Name, Namespace, About string
	// NamespaceWhy says why there is no namespace.
	NamespaceWhy string
	// DomainKey is domain or tier, and Domain its value.
	DomainKey, Domain string
	// DependencyPhase is the value of that key.
	DependencyPhase string
	// StepKey is rolloutPhase or wave, Step its value, and StepWhy the reason
	// for the value, or for having none.
	StepKey, Step, StepWhy string
	// Environment is the only one where it is deployed; empty for all.
	Environment string
	// CRDs is the suggested value of crds, CRDsPhase the step of the CRDs if split,
	// and CRDsWhy the reason; empty for no suggestion.
	CRDs, CRDsPhase, CRDsWhy string
	// Existing is the text of an existing file, which is kept and extended.
	Existing []byte
	// Values are additional values files.
	Values []string
}

// Text returns the component.yaml.
func (d Draft) Text() string {
	if d.Existing != nil {
		return d.extend()
	}
	var b strings.Builder
	if d.Schema != "" {
		fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n", d.Schema)
	}
	for _, fact := range d.Facts {
		comment(&b, fact)
	}
	entry(&b, "name", d.Name)
	if d.Namespace != "" {
		entry(&b, "namespace", d.Namespace)
	} else {
		comment(&b, "namespace: "+cmp.Or(d.Name, "default")+" # "+d.NamespaceWhy)
	}
	entry(&b, "description", d.About)
	entry(&b, d.DomainKey, d.Domain)
	entry(&b, "dependencyPhase", d.DependencyPhase)
	if d.Step != "" {
		comment(&b, d.StepWhy)
		fmt.Fprintf(&b, "%s: %q\n", d.StepKey, d.Step)
	} else {
		comment(&b, cmp.Or(d.StepKey, "rolloutPhase")+": 120 # "+d.StepWhy)
	}
	if d.Environment != "" {
		fmt.Fprintf(&b, "environments: [%q]\n", d.Environment)
	}
	if d.CRDs != "" {
		comment(&b, d.CRDsWhy)
		comment(&b, "crds: "+d.CRDs)
	}
	if d.CRDs == Split {
		comment(&b, fmt.Sprintf("crdsPhase: %q", cmp.Or(d.CRDsPhase, "110")))
	}
	if len(d.Values) > 0 {
		comment(&b, "values: ["+strings.Join(d.Values, ", ")+"]")
	}
	return b.String()
}

// extend returns the existing file with missing keys added. It returns a file with errors
// unchanged; whoever reads it later reports them.
func (d Draft) extend() string {
	text := d.Existing
	root, err := mapping(text)
	if err != nil {
		return string(text)
	}
	for _, e := range []struct {
		keys  []string // alternatives, any of which may already be set
		value string
	}{
		{[]string{"name"}, d.Name},
		{[]string{"namespace"}, d.Namespace},
		{[]string{cmp.Or(d.DomainKey, "domain"), "domain", "tier"}, d.Domain},
		{[]string{"dependencyPhase"}, d.DependencyPhase},
		{[]string{cmp.Or(d.StepKey, "rolloutPhase"), "rolloutPhase", "wave"}, d.Step},
		{[]string{"description"}, d.About},
	} {
		if e.value == "" || slices.ContainsFunc(root.Content,
			func(n *yaml.Node) bool { return slices.Contains(e.keys, n.Value) && n.Column == root.Column }) {
			continue
		}
		if set, err := Set(text, e.keys[0], e.value); err == nil {
			text = set
		}
	}
	return string(text)
}

// entry writes a key with a string value.
func entry(b *strings.Builder, key, value string) {
	if value == "" {
		return
	}
	n := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.Join(strings.Fields(value), " ")}
	text, err := yaml.Marshal(&n)
	if err != nil { // any single-line string can be encoded
		return
	}
	fmt.Fprintf(b, "%s: %s", key, text)
}

// comment writes a comment line, whatever the text contains.
func comment(b *strings.Builder, text string) {
	if text != "" {
		fmt.Fprintf(b, "# %s\n", strings.Join(strings.Fields(text), " "))
	}
}

var notInNames = lazyregexp.New(`[^a-z0-9]+`)

// maxName is the maximum length of the name of an Application and its release,
// which is Helm's.
const maxName = 53

// NameFrom converts the name of a directory or chart to one that is valid for
// Kubernetes and Helm.
func NameFrom(text string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName], "-")
	}
	return name
}
