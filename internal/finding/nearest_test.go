package finding_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/finding"
)

func TestClosest(t *testing.T) {
	n := finding.NearestTo("values-prd")
	for _, name := range []string{"values-dev", "values-prod", "values-pred", "other"} {
		n.Add(name, name)
	}
	if got := n.Closest(); !slices.Equal(got, []string{"values-prod", "values-pred"}) {
		t.Error(got)
	}
	if got := finding.NearestTo("x").Closest(); len(got) > 0 {
		t.Error(got)
	}
}

func TestOr(t *testing.T) {
	keys := []string{"name", "namespace", "domain", "file", "rungs", "values"}
	for word, want := range map[string]string{
		"nmae":     `did you mean "name"?`,
		"domian":   `did you mean "domain"?`,
		"namespce": `did you mean "namespace"?`,
		"NAME":     `did you mean "name" or "namespace"?`,
		"value":    `did you mean "values"?`,
		"size":     "use one of them",
		"x":        "use one of them",
		"":         "use one of them",
	} {
		if got := finding.NearestOr(word, keys, "use one of them"); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// TestHugeNames: a word that a component makes huge is compared with no name, which would take the
// product of their lengths; the comparison allocates a row for each letter.
func TestHugeNames(t *testing.T) {
	huge := strings.Repeat("x", 50_000)
	for word, name := range map[string]string{huge: "namespace", "namespace": huge, huge + "y": huge} {
		if rows := testing.AllocsPerRun(1, func() { finding.Suggest(word, []string{name}) }); rows > 100 {
			t.Errorf("%.20s beside %.20s: %.0f rows", word, name, rows)
		}
	}
}
