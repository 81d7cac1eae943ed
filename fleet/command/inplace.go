package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/render"
)

// standardInput is the argument for Applications that another program prints.
const standardInput = "-"

// Arguments returns the arguments of a command about fleets: files of manifests and standard input
// are Applications, and other files only the rest of a shell pattern such as components/*.
func Arguments(s cli.Streams, args []string) []string {
	if slices.ContainsFunc(args, isManifestFile) && !slices.ContainsFunc(args, isDirectory) || slices.Contains(args, standardInput) {
		return args
	}
	return s.Directories(args)
}

func isManifestFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// firstPath returns the argument that determines the repository: the working directory, if all
// Applications come from standard input.
func firstPath(args []string) string {
	for _, arg := range args {
		if arg != standardInput {
			return arg
		}
	}
	return "."
}

// isInPlace reports whether arguments name Applications: files, standard input, or directories
// without any component.yaml that contain Applications.
func isInPlace(c *checkout.Checkout, opt LoadOptions, base *knowledge.Base, args []string) (bool, error) {
	var described, applications []string
	for _, arg := range args {
		if arg == standardInput || isManifestFile(arg) {
			applications = append(applications, arg)
			continue
		}
		rel, err := checkout.InRepository(c.Base, arg)
		if err != nil {
			return false, err
		}
		switch {
		case fleet.Source{Repo: c.Repo, Dirs: []string{rel}, Show: c.Show}.HasComponentFile():
			described = append(described, arg)
		case hasApplications(c, rel, opt.AllowUndescribed, base):
			applications = append(applications, arg)
		}
	}
	if len(described) > 0 && len(applications) > 0 {
		return false, finding.Usagef("%s contains components with component.yaml, and %s Applications; name only one of the two", described[0],
			applications[0])
	}
	return len(applications) > 0, nil
}

// hasApplications reports whether a directory without component.yaml is a fleet of Applications. For
// commands that also take components, a directory with Applications may be one, which renders to
// them: then it is a fleet only if what they deploy is in it, too.
func hasApplications(c *checkout.Checkout, dir string, mayBeComponent bool, base *knowledge.Base) bool {
	found := inplace.Look(inplace.Input{Repo: c.Repo, NoRepository: c.NoRepository, Paths: []string{dir}, Show: c.Show}, base)
	if !mayBeComponent {
		return found.Applications || found.Sets && !locate.HoldsOnlyComponents(c.Repo, dir)
	}
	kind := render.Kind(locate.KindAt(c.Repo, dir))
	return found.DeployDirs && kind != render.Helm && kind != render.Kustomize
}

// findApplications sets what to read for a fleet in place.
func findApplications(src *fleet.Source, c *checkout.Checkout, opt LoadOptions, args []string) error {
	for _, arg := range args {
		if arg == standardInput {
			objs, err := checkout.ReadManifests(opt.Stdin, arg)
			if err != nil {
				return err
			}
			src.Manifests = append(src.Manifests, objs...)
			continue
		}
		rel, err := checkout.InRepository(c.Base, arg)
		if err != nil {
			return err
		}
		src.Dirs = append(src.Dirs, rel)
	}
	if opt.Generators == nil {
		return nil
	}
	var err error
	src.Generators, err = opt.Generators()
	return err
}

// errInPlace says that a command generates Applications, which a fleet in place has already.
func errInPlace(args []string) error {
	return finding.Finding{Severity: finding.Error, Rule: finding.Rollout, File: strings.Join(args, " "),
		Message: "these are Applications, and this command generates manifests of components with component.yaml",
		Remedy:  "run cmp fleet steps, which orders Applications that exist already"}
}
