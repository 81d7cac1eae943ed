package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
)

// ordering are the parameters that say how to order manifests, whoever
// rendered them.
var ordering = []string{"namespace", "waves", "author-waves", "jobs", "tests", "crds", "crds-prune"}

// standardInput is how messages name manifests that come through a pipe.
const standardInput = "standard input"

// readManifests reads manifests from a file, or from standard input if its
// name is "-".
func readManifests(s streams, name string) ([]object.Object, error) {
	in, shown := s.In, standardInput
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, finding.Finding{Severity: finding.Error, Rule: "no-file", File: name, Message: reason(err), Remedy: `name a file of manifests, or "-" for standard input`}
		}
		defer f.Close()
		in, shown = f, name
	}
	if name != "-" && isDir(name) {
		return nil, finding.Finding{Severity: finding.Error, Rule: "no-file", File: name, Message: "this is a directory",
			Remedy: "name a file of manifests, or render it with cmp render " + name}
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, finding.Finding{Severity: finding.Error, Rule: "no-file", File: shown, Message: reason(err)}
	}
	objs, err := object.Parse(shown, 1, string(text))
	if err != nil {
		return nil, err
	}
	if len(objs) == 0 {
		return nil, finding.Finding{Severity: finding.Error, Rule: "nothing-to-order", File: shown, Message: "there are no manifests", Remedy: "check what should have written them"}
	}
	for i := range objs {
		if source := sourceOf(objs[i]); source != "" {
			objs[i].File, objs[i].Line = source, 0
		}
	}
	return objs, nil
}

func reason(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err.Error()
	}
	return err.Error()
}

// sourceOf returns the template that Helm says a manifest is from.
func sourceOf(o object.Object) string {
	lines := bufio.NewScanner(strings.NewReader(o.Text()))
	for lines.Scan() && strings.HasPrefix(lines.Text(), "#") {
		if source, ok := strings.CutPrefix(lines.Text(), "# Source: "); ok {
			return strings.TrimSpace(source)
		}
	}
	return ""
}

// isDir reports whether an argument names a directory and not a file of
// manifests. What does not exist is taken for one, unless it is called like a
// file.
func isDir(name string) bool {
	info, err := os.Stat(name)
	if err != nil {
		return name != "-" && filepath.Ext(name) == ""
	}
	return name != "-" && info.IsDir()
}

func newAnnotate(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "annotate [FILE]",
		Short: "Put sync waves on manifests that something else rendered",
		Long: `Read manifests from FILE, or from standard input if it is "-" or missing, and
print them in the order in which Argo CD applies them, each with its computed
sync wave and otherwise as it was: the post-renderer of any tool that renders.

A ladder.yaml in the directory of FILE, or in one above it in the repository,
holds as it does for a component; for standard input, those of the working
directory do. A component.yaml is not read.`,
		Example: `  helm template shop ./chart | cmp annotate
  kustomize build ./overlay | cmp annotate --namespace shop > manifests.yaml`,
		Args: cobra.MaximumNArgs(1),
	}
	in := addInputs(cmd, ordering...)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		res, err := in.annotate(s, append(args, "-")[0], plugin.Settings{})
		if err != nil {
			return err
		}
		warn(s, res.Findings)
		_, err = io.WriteString(s.Out, res.YAML())
		return err
	}
	return cmd
}

// beside is the directory whose ladder.yaml holds for manifests: that of their
// file, or the working directory if they come through a pipe.
func beside(file string) string {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return "."
	}
	return filepath.Dir(file)
}

// annotate orders the manifests of a file. Flags win over the given defaults.
func (in *inputs) annotate(s streams, file string, defaults plugin.Settings) (plugin.Result, error) {
	settings, err := in.settings()
	if err != nil {
		return plugin.Result{}, err
	}
	objs, err := readManifests(s, file)
	if err != nil {
		return plugin.Result{}, err
	}
	base, err := in.ladderBeside(beside(file))
	if err != nil {
		return plugin.Result{}, err
	}
	return plugin.Annotate(objs, base, defaults, settings)
}
