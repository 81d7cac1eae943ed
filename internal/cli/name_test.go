package cli_test

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/cli"
)

func TestProgram(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"/usr/bin/cmp": "cmp", "ladder": "ladder", "/opt/ladder.exe": "ladder",
		"bin/kubectl-ladder": "kubectl ladder", "kubectl_ladder.exe": "kubectl ladder", "cmp.test": "cmp", "ladder-old": "cmp", "": "cmp"} {
		if got := cli.ProgramName(file); got != want {
			t.Errorf("%q is called %q, want %q", file, got, want)
		}
	}
}

// TestNames replaces the name of the program, but not what only looks like it.
func TestNames(t *testing.T) {
	t.Parallel()
	root := &cobra.Command{Use: "cmp"}
	root.AddCommand(&cobra.Command{Use: "render DIR"}, &cobra.Command{Use: "fleet"})
	for _, test := range []struct{ text, everywhere, commands string }{
		{"run cmp render .", "run ladder render .", "run ladder render ."},
		{"cmp fleet steps", "ladder fleet steps", "ladder fleet steps"},
		{`"cmp render"; (cmp fleet)`, `"ladder render"; (ladder fleet)`, `"ladder render"; (ladder fleet)`},
		{"cmp computes waves", "ladder computes waves", "cmp computes waves"},
		{"cmp renders", "ladder renders", "cmp renders"}, // not a command
		{"cmp-render(1)", "ladder-render(1)", "cmp-render(1)"},
		{"argocd-cmp-server, cmp-server", "argocd-cmp-server, cmp-server", "argocd-cmp-server, cmp-server"},
		{"./cmp render, /usr/bin/cmp, x.cmp, cmpx, --cmp", "./cmp render, /usr/bin/cmp, x.cmp, cmpx, --cmp",
			"./cmp render, /usr/bin/cmp, x.cmp, cmpx, --cmp"},
	} {
		if got := cli.WithProgramName(test.text, "ladder"); got != test.everywhere {
			t.Errorf("%q becomes %q, want %q", test.text, got, test.everywhere)
		}
		if got := cli.WithCommandName(test.text, "ladder", root); got != test.commands {
			t.Errorf("the commands of %q become %q, want %q", test.text, got, test.commands)
		}
		if cli.WithProgramName(test.text, "cmp") != test.text || cli.WithCommandName(test.text, "cmp", root) != test.text ||
			cli.WithCommandName(test.text, "ladder", nil) != test.text {
			t.Errorf("%q changes without another name", test.text)
		}
	}
}
