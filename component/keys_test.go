package component_test

import (
	"os"
	"reflect"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// key is a key of component.yaml, with what testdata/keys.yaml says of it and its nested keys.
type key struct {
	name, doc string
	of        reflect.Type
	keys      []key
}

// documentedKeys lists the keys in the order of Description.
func documentedKeys(t *testing.T) []key {
	t.Helper()
	var docs map[string]string
	if err := yaml.Unmarshal(golden.Must(os.ReadFile("testdata/keys.yaml")), &docs); err != nil {
		t.Fatal(err)
	}
	return keysOf(reflect.TypeFor[component.Description](), docs, "")
}

func keysOf(t reflect.Type, docs map[string]string, under string) []key {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t == reflect.TypeFor[component.Environments]() {
		t, under = reflect.TypeFor[component.EnvironmentSettings](), under+"NAME."
	}
	var all []key
	for _, k := range settings.Keys(t) {
		all = append(all, key{k.Name, docs[under+k.Name], k.Type, keysOf(k.Type, docs, under+k.Name+".")})
	}
	return all
}
