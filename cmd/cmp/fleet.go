package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/knowledge"
)

func newFleet(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Check, compute and generate the rollout of many components",
		Long: `Look at a folder of components, each with a component.yaml: what each renders to,
what it needs of the others, and whether the phases in which they are rolled out
are right. The key fleet of its ladder.yaml says how it is rolled out.`,
		Example: `  cmp fleet lint ./components
  cmp fleet appset ./components > argocd/platform.yaml`,
		Args: oneOfItsCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newFleetGraph(s),
		newFleetInventory(s),
		newFleetLint(s), newFleetCheckRender(s), newFleetSchema(s),
		newFleetPhases(s),
		newFleetSimulate(s),
		newFleetDiff(s),
		newFleetAppset(s),
		newFleetApps(s),
		newFleetBootstrap(s),
	)
	for _, sub := range cmd.Commands() {
		sub.Args = asUsage(sub.Args)
	}
	return cmd
}

// fleetInputs are the flags that say which fleet, and how to render it.
type fleetInputs struct {
	source fleet.Source
	ladder *string
	remote *fetching
	// base is the repository of the fleet that was loaded last.
	base string
	// at is the revision to load; nil is what is on disk.
	at *commit
	// projectsFromComponents lets components choose among the projects of the source.
	projectsFromComponents bool
}

// addFleetInputs puts the flags on a command.
func addFleetInputs(cmd *cobra.Command) *fleetInputs {
	in := &fleetInputs{}
	cmd.Args = cobra.MinimumNArgs(1)
	flags := cmd.Flags()
	flags.StringVar(&in.source.Environment, "environment", "", "Leave out components that are not deployed there")
	flags.StringVar(&in.source.KubeVersion, "kube-version", "", "Kubernetes version that templates see, such as 1.34.2")
	flags.StringSliceVarP(&in.source.APIVersions, "api-versions", "a", nil, "API versions that templates see")
	flags.IntVar(&in.source.Parallel, "parallel", 0, "Components rendered at the same time (default: one for each processor)")
	in.ladder = ladderFlag(flags)
	in.remote = remoteFlags(flags, userCache())
	return in
}

// addProjects puts the flags on a command that let components choose their AppProject.
func (in *fleetInputs) addProjects(flags *pflag.FlagSet) {
	flags.BoolVar(&in.projectsFromComponents, "project-from-components", false, "Let components choose their AppProject among those of --allow-project")
	flags.StringSliceVar(&in.source.Projects, "allow-project", nil, "Name of an AppProject that a component may choose; may be repeated")
}

// checkProjects: a choice needs a list to choose from, and a list means nothing alone.
func (in *fleetInputs) checkProjects() error {
	switch {
	case in.projectsFromComponents && len(in.source.Projects) == 0:
		return usageError{errors.New("--project-from-components needs at least one AppProject to choose from; add --allow-project NAME")}
	case !in.projectsFromComponents && len(in.source.Projects) > 0:
		return usageError{errors.New("--allow-project has no effect without --project-from-components; add it")}
	}
	for _, name := range in.source.Projects {
		if !fleet.IsName(name) {
			return usageError{fmt.Errorf("--allow-project: %q is not a valid AppProject name; write the whole name, patterns are not supported", name)}
		}
	}
	return nil
}

// load reads and renders the fleet in folders of one repository.
func (in *fleetInputs) load(cmd *cobra.Command, s streams, dirs []string) (*fleet.Fleet, error) {
	base, err := knowledgeBase(*in.ladder)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if dir == "" {
			return nil, usageError{errors.New(`the name of a folder is empty; name the folder of the components, or "." for this one`)}
		}
	}
	if err := in.checkProjects(); err != nil {
		return nil, err
	}
	if p := in.source.Parallel; p < 0 {
		return nil, usageError{fmt.Errorf("--parallel is %d; give 1 or more, or 0 for one for each processor", p)}
	}
	dirs = directories(s, dirs)
	c, err := openCheckout(dirs[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dirs[0], err)
	}
	defer c.close()
	c = c.at(in.at)
	in.base = c.base
	src := in.source
	src.Repo, src.Show, src.NoRepository = c.repo, c.show, c.none
	var faults []error
	for _, dir := range dirs {
		in, err := c.inside(dir)
		if err != nil {
			return nil, err
		}
		if err := undescribed(c.repo, in, c.show, ""); err != nil {
			faults = append(faults, err)
		}
		src.Dirs = append(src.Dirs, in)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if src.Remote, err = in.remote.remote(nil, nil); err != nil {
		return nil, err
	}
	src.Progress = progressBar(s)
	f, err := loadUntilInterrupted(cmd.Context(), src, base)
	if err != nil {
		return nil, err
	}
	return f, in.isEnvironment(f)
}

// isEnvironment says if nothing of any fleet can be deployed to the environment
// that is asked for.
func (in *fleetInputs) isEnvironment(fleets ...*fleet.Fleet) error {
	e, known := in.source.Environment, []string(nil)
	for _, f := range fleets {
		known = append(known, f.Environments()...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	switch {
	case e == "" || slices.Contains(known, e):
		return nil
	case len(known) == 0:
		return usageError{fmt.Errorf("no component is deployed to an environment %q; drop --environment, for the fleet names none", e)}
	}
	return usageError{fmt.Errorf("no component is deployed to an environment %q; use %s", e, strings.Join(known, ", "))}
}

// loadUntilInterrupted loads a fleet. The first interrupt ends that in good order,
// and the next one as usual.
func loadUntilInterrupted(ctx context.Context, src fleet.Source, base *knowledge.Base) (*fleet.Fleet, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	f, err := fleet.Load(ctx, src, base)
	if err == nil || ctx.Err() == nil {
		return f, err
	}
	if src.Progress != nil {
		src.Progress(0, 0, "")
	}
	return nil, errors.New("interrupted while the components were rendered; nothing was written")
}

// isThere says if a folder is missing, or is none.
func isThere(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case dir == "":
		return nil
	case err != nil:
		return fmt.Errorf("%s: no such folder; name one that is there", dir)
	case !info.IsDir():
		return fmt.Errorf("%s: this is a file; name a folder", dir)
	}
	return nil
}

// directories leaves out the plain files that a pattern of the shell, such as
// components/*, brings among directories, and says so. Files alone stay: somebody
// named them, and is to be told that they are none.
func directories(s streams, args []string) []string {
	var dirs, files []string
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && !info.IsDir() {
			files = append(files, arg)
		} else {
			dirs = append(dirs, arg)
		}
	}
	if len(dirs) == 0 || len(files) == 0 {
		return args
	}
	fmt.Fprintf(s.Err, "cmp: note: passed over, since a component is a directory: %s\n", finding.Harmless(strings.Join(files, ", ")))
	return dirs
}

// inside is the path of a directory in the repository of another.
func (c *checkout) inside(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		abs = resolved
	}
	if err := isThere(dir); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(c.base, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", usageError{fmt.Errorf("%s is not in the repository of %s; name folders of one repository", dir, c.typed)}
	}
	return filepath.ToSlash(rel), nil
}

// progressBar shows how far a rendering is on a terminal, and nothing elsewhere.
func progressBar(s streams) func(done, of int, name string) {
	f := terminal(s.Err)
	if f == nil || os.Getenv("TERM") == "dumb" {
		return nil
	}
	const wide = 40
	return func(done, of int, name string) {
		if done == of {
			fmt.Fprintf(f, "\r%s\r", strings.Repeat(" ", wide+20))
			return
		}
		fmt.Fprintf(f, "\r%4d of %d  %-*.*s", done, of, wide, wide, name)
	}
}
