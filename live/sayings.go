package live

import (
	"cmp"
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/settings"
	"github.com/ladder-cmp/ladder/object"
)

// saying is what others write in a message, and what it means: see sayings.yaml.
type saying struct {
	Says    pattern   `yaml:"says"`
	Rule    string    `yaml:"rule"`
	Text    string    `yaml:"text"`
	Fix     string    `yaml:"fix"`
	Because reference `yaml:"because"`
}

// reference names the object behind a cause; the fields are templates.
type reference struct {
	Kind      string `yaml:"kind"` // in kubectl's form
	Namespace string `yaml:"namespace"`
	Name      string `yaml:"name"`
}

// of returns the object; the zero ID if it has no name. It is in the namespace of the object that
// refers to it if nothing else is said.
func (r reference) of(from object.Object, expand func(string) string) object.ID {
	kind, group, _ := strings.Cut(r.Kind, ".")
	id := object.ID{Group: group, Kind: kind, Namespace: expand(r.Namespace), Name: expand(r.Name)}
	if id.Namespace == "" && group == "" && kind != "Namespace" {
		id.Namespace = from.ID.Namespace
	}
	if id.Name == "" {
		return object.ID{}
	}
	return id
}

// pattern is a regular expression.
type pattern struct{ *regexp.Regexp }

func (p *pattern) UnmarshalYAML(node *yaml.Node) (err error) {
	p.Regexp, err = regexp.Compile(node.Value)
	return err
}

//go:embed sayings.yaml
var sayingsText []byte

var sayings = read[map[string][]saying](sayingsText)

// read reads what the program has with it, when it is asked for: other commands start without it.
func read[T any](text []byte) func() T {
	return sync.OnceValue(func() T { return settings.Embedded[T](text) })
}

// understand completes a cause with what a message about an object means; what no saying of the topic
// fits stays.
func understand(topic, message string, about object.Object, cause Cause) Cause {
	for _, y := range sayings()[topic] {
		m := y.Says.FindStringSubmatchIndex(message)
		if m == nil {
			continue
		}
		expand := func(template string) string {
			return string(y.Says.ExpandString(nil, filled(template, about), message, m))
		}
		cause.Rule, cause.Fix = cmp.Or(y.Rule, cause.Rule), cmp.Or(expand(y.Fix), cause.Fix)
		cause.Text = finding.CutMiddle(cmp.Or(expand(y.Text), cause.Text), mostQuoted)
		id := y.Because.of(about, expand)
		if !id.IsZero() {
			cause.Because, cause.Command = id, kubectl("describe", id)
		}
		if !id.IsZero() && cause.Rule == "missing-object" {
			cause.Command = kubectl("get", id)
		}
		break
	}
	return cause
}

var field = lazyregexp.New(`\{([a-z][A-Za-z.]+)\}`)

// filled puts fields of an object into a text, such as {metadata.name}.
func filled(template string, o object.Object) string {
	return field.ReplaceAllStringFunc(template, func(path string) string { return oneLine(at(o.Root(), path[1:len(path)-1]).Text()) })
}

// refused says why an object was refused.
func (s *scene) refused(message string, about object.ID) Cause {
	message = oneLine(message)
	cause := Cause{Rule: "refused", Text: "is refused: " + message, Evidence: Refusal,
		Fix: "change the manifest as the message says; kubectl apply --dry-run=server tries it", Command: kubectl("describe", about)}
	if strings.Contains(message, "Error creating: pods") {
		cause.Text, cause.Fix = "gets no Pod: "+message, "correct the Pod template"
	}
	cause = understand("refused", message, object.Object{ID: about}, cause)
	if by := s.holder(nodePort.FindString(cause.Text), about); cause.Rule == "port" && !by.IsZero() {
		cause.Fix, cause.Command = cause.Fix+": "+by.String()+" has it", kubectl("get", by)
	}
	return cause
}

var nodePort = lazyregexp.New(`\d+`)

// holder returns the other Service that has a node port.
func (s *scene) holder(port string, about object.ID) object.ID {
	for _, id := range s.sorted {
		if id.Kind == "Service" && id != about && slices.ContainsFunc(s.objects[id].Get("spec", "ports").Items(),
			func(v object.Value) bool { return v.Get("nodePort").Text() == port }) {
			return id
		}
	}
	return object.ID{}
}
