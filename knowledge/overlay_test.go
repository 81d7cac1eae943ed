package knowledge

import (
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var sameKind = gocmp.Options{gocmp.Comparer(func(x, y Path) bool { return x.String() == y.String() }), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Kind{}, "ChangedBy")}

// TestRoundTrip prints every record and reads it as a ladder.yaml over what is
// built in: nothing changes.
func TestRoundTrip(t *testing.T) {
	for _, g := range Default().Groups() {
		over, err := Default().With("ladder.yaml", YAML(g.Kinds))
		if err != nil {
			t.Errorf("%s: %v in\n%s", g.Name, err, YAML(g.Kinds))
			continue
		}
		for _, k := range g.Kinds {
			got, ok := over.Kind(g.Name, k.Kind)
			if !ok || len(got.ChangedBy) != 1 {
				t.Errorf("%s/%s: the record does not count", g.Name, k.Kind)
			}
			if diff := gocmp.Diff(k, got, sameKind); diff != "" {
				t.Errorf("%s/%s (-ours +read again):\n%s", g.Name, k.Kind, diff)
			}
		}
	}
}

func with(t *testing.T, b *Base, name, text string) *Base {
	t.Helper()
	over, err := b.With(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return over
}

var _ = []any{strings.Cut, sync.OnceFunc}
