package component

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Draft is what can be found out about a component that does not describe itself
// yet. Empty fields are left to its owners, as comments where they should fill
// them in.
type Draft struct {
	// Schema is the path of the JSON Schema, as editors look for it.
	Schema string
	// Facts are sentences about what it is, each a comment.
	Facts []string
	// Name, Namespace and About are the keys name, namespace and description.
	Name, Namespace, About string
	// NamespaceWhy says why there is no namespace.
	NamespaceWhy string
	// PartKey is domain or tier, and Part its value.
	PartKey, Part string
	// DependencyPhase is the label.
	DependencyPhase string
	// PhaseKey is rolloutPhase or wave, Phase its value, and PhaseWhy says why it is
	// that, or why there is none.
	PhaseKey, Phase, PhaseWhy string
	// Environment is the only one where it is deployed; empty for all.
	Environment string
	// CRDs is what crds should be, CRDsPhase the phase of the definitions if it should
	// be split, and CRDsWhy says why; empty where nothing is to be said.
	CRDs, CRDsPhase, CRDsWhy string
	// Old is the text of the file that is there: all of it stays, and what it does
	// not say is added.
	Old []byte
	// Values are values files beside those that hold anyway.
	Values []string
}

// Text is a component.yaml.
func (d Draft) Text() string {
	if d.Old != nil {
		return d.added()
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
		comment(&b, "namespace: "+or(d.Name, "default")+" # "+d.NamespaceWhy)
	}
	entry(&b, "description", d.About)
	entry(&b, d.PartKey, d.Part)
	entry(&b, "dependencyPhase", d.DependencyPhase)
	if d.Phase != "" {
		comment(&b, d.PhaseWhy)
		fmt.Fprintf(&b, "%s: %q\n", d.PhaseKey, d.Phase)
	} else {
		comment(&b, or(d.PhaseKey, "rolloutPhase")+": 120 # "+d.PhaseWhy)
	}
	if d.Environment != "" {
		fmt.Fprintf(&b, "environments: [%q]\n", d.Environment)
	}
	if d.CRDs != "" {
		comment(&b, d.CRDsWhy)
		comment(&b, "crds: "+d.CRDs)
	}
	if d.CRDs == Split {
		comment(&b, fmt.Sprintf("crdsPhase: %q", or(d.CRDsPhase, "110")))
	}
	if len(d.Values) > 0 {
		comment(&b, "values: ["+strings.Join(d.Values, ", ")+"]")
	}
	return b.String()
}

// added is the file that is there with what it does not say. One with faults stays
// as it is, for those who read it to tell them.
func (d Draft) added() string {
	text := d.Old
	root, err := mapping(text)
	if err != nil {
		return string(text)
	}
	for _, e := range []struct {
		keys  []string // any of which says it already
		value string
	}{
		{[]string{"name"}, d.Name},
		{[]string{"namespace"}, d.Namespace},
		{[]string{or(d.PartKey, "domain"), "domain", "tier"}, d.Part},
		{[]string{"dependencyPhase"}, d.DependencyPhase},
		{[]string{or(d.PhaseKey, "rolloutPhase"), "rolloutPhase", "wave"}, d.Phase},
		{[]string{"description"}, d.About},
	} {
		if e.value == "" || slices.ContainsFunc(root.Content, func(n *yaml.Node) bool { return slices.Contains(e.keys, n.Value) && n.Column == root.Column }) {
			continue
		}
		if set, err := Set(text, e.keys[0], e.value); err == nil {
			text = set
		}
	}
	return string(text)
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// entry writes a key with a text.
func entry(b *strings.Builder, key, value string) {
	if value == "" {
		return
	}
	n := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.Join(strings.Fields(value), " ")}
	text, err := yaml.Marshal(&n)
	if err != nil { // no text of one line is refused
		return
	}
	fmt.Fprintf(b, "%s: %s", key, text)
}

// comment writes a line that means nothing, whatever is in the text.
func comment(b *strings.Builder, text string) {
	if text != "" {
		fmt.Fprintf(b, "# %s\n", strings.Join(strings.Fields(text), " "))
	}
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// maxName is how long a name of an Application and its release may be: Helm takes
// no longer one.
const maxName = 53

// NameFrom makes a name that Kubernetes and Helm take of what a directory or a
// chart is called.
func NameFrom(text string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName], "-")
	}
	return name
}
