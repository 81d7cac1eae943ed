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
	"github.com/ladder-cmp/ladder/graph/hooks"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/kustomize"
	"github.com/ladder-cmp/ladder/wave"
)

// options are the effective settings of a request.
type options struct {
	render render.Options
	waves  wave.Options
	tests  string
	// hooks says how to treat Helm hooks.
	hooks hooks.Mode
	// expects lists what exists outside of the component.
	expects []string
	crds    selection
	// fetched records remote sources; nil if nothing can be fetched.
	fetched *remote.Recorder
	// fillAnnotations enables variables in common annotations.
	fillAnnotations bool
	// capabilities selects the API versions that templates see.
	capabilities string
	// usedVariables are the variables that parameters refer to.
	usedVariables []string
	// random selects whether generated values are derived.
	random string
	// argocd is the version of the Argo CD that syncs; empty means the one of the knowledge.
	argocd string
	// strict lets the plugin fail with the errors that it finds.
	strict bool
}

// options merges the settings of a rendering, in increasing precedence: defaults,
// the cluster, component.yaml, its environment, the Application, the request. The
// Application overrides component.yaml because several Applications may deploy the
// same component. The environments are those of a fleet.
func (req Request) options(platform component.Platform) (options, component.Description, error) {
	own, description, err := req.componentSettings()
	environment, environmentErr := req.environmentSettings(own, description, platform)
	if err = errors.Join(err, environmentErr, req.checkName(own.Name, description)); err != nil {
		return options{}, description, err
	}
	opt := options{waves: wave.Options{Explain: req.Explain}, argocd: req.ArgoCD,
		render: render.Options{Show: req.Show, KubeVersion: req.KubeVersion, Memory: req.Memory}}
	if opt.fetched, err = req.sources(); err != nil {
		return options{}, description, err
	}
	if opt.fetched != nil {
		opt.render.Remote = opt.fetched
	}
	app := Settings{Name: req.App.Name, Namespace: req.App.Namespace, Revision: req.App.Revision}
	for _, s := range slices.Concat([]Settings{own}, environment, []Settings{app}) {
		opt.add(s)
	}
	unrestricted := opt.render.Unrestricted
	for _, s := range req.Settings {
		opt.add(s)
	}
	if !req.OwnSettings {
		unrestricted = opt.render.Unrestricted
	}
	if unrestricted && !slices.ContainsFunc(platform.Allow.BuildOptions, allowsAllFiles) {
		return options{}, description, finding.Finding{Severity: finding.Error, Rule: knowledge.RefusedRule,
			File: req.show(req.Dir), Field: "parameter build-options",
			Message: "with LoadRestrictionsNone, the kustomization may read files of other components, and the platform does not allow it",
			Remedy:  `remove it, or add "--load-restrictor=LoadRestrictionsNone" to fleet.allow.buildOptions of the platform's ladder.yaml`}
	}
	name := req.DirName
	if name == "" {
		name = path.Base(req.Dir)
	}
	override(&opt.render.Name, description.Chart.ReleaseName)
	opt.complete(name)
	opt.crds.dir = req.show(req.Dir)
	switch opt.capabilities {
	case "", capabilitiesOfCluster:
		opt.render.APIVersions = append(slices.Clone(req.APIVersions), opt.render.APIVersions...)
	case capabilitiesOfFleet:
		opt.render.APIVersions = append(slices.Clone(req.EarlierAPIVersions), opt.render.APIVersions...)
	}
	opt.render.Pinned = opt.capabilities != "" && opt.capabilities != capabilitiesOfCluster
	opt.substitute(req.variables())
	return opt, description, opt.derive(req.Random, req.WhyRandom)
}

// allowsAllFiles reports whether an option of kustomize lets it read files outside of its directory.
func allowsAllFiles(option string) bool {
	restricted, err := kustomize.BuildOptions(option)
	return err == nil && !restricted
}

// complete sets defaults.
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
		opt.crds.upgraders = upgradersKeep
	}
}

// defaultNamespace is the default of kubectl and Helm.
const defaultNamespace = "default"

// add applies settings on top of the existing ones: single values are replaced, lists are
// extended.
func (opt *options) add(s Settings) {
	override(&opt.render.Name, s.Name)
	override(&opt.render.Namespace, s.Namespace)
	override(&opt.render.Revision, s.Revision)
	override(&opt.render.KubeVersion, s.KubeVersion)
	override(&opt.argocd, s.ArgoCD)
	override(&opt.waves.Waves, s.Waves)
	override(&opt.hooks, s.Hooks)
	override(&opt.crds.mode, s.CRDs)
	opt.render.APIVersions = append(opt.render.APIVersions, s.APIVersions...)
	if !s.Values.Empty() {
		opt.render.Values = append(opt.render.Values, s.Values)
	}
	for _, apply := range s.changes {
		apply(opt)
	}
}

func override[T ~string](to *T, with T) {
	if with != "" {
		*to = with
	}
}

// similar returns files whose names resemble that of a missing values file, in the form that values use:
// relative to the component's directory, or with a leading slash.
func (req Request) similar(name string) []string {
	var parents []string
	if !req.NoRepository {
		parents = input.Parents(req.Dir)
	}
	var all []string
	for _, file := range input.Similar(req.Repo, name, []string{req.Dir}, parents...) {
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

// values resolves file names relative to the component's directory. A leading slash
// means the root of the repository, as in an Application's valueFiles.
func (req Request) values() input.Values {
	locate := func(name string) string {
		if strings.HasPrefix(name, "/") {
			return path.Clean(strings.TrimLeft(name, "/"))
		}
		return path.Join(req.Dir, name)
	}
	read := func(name string) ([]byte, error) {
		if strings.Contains(name, "://") {
			return nil, finding.Finding{Severity: finding.Error, Rule: finding.BadValues, File: finding.WithoutCredentials(name),
				Message: "values files are not fetched", Remedy: "add the file to the repository and use its path there"}
		}
		p := locate(name)
		if !fs.ValidPath(p) {
			return nil, finding.Finding{Severity: finding.Error, Rule: finding.BadValues, File: name,
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
