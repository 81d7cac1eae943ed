package knowledge_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/settings"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestKeysOfLadder makes sure that docs/knowledge.md explains every key of a
// ladder.yaml, each in the table of the mapping that it is a key of. Those that a
// component.yaml has, too, are explained in docs/fleet.md.
func TestKeysOfLadder(t *testing.T) {
	text, err := os.ReadFile("../docs/knowledge.md")
	if err != nil {
		t.Fatal(err)
	}
	components, err := os.ReadFile("../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	for of, keys := range ladderKeys() {
		_, section, found := strings.Cut(string(text), "\n### "+of+"\n")
		section, _, _ = strings.Cut(section, "\n#")
		row := regexp.MustCompile("(?m)^- `(.+\\.)?" + of + "`: .*").FindString(string(components))
		if !found && row == "" {
			t.Errorf("docs/knowledge.md has no section %q", of)
		}
		for _, key := range keys {
			if found && !strings.Contains(section, "\n- `"+key+"`: ") {
				t.Errorf("docs/knowledge.md, section %q: no row for the key %s", of, key)
			}
			if !found && !strings.Contains(string(components), "`"+of+"."+key+"`: ") && !strings.Contains(row, key) {
				t.Errorf("docs/fleet.md: no row for the key %s of %s", key, of)
			}
		}
	}
}

// ladderKeys lists the keys of a ladder.yaml and of its nested mappings, by the key of
// the mapping.
func ladderKeys() map[string][]string {
	all := map[string][]string{}
	seen := map[reflect.Type]bool{}
	var visit func(of string, t reflect.Type)
	visit = func(of string, t reflect.Type) {
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		for _, key := range settings.Keys(t) {
			all[of] = append(all[of], key.Name)
			visit(key.Name, key.Type)
		}
	}
	visit(knowledge.File, knowledge.UserFile)
	visit("fleet", reflect.TypeFor[profile.Section]())
	return all
}
