package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/knowledge"
)

// LoadOptions determine which components are loaded, and how they are rendered.
type LoadOptions struct {
	// Source configures the rendering. Load sets the repository, the directories in it and the
	// fetcher.
	Source fleet.Source
	// Ladder is the file of --ladder; empty means none.
	Ladder string
	// ArgoCD is the Argo CD of a cluster; zero if none was read.
	ArgoCD knowledge.ArgoCD
	// Remote are the flags about fetching; nil fetches nothing.
	Remote *flags.Fetching
	// At is the revision to load; nil means the files on disk.
	At *checkout.Commit
	// Stdin is what the argument "-" stands for.
	Stdin io.Reader
	// Generators reads the file of --generator-values; nil for a command without the flag.
	Generators func() (appset.Values, error)
	// AllowUndescribed means that a directory of components without any component.yaml is a
	// fleet, too.
	AllowUndescribed bool
}

// Loaded is a fleet, and what was found when it was loaded.
type Loaded struct {
	Fleet *fleet.Fleet
	// Root is the root directory of the repository.
	Root string
	// Omissions are warnings about directories that the fleet does not include.
	Omissions []finding.Finding
}

// Load reads and renders the fleet in directories of one repository.
func Load(ctx context.Context, opt LoadOptions, dirs []string) (Loaded, error) {
	base, err := flags.KnowledgeOf(opt.Ladder)
	if err != nil {
		return Loaded{}, err
	}
	base = base.For(opt.ArgoCD)
	for _, dir := range dirs {
		if dir == "" {
			return Loaded{}, finding.Usage(`empty directory name; use the directory of the components, or "." for this one`)
		}
	}
	c, err := checkout.Open(firstPath(dirs))
	if err != nil {
		return Loaded{}, fmt.Errorf("%s: %w", dirs[0], err)
	}
	defer c.Close()
	c = c.At(opt.At)
	all := Loaded{Root: c.Base}
	src := opt.Source
	src.Repo, src.Show, src.NoRepository = c.Repo, c.Show, c.NoRepository
	if src.InPlace, err = isInPlace(c, opt, base, dirs); err != nil {
		return Loaded{}, err
	}
	if src.InPlace {
		err = findApplications(&src, c, opt, dirs)
	} else {
		src.Dirs, all.Omissions, err = find(c, opt, dirs)
	}
	if err != nil {
		return Loaded{}, err
	}
	if src.Remote, err = opt.Remote.Remote(); err != nil {
		return Loaded{}, err
	}
	if all.Fleet, err = fleet.LoadUntilInterrupted(ctx, src, base); err != nil {
		return Loaded{}, err
	}
	return all, rollout.CheckEnvironment(all.Fleet, src.Environment)
}

// find returns the paths in a repository of the directories to load, and warnings about
// directories that are skipped. A directory need not exist if the other side of a comparison may
// have it.
func find(c *checkout.Checkout, opt LoadOptions, dirs []string) (all []string, omissions []finding.Finding, err error) {
	rel := c.Rel
	if opt.Source.AllowMissingDirs {
		rel = func(dir string) (string, error) { return checkout.InRepository(c.Base, dir) }
	}
	rels := make([]string, len(dirs))
	var faults []error
	for i, dir := range dirs {
		if rels[i], err = rel(dir); err != nil {
			return nil, nil, err
		}
		if !opt.AllowUndescribed {
			faults = append(faults, locate.CheckFleet(c.Repo, rels[i], c.Show, ""))
		}
	}
	all, omissions = locate.Fleets(c.Repo, rels, c.Show)
	return all, omissions, errors.Join(faults...)
}

// loadAll loads a whole fleet, including components that are not deployed in the environment.
// The environment must exist.
func loadAll(ctx context.Context, opt LoadOptions, dirs []string) (Loaded, error) {
	environment := opt.Source.Environment
	opt.Source.Environment = ""
	all, err := Load(ctx, opt, dirs)
	if err != nil {
		return all, err
	}
	return all, rollout.CheckEnvironment(all.Fleet, environment)
}

// loadOne loads the components of one environment: each environment has its own rollout.
func loadOne(ctx context.Context, opt LoadOptions, dirs []string) (Loaded, error) {
	all, err := Load(ctx, opt, dirs)
	if err != nil {
		return all, err
	}
	if names := all.Fleet.Environments(); len(names) > 1 && opt.Source.Environment == "" {
		return all, finding.Usagef("%s: each environment has its own rollout; use --environment %s", strings.Join(dirs, " "),
			strings.Join(names, " or "))
	}
	return all, nil
}

// loadTarget loads a fleet whose components Argo CD finds by their paths in the repository. It
// loads all environments, because only together they show what belongs to the cluster.
func loadTarget(ctx context.Context, opt LoadOptions, dirs []string) (Loaded, error) {
	opt.Source.Environment = ""
	all, err := Load(ctx, opt, dirs)
	if err != nil {
		return all, err
	}
	if all.Fleet.InPlace() {
		return all, errInPlace(dirs)
	}
	if checkout.GitRoot(all.Root) == "" {
		return all, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: dirs[0],
			Message: "not in a git repository, so the paths of the components in it are unknown",
			Remedy:  "run it in a checkout, or run git init in the root of the repository"}
	}
	return all, nil
}

// HasFleet reports whether there are components below a directory, on disk or at a commit, and
// it is not one itself. If none of them has a component.yaml, undescribed decides.
func HasFleet(dir string, at *checkout.Commit, undescribed bool) (bool, error) {
	if dir == "" {
		return false, nil
	}
	c, err := checkout.Open(dir)
	if err != nil {
		return false, fmt.Errorf("%s: %w", dir, err)
	}
	defer c.Close()
	c = c.At(at)
	if (fleet.Source{Repo: c.Repo, Dirs: []string{c.Dir}, Show: c.Show}).IsFleet() {
		return true, nil
	}
	if undescribed && hasApplications(c, c.Dir, true, knowledge.Default()) {
		return true, nil
	}
	return undescribed && locate.HoldsOnlyComponents(c.Repo, c.Dir), nil
}
