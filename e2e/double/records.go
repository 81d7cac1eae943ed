package double

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Record says how the controller of some kinds behaves, as far as the API server
// sees it. Its texts are templates of the custom resource, see [expand].
type Record struct {
	Group string   `json:"group"`
	Kinds []string `json:"kinds"`
	// Needs is what must be there before it is ready.
	Needs []Requirement `json:"needs,omitempty"`
	// Begins is the status that its controller writes first, Waits that while
	// something it needs is missing, Ready that of one that is ready.
	Begins *Status `json:"begins,omitempty"`
	Waits  *Status `json:"waits,omitempty"`
	Ready  *Status `json:"ready,omitempty"`
	// Makes is what appears just before it is ready.
	Makes []Product `json:"makes,omitempty"`
	// Finalizer is what its controller puts on it; it takes it away, and all other
	// finalizers that it finds, when the resource is deleted.
	Finalizer string `json:"finalizer,omitempty"`
	// Defines are kinds that come with it, and Takes how long it takes at least to be
	// ready from when all it needs is there.
	Defines []Definition    `json:"defines,omitempty"`
	Takes   metav1.Duration `json:"takes,omitzero"`
	// Alone says that no controller serves the kind; it is ready by itself.
	Alone bool `json:"alone,omitempty"`
}

// Requirement is an object that must be there, and ready if it can be; or an
// address at which somebody must answer. One whose name is empty is none.
type Requirement struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"` // empty: its own
	Name      string `json:"name,omitempty"`
	Key       string `json:"key,omitempty"`     // of a Secret or ConfigMap
	Address   string `json:"address,omitempty"` // a URL or host; only Services of the cluster are asked
}

// Status is a status: conditions by name, and the rest as it is.
type Status struct {
	Conditions map[string]string `json:"conditions,omitempty"`
	Fields     map[string]any    `json:"fields,omitempty"`
}

// Product is an object that is made. Where a text of it is empty it is not made.
type Product struct {
	Kind      string `json:"kind"` // Secret, ConfigMap, Service or Namespace
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"` // empty: its maker's
	Type      string `json:"type,omitempty"`      // of a Secret
	// Keys of a Secret or ConfigMap. A name that is a template of several values is
	// as many keys; "*" are keys that nobody knows, so that every key is there.
	Keys []string `json:"keys,omitempty"`
	// TLS are the host names of a certificate in tls.crt, with tls.key and ca.crt.
	TLS []string `json:"tls,omitempty"`
	// Ports of a Service.
	Ports []int64 `json:"ports,omitempty"`
	// Only is a template that must not be empty, Unless one that must be.
	Only   string `json:"only,omitempty"`
	Unless string `json:"unless,omitempty"`
	// Stays says that it stays when its maker is deleted.
	Stays bool `json:"stays,omitempty"`
}

//go:embed records.yaml
var recordsYAML []byte

// ParseRecords reads records from YAML, a list of them.
func ParseRecords(text []byte) ([]Record, error) {
	var records []Record
	if err := yaml.UnmarshalStrict(text, &records); err != nil {
		return nil, fmt.Errorf("reading records: %w", err)
	}
	for _, r := range records {
		if r.Group == "" || len(r.Kinds) == 0 {
			return nil, fmt.Errorf("reading records: one for %q has no group or no kinds", r.Group)
		}
	}
	return records, nil
}

func builtinRecords() ([]Record, error) { return ParseRecords(recordsYAML) }

// record is what is known of a kind: what scenarios say, or else what is built
// in, or else what most custom resources are like.
func (t *reconciliation) record(k kind) Record {
	var all []Record
	for _, s := range t.scenarios {
		all = append(all, s.Records...)
	}
	for _, r := range append(all, t.records...) {
		if r.Group == k.Group && slices.ContainsFunc(r.Kinds, func(name string) bool { return name == k.Kind || name == "*" }) {
			return r
		}
	}
	return Record{Group: k.Group, Kinds: []string{k.Kind},
		Ready: &Status{Conditions: map[string]string{"Ready": "True", "Available": "True", "Synced": "True"}}}
}

// expand fills a template from an object: {name} and {namespace} are its own,
// {spec.a.b} is a field, {spec.a.b|text} a field or else the text,
// {metadata.labels[a/b]} a key with dots, {spec.list[].key} each of a list,
// {spec.map[keys]} the keys of a map. It returns a text for each value, none if
// a field is not there.
func expand(object map[string]any, template string) []string {
	before, rest, found := strings.Cut(template, "{")
	if !found {
		return []string{template}
	}
	expression, after, found := strings.Cut(rest, "}")
	if !found {
		return []string{template}
	}
	var all []string
	for _, value := range valuesOf(object, expression) {
		for _, tail := range expand(object, after) {
			all = append(all, before+value+tail)
		}
	}
	return all
}

// expandOne is expand for what has one value.
func expandOne(object map[string]any, template string) string {
	if values := expand(object, template); len(values) > 0 {
		return values[0]
	}
	return ""
}

func valuesOf(object map[string]any, expression string) []string {
	path, fallback, hasFallback := strings.Cut(expression, "|")
	if _, isObject := object["metadata"]; isObject && (path == "name" || path == "namespace") {
		path = "metadata." + path
	}
	values := walk(object, split(path))
	if len(values) == 0 && hasFallback {
		return []string{fallback}
	}
	return values
}

// split cuts a path into its steps: a name, [] or [keys], or [a.name/with.dots].
func split(path string) []string {
	var steps []string
	for path != "" {
		if path[0] == '[' {
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return append(steps, path)
			}
			steps, path = append(steps, path[:end+1]), strings.TrimPrefix(path[end+1:], ".")
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			return append(steps, path)
		}
		steps, path = append(steps, path[:end]), strings.TrimPrefix(path[end:], ".")
	}
	return steps
}

func walk(value any, steps []string) []string {
	if len(steps) == 0 {
		switch v := value.(type) {
		case nil:
			return nil
		case string:
			if v == "" {
				return nil
			}
			return []string{v}
		case map[string]any, []any:
			return []string{"yes"} // it is there, which is all that can be said
		default:
			return []string{fmt.Sprint(v)}
		}
	}
	step, rest := steps[0], steps[1:]
	var all []string
	switch {
	case step == "[]":
		list, _ := value.([]any)
		for _, item := range list {
			all = append(all, walk(item, rest)...)
		}
	case step == "[keys]":
		fields, _ := value.(map[string]any)
		for name := range fields {
			all = append(all, name)
		}
		slices.Sort(all)
	default:
		fields, _ := value.(map[string]any)
		all = walk(fields[strings.Trim(step, "[]")], rest)
	}
	return all
}
