package serve

import (
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/cli/flags"
)

// TestFlagsOf reads command lines as the server does, whatever this process has
// in its environment.
func TestFlagsOf(t *testing.T) {
	t.Setenv("LADDER_SERVE_PARALLEL", "7")
	t.Setenv(flags.LadderVariable, "elsewhere.yaml")
	f, err := FlagsOf([]string{"--parallel=3"},
		map[string]string{"LADDER_SERVE_RENDER_TIMEOUT": "10s", flags.LadderVariable: "/etc/ladder/ladder.yaml"})
	if err != nil || f.Parallel != 3 || f.RenderTimeout != 10 || f.Ladder != "/etc/ladder/ladder.yaml" || f.PluginDir != socketDir {
		t.Errorf("read %+v, %v", f, err)
	}
	for want, args := range map[string][]string{"unknown flag: --paralel": {"--paralel=1"}, "-1": {"--parallel=-1"},
		"64 MiB": {"--worker-memory=1"}, "xml": {"--log-format=xml"}, "unexpected argument": {"now"}} {
		if _, err := FlagsOf(args, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
