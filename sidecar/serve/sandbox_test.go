package serve

import (
	"testing"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// TestSandboxFindings: each layer that is missing is a warning with a remedy of its
// own, and a complete sandbox is none.
func TestSandboxFindings(t *testing.T) {
	t.Parallel()
	if got := sandboxFindings(nil); len(got) != 0 {
		t.Errorf("a complete sandbox: %v", got)
	}
	remedies := map[string]bool{}
	for _, layer := range []confine.Layer{confine.Undumpable, confine.Landlock, confine.ResourceLimits, confine.Seccomp} {
		got := sandboxFindings([]confine.Gap{{Layer: layer, Why: "refused"}})
		if len(got) != 1 || got[0].Severity != finding.Warning || got[0].Field != string(layer) || got[0].Remedy == "" {
			t.Errorf("%s: %+v", layer, got)
			continue
		}
		remedies[got[0].Remedy] = true
	}
	if len(remedies) != 4 {
		t.Errorf("%d remedies for 4 layers", len(remedies))
	}
}
