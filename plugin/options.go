package plugin

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/wave"
)

// options are the settings that hold for a request.
type options struct {
	render render.Options
	waves  wave.Options
	tests  string
	crds   lifting
	// fetched is what came from elsewhere; nil if nothing can.
	fetched *remote.Recorder
	// fillAnnotations puts variables into common annotations, too; named are the
	// variables that parameters name.
	fillAnnotations bool
	// capabilities says which API versions templates see.
	capabilities string
	named        []string
	// random says whether what templates generate is derived.
	random string
}

// options puts together what is said about a rendering, in this order of
// precedence from low to high: defaults, the cluster, component.yaml, the
// Application, the settings of the request. The Application comes after
// component.yaml because several may deploy the same component.
func (req Request) options() (options, component.Description, error) {
	own, described, err := req.componentSettings()
	if err = errors.Join(err, req.checkName(own.Name, described)); err != nil {
		return options{}, described, err
	}
	opt := options{render: render.Options{Show: req.Show, KubeVersion: req.KubeVersion, Memory: req.Memory}}
	if opt.fetched, err = req.sources(); err != nil {
		return options{}, described, err
	}
	if opt.fetched != nil {
		opt.render.Remote = opt.fetched
	}
	app := Settings{Name: req.App.Name, Namespace: req.App.Namespace, Revision: req.App.Revision}
	for _, s := range append([]Settings{own, app}, req.Settings...) {
		opt.add(s)
	}
	name := req.DirName
	if name == "" {
		name = path.Base(req.Dir)
	}
	override(&opt.render.Name, described.Chart.ReleaseName)
	opt.complete(name)
	opt.crds.dir = req.show(req.Dir)
	switch opt.capabilities {
	case "", capabilitiesOfCluster:
		opt.render.APIVersions = append(slices.Clone(req.APIVersions), opt.render.APIVersions...)
	case CapabilitiesOfFleet:
		opt.render.APIVersions = append(slices.Clone(req.Earlier), opt.render.APIVersions...)
	}
	opt.render.Pinned = opt.capabilities != "" && opt.capabilities != capabilitiesOfCluster
	opt.substitute(req.variables())
	return opt, described, opt.derive(req.Random, req.Without)
}

// complete sets what nobody said.
func (opt *options) complete(name string) {
	if opt.render.Name == "" {
		opt.render.Name = name
	}
	if opt.render.Namespace == "" {
		opt.render.Namespace = defaultNamespace
	}
	if opt.crds.mode == "" {
		opt.crds.mode = crds.Include
	}
	if opt.crds.upgraders == "" {
		opt.crds.upgraders = upgradersLeft
	}
}

// defaultNamespace is where kubectl and Helm go when nobody says.
const defaultNamespace = "default"

// add lays settings over those that are there.
func (opt *options) add(s Settings) {
	override((*string)(&opt.render.Kind), s.Renderer)
	override(&opt.render.Name, s.Name)
	override(&opt.render.Namespace, s.Namespace)
	override(&opt.render.Revision, s.Revision)
	override(&opt.render.KubeVersion, s.KubeVersion)
	override(&opt.waves.Waves, s.Order.Waves)
	override(&opt.waves.Author, s.Order.Author)
	override(&opt.waves.Jobs, s.Order.Jobs)
	override(&opt.tests, s.Tests)
	override(&opt.crds.mode, s.CRDs)
	override(&opt.crds.upgraders, s.Upgraders)
	if s.PruneCRDs != nil {
		opt.crds.prune = *s.PruneCRDs
	}
	opt.render.APIVersions = append(opt.render.APIVersions, s.APIVersions...)
	if s.SkipTests != nil {
		opt.render.SkipTests = *s.SkipTests
	}
	if !s.Values.Empty() {
		opt.render.Values = append(opt.render.Values, s.Values)
	}
	for _, say := range s.native {
		say(opt)
	}
}

func override[T ~string](to *T, with T) {
	if with != "" {
		*to = with
	}
}

// similar returns files with the base name of one that was not found, as values name
// them: relative to the component's directory, or with a leading slash.
func (req Request) similar(name string) []string {
	dirs := []string{req.Dir}
	if !req.NoRepository {
		dirs = append(dirs, ".")
	}
	var all []string
	for _, file := range input.SameName(req.Repo, name, dirs...) {
		below, inside := strings.CutPrefix(file, req.Dir+"/")
		switch {
		case inside:
			all = append(all, below)
		case req.Dir == ".":
			all = append(all, file)
		default:
			all = append(all, "/"+file)
		}
	}
	return all
}

// values lets values name files relative to the component's directory. A
// leading slash means the root of the repository, as in the valueFiles of an
// Application.
func (req Request) values() input.Values {
	locate := func(name string) string {
		if strings.HasPrefix(name, "/") {
			return path.Clean(strings.TrimLeft(name, "/"))
		}
		return path.Join(req.Dir, name)
	}
	read := func(name string) ([]byte, error) {
		if strings.Contains(name, "://") {
			return nil, finding.Finding{Severity: finding.Error, Rule: "no-values-file", File: finding.WithoutCredentials(name),
				Message: "values files are not fetched", Remedy: "add the file to the repository and use its path there"}
		}
		p := locate(name)
		if !fs.ValidPath(p) {
			return nil, finding.Finding{Severity: finding.Error, Rule: "no-values-file", File: name,
				Message: "the path leaves the repository", Remedy: "use a path inside the repository, relative to " + req.show(req.Dir)}
		}
		return fs.ReadFile(req.Repo, p)
	}
	glob := func(pattern string) ([]string, error) {
		p := locate(pattern)
		if !fs.ValidPath(p) {
			return nil, nil
		}
		found, err := doublestar.Glob(req.Repo, p, doublestar.WithFilesOnly())
		for i := range found {
			found[i] = "/" + found[i]
		}
		return found, err
	}
	return input.Values{Read: read, Glob: glob, Path: func(name string) string { return req.show(locate(name)) }, Similar: req.similar}
}
