package fleet

import (
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/fleet/appofapps"
	"github.com/ladder-cmp/ladder/internal/textedit"
	"github.com/ladder-cmp/ladder/object"
)

// A chart that is not available may read whatever its values name. Charts agree on few keys, but
// those of Kubernetes itself and "existing" ones say that something else creates the object.

// ValueName is a Secret or ConfigMap that the values of a chart name which is not available.
type ValueName struct {
	Kind, Name string
	// File and Line are the place of the values.
	File string
	Line int
}

// keysOfNames are keys of values whose value, or whose field "name", names an object. They are
// compared in lower case.
var keysOfNames = map[string]string{"secretkeyref": "Secret", "secretref": "Secret", "configmapkeyref": "ConfigMap",
	"configmapref": "ConfigMap",
	"secretname":   "Secret"}

// endingsOfNames are the endings of such keys, as in auth.existingSecret.
var endingsOfNames = map[string]string{"existingsecret": "Secret", "existingsecretname": "Secret", "existingconfigmap": "ConfigMap"}

// kindNamedBy returns the kind that the value of a key names; empty if it names nothing.
func kindNamedBy(key string) string {
	key = strings.ToLower(key)
	if kind := keysOfNames[key]; kind != "" {
		return kind
	}
	for ending, kind := range endingsOfNames {
		if strings.HasSuffix(key, ending) {
			return kind
		}
	}
	return ""
}

// namesIn returns the names in a text of values.
func namesIn(text []byte, file string) []ValueName {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return nil // the chart does not render with them, either
	}
	var all []ValueName
	add := func(kind string, n *yaml.Node) {
		if n == nil || n.Kind != yaml.ScalarNode || !object.IsName(n.Value) {
			return
		}
		v := ValueName{Kind: kind, Name: n.Value, File: file, Line: n.Line}
		if !slices.ContainsFunc(all, func(o ValueName) bool { return o.Kind == v.Kind && o.Name == v.Name }) {
			all = append(all, v)
		}
	}
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if kind := kindNamedBy(n.Content[i].Value); kind != "" {
				add(kind, n.Content[i+1])
				add(kind, textedit.Value(n.Content[i+1], "name"))
			}
		}
		if of := textedit.Value(n, "type"); of != nil && (of.Value == "secret" || of.Value == "configMap") { // a volume, as some charts write it
			kind := map[string]string{"secret": "Secret", "configMap": "ConfigMap"}[of.Value]
			add(kind, textedit.Value(n, "name"))
		}
		for _, inner := range n.Content {
			visit(inner)
		}
	}
	visit(&root)
	return all
}

// namesInSource returns the names in the values of a source: in its Application, and in values
// files of the repository, which read returns with their paths for messages.
func namesInSource(s appofapps.Source, file string, line int, read func(name string) ([]byte, string, error)) []ValueName {
	helm := s.Value.Get("helm")
	var all []ValueName
	for _, v := range helm.Get("valueFiles").Items() {
		ref, name, isRef := strings.Cut(v.Text(), "/")
		if !isRef || !strings.HasPrefix(ref, "$") || !s.Refs[ref[1:]] {
			continue // it is in the chart, or elsewhere
		}
		if text, shown, err := read(name); err == nil {
			all = append(all, namesIn(text, shown)...)
		}
	}
	if text, err := helm.Get("valuesObject").YAML(); err == nil {
		all = append(all, atLine(namesIn([]byte(text), file), line)...)
	}
	all = append(all, atLine(namesIn([]byte(helm.Get("values").Text()), file), line)...)
	for _, p := range helm.Get("parameters").Items() {
		name := p.Get("name").Text()
		key := name[strings.LastIndexByte(name, '.')+1:]
		if kind := kindNamedBy(key); kind != "" && object.IsName(p.Get("value").Text()) {
			all = append(all, ValueName{Kind: kind, Name: p.Get("value").Text(), File: file, Line: line})
		}
	}
	return all
}

// atLine returns names in the values of an Application at the line of the Application.
func atLine(all []ValueName, line int) []ValueName {
	for i := range all {
		all[i].Line = line
	}
	return all
}

// stubsPrefix begins the names of objects that stand for what a chart may read.
const stubsPrefix = "ladder-values-"

// valueStubs returns objects that read what the values name: the rules about references find out
// who creates that.
func (a *Application) valueStubs() []object.Object {
	var all []object.Object
	for i, v := range a.ValueNames {
		ref := map[string]string{"Secret": "secretRef", "ConfigMap": "configMapRef"}[v.Kind]
		text := fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %s%d}
spec:
  selector: {matchLabels: {app: %[1]s%[2]d}}
  template:
    metadata: {labels: {app: %[1]s%[2]d}}
    spec: {containers: [{name: any, image: any, envFrom: [{%s: {name: %q}}]}]}
`, stubsPrefix, i, ref, v.Name)
		objs, err := object.Parse(v.File, v.Line, text)
		if err != nil {
			continue // the name was checked
		}
		all = append(all, objs...)
	}
	return all
}

// withValueNames turns the references of these objects into inferred ones of their Application, and
// leaves out all others about them.
func withValueNames(links []Link) []Link {
	var all []Link
	for _, l := range links {
		var reasons []Reason
		for _, r := range l.Reasons {
			switch fromStub := strings.HasPrefix(r.From.Name, stubsPrefix); {
			case strings.HasPrefix(r.To.Name, stubsPrefix), fromStub && !strings.Contains(r.Field, "envFrom"):
				continue
			case fromStub:
				r.From, r.Field, r.Inferred, r.Why = object.ID{}, "", true, whyNamed(r)
			}
			reasons = append(reasons, r)
		}
		if len(reasons) > 0 {
			l.Reasons = reasons
			all = append(all, l)
		}
	}
	return all
}

// whyNamed returns the verb of a sentence about what values name: an object, or what writes it.
func whyNamed(r Reason) string {
	why := fmt.Sprintf("its values (%s:%d) name", r.File, r.Line)
	for _, kind := range []string{"Secret ", "ConfigMap "} {
		if i := strings.Index(r.Why, kind); i >= 0 {
			return why + " " + r.Why[i:]
		}
	}
	return why
}
