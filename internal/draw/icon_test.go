package draw_test

import (
	"regexp"
	"testing"

	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/object"
)

// Names of icons are in style sheets, and their paths in attributes, neither of which
// escapes them.
func TestIcons(t *testing.T) {
	name, path := regexp.MustCompile(`^[a-z]+$`), regexp.MustCompile(`^M[-MLHVCSAZmlhvcsaz0-9. ]+z$`)
	known := map[string]string{}
	all := draw.Icons()
	for i, icon := range all {
		if !name.MatchString(icon.Name) || !path.MatchString(icon.Path) {
			t.Errorf("%+v", icon)
		}
		if last := i == len(all)-1; last != (len(icon.Kinds) == 0) {
			t.Errorf("%s: %d kinds; only the last icon is for all others", icon.Name, len(icon.Kinds))
		}
		for _, kind := range icon.Kinds {
			if known[kind] != "" {
				t.Errorf("%s has the icons %s and %s", kind, known[kind], icon.Name)
			}
			known[kind] = icon.Name
		}
	}
	for id, want := range map[object.ID]string{
		{Kind: "Service"}: "service",
		{Group: "serving.knative.dev", Kind: "Service"}: "other",
		{Group: "apps", Kind: "Deployment"}:             "deployment",
	} {
		if got := draw.IconOf(id).Name; got != want {
			t.Errorf("%s: icon %s, want %s", id.GroupKind(), got, want)
		}
	}
}
