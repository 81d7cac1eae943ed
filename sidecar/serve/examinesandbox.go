package serve

import (
	"log/slog"
	"os/exec"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/sidecar/worker"
)

// ExamineSandbox starts a worker as serve does, and returns what its sandbox lacks.
// Only the kernel and the container's profile can tell, and only from within.
func ExamineSandbox(command func(cache bool) *exec.Cmd) ([]finding.Finding, error) {
	workers, err := worker.NewPool(worker.Config{Command: func() *exec.Cmd { return command(false) }, Warm: 1,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer workers.Close()
	return sandboxFindings(workers.Gaps()), nil
}

func sandboxFindings(gaps []confine.Gap) (all []finding.Finding) {
	for _, gap := range gaps {
		all = append(all, finding.Finding{Severity: finding.Warning, Rule: "sandbox-incomplete", Field: string(gap.Layer),
			Message: "the layer is not active in workers: " + gap.Why, Remedy: sandboxRemedies[gap.Layer]})
	}
	return all
}

var sandboxRemedies = map[confine.Layer]string{
	confine.Undumpable:     "allow prctl in the container's seccomp profile",
	confine.Landlock:       "run it on Linux 5.13 or later with landlock among the kernel's lsm=, and the seccomp profile RuntimeDefault",
	confine.ResourceLimits: "allow prlimit64 in the container's seccomp profile",
	confine.Seccomp:        "run it on Linux, with the seccomp profile RuntimeDefault",
}
