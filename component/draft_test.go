package component_test

import (
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
)

// TestDraftIsHarmless makes sure that nothing which somebody wrote into a chart
// becomes a key.
func TestDraftIsHarmless(t *testing.T) {
	d := component.Draft{Facts: []string{"a\nrolloutPhase: 1"}, Name: "a", NamespaceWhy: "b\nnamespace: c",
		About: "x: y # z\nproject: other", StepWhy: "d\r\nwave: 2"}
	var got map[string]string
	if err := yaml.Unmarshal([]byte(d.Text()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["name"] != "a" || got["description"] != "x: y # z project: other" {
		t.Errorf("read %v of\n%s", got, d.Text())
	}
	for text, want := range map[string]string{"My_App.v2": "my-app-v2", "--": "", strings.Repeat("a", 60): strings.Repeat("a", 53)} {
		if got := component.NameFrom(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}
