package component_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// TestSet writes the phase 020 into the files of testdata/set, and crdsPhase
// into those that are called so.
func TestSet(t *testing.T) {
	golden.Archives(t, filepath.Join("testdata", "set", "*.txtar"), func(t *testing.T, in txtar.File) []txtar.File {
		key, _, _ := strings.Cut(in.Name, ".")
		text, err := component.Set(in.Data, key, "020")
		if err != nil {
			return []txtar.File{golden.Text("fault", err.Error()+"\n")}
		}
		again, err := component.Set(text, key, "020")
		if err != nil || string(again) != string(text) {
			t.Errorf("written again, it is %q (%v)", again, err)
		}
		return []txtar.File{golden.Text("after", string(text))}
	})
}

// TestSetKeepsBytes covers what a text file of a test cannot show.
func TestSetKeepsBytes(t *testing.T) {
	for in, want := range map[string]string{
		"name: a\r\ndomain: data # x\r\nenabled: true\r\n": "name: a\r\ndomain: data # x\r\nrolloutPhase: \"020\"\r\nenabled: true\r\n",
		"name: a":                               "name: a\nrolloutPhase: \"020\"",
		"rolloutPhase: 10":                      "rolloutPhase: \"020\"",
		"\ufeffrolloutPhase: '10'\n":            "\ufeffrolloutPhase: '020'\n",
		"\ufeffenabled: true\n":                 "\ufeffrolloutPhase: \"020\"\nenabled: true\n",
		"name: é # ü\nrolloutPhase:\t\"1\"\t#é": "name: é # ü\nrolloutPhase:\t\"020\"\t#é",
		"":   "rolloutPhase: \"020\"\n",
		"{}": "{rolloutPhase: \"020\"}",
	} {
		got, err := component.Set([]byte(in), "rolloutPhase", "020")
		if err != nil || string(got) != want {
			t.Errorf("%q became %q (%v), want %q", in, got, err, want)
		}
	}
}

// TestExplain writes a reason above a key, and replaces only one of its own.
func TestExplain(t *testing.T) {
	const ours = "# cmp fleet steps: "
	for _, test := range []struct {
		in, want string
		only     bool
	}{
		{in: "name: a\nwave: 1 # x\n", want: "name: a\n" + ours + "because\nwave: 1 # x\n"},
		{in: "# mine\nwave: 1", want: "# mine\n" + ours + "because\nwave: 1"},
		{in: "name: a\r\n" + ours + "of old\r\nwave: 1\r\n", want: "name: a\r\n" + ours + "because\r\nwave: 1\r\n", only: true},
		{in: "  " + ours + "of old\n  wave: 1\n", want: "  " + ours + "because\n  wave: 1\n"},
		{in: "name: a\nwave: 1\n", want: "name: a\nwave: 1\n", only: true},
		{in: "{name: a, wave: 1}", want: "{name: a, wave: 1}"},
		{in: "--- !!map\nname: a\n", want: "--- !!map\nname: a\n"},
		{in: "\ufeffwave: 1\n", want: "\ufeff" + ours + "because\nwave: 1\n"},
	} {
		if got := string(component.Explain([]byte(test.in), "wave", "because", test.only)); got != test.want {
			t.Errorf("%q became %q, want %q", test.in, got, test.want)
		}
	}
}

// FuzzSet makes sure that what is written is read, and that nothing else is said.
func FuzzSet(f *testing.F) {
	for _, seed := range []string{"name: a\n", "{name: a, rolloutPhase: 1}", "# c\nwave: &p '1'\nname: *p\n",
		"name: |\n  a\n  b\ndomain: x\n", "labels:\n  rolloutPhase: 1\n", "---\nname: a\n...\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		after, err := component.Set([]byte(text), "rolloutPhase", "020")
		if err != nil {
			return
		}
		file := settings.File{Name: component.File, Rule: "component", Description: "a component"}
		root, err := file.Parse(after)
		if err != nil {
			if _, before := file.Parse([]byte(text)); before == nil {
				t.Fatalf("%q became %q, which cannot be read: %v", text, after, err)
			}
			return
		}
		if d, _ := component.Decode(file, root); !d.RolloutPhase.Set || d.RolloutPhase.Number != 20 {
			t.Fatalf("%q became %q, whose phase is %+v", text, after, d.RolloutPhase)
		}
		if again, err := component.Set(after, "rolloutPhase", "020"); err != nil || string(again) != string(after) {
			t.Fatalf("%q became %q, and then %q (%v)", text, after, again, err)
		}
	})
}
