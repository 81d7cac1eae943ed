package fleet

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/health"
	"github.com/ladder-cmp/ladder/internal/profile"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/knowledge"
)

// AppsOptions configure an app of apps.
type AppsOptions struct {
	Target
	// Template is the owner's own Application for each child; nil generates them.
	Template *OwnTemplate
	// Path is the directory in the repository from which the parent reads its children.
	Path string
	// Tiers adds a parent for each band between the two.
	Tiers bool
	// Sets gives a tier an ApplicationSet instead of children with waves.
	Sets bool
	// Preserve keeps the resources of Applications that are deleted.
	Preserve bool
	// ArgoCD is the release for which the ApplicationSets are.
	ArgoCD string
}

// Check returns which options contradict each other or are missing. out is the directory
// to which the Applications are written; empty if they are printed.
func (o AppsOptions) Check(out string) error {
	switch {
	case o.Sets && !o.Tiers:
		return usage.New("--sets needs --tiers; add it, or use cmp fleet appset")
	case o.Sets && o.Template != nil:
		return usage.New("--template is an Application, and --sets generates ApplicationSets; drop one of the two")
	case o.Path == "" && out == "":
		return usage.New("the directory of the children in the repository is unknown; use --out DIR or --path")
	}
	return nil
}

// RootFile is the name of the parent's file, which a person applies once.
const RootFile = "root"

// Apps generates an app of apps: a parent, and a child for each component with its step as its
// sync wave. The parent is the first manifest. With tiers, the parent contains an Application
// for each band, which contains the children.
//
// Argo CD waits for a child only if it has a health check for Applications; see HealthCheck.
func (f *Fleet) Apps(opt AppsOptions) ([]Manifest, []finding.Finding, error) {
	sets, err := f.sets(opt.Target)
	if err != nil {
		return nil, nil, err
	}
	faults := slices.Concat(f.guard(opt.Target, sets), f.reserved(opt.Target, sets), f.nowhere(opt.Target), f.disproved(opt.Target), f.ineffective(opt.Template))
	ordered, err := atLeast(opt.ArgoCD, deletesInOrder)
	if err != nil {
		return nil, nil, err
	}
	if opt.Tiers && opt.Sets {
		faults = slices.Concat(faults, f.unlabelled(), f.before(sets))
	}
	if opt.Tiers && f.Settings.Promotion {
		faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "no-promotion", File: f.Settings.File, Line: f.Settings.Line, Field: "fleet.promotion",
			Message: "each tier contains all environments, so no environment can wait for another", Remedy: "remove --tiers, or promotion"})
	}
	finding.Sort(faults)
	if err := finding.Err(faults); err != nil {
		return nil, nil, err
	}
	if opt.Tiers {
		all, err := f.tiers(sets, opt, ordered)
		return all, faults, err
	}
	root := f.parent(opt, f.name(opt.Target), opt.Path, sets[0].places[0].Revision)
	children, err := f.children(f.promoted(sets), opt, "")
	return append([]Manifest{root}, children...), faults, err
}

// children returns the Applications of sets that share an order. With promotion, those of an
// environment come after all of the previous one.
func (f *Fleet) children(sets []set, opt AppsOptions, dir string) ([]Manifest, error) {
	var all []Manifest
	first, last := 0, 0
	for _, app := range f.Enabled() {
		first, last = min(first, app.Phase.Number), max(last, app.Phase.Number)
	}
	for _, s := range sets {
		for _, d := range f.deployments(s) {
			wave := d.Phase.Number
			if !d.Phase.Set {
				wave = last + 1 // after all that have a step
			}
			wave += s.rank * (last - first + 2)
			m, err := f.child(d, opt, path.Join(dir, d.Name), wave)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// child returns the Application of a component.
func (f *Fleet) child(d Deployment, opt AppsOptions, file string, wave int) (Manifest, error) {
	made := applicationObject{APIVersion: argoCDVersion, Kind: "Application",
		Metadata: metadata{Name: d.Name, Namespace: f.namespace(), Labels: f.childLabels(d), Annotations: map[string]string{syncWave: strconv.Itoa(wave)}, Finalizers: []string{cascade}},
		Spec: applicationSpec{
			Project:     f.projectOf(d.Application),
			Destination: cluster(f.serverFor(d.Application, d.place), d.Namespace),
			SyncPolicy:  syncPolicy{SyncOptions: f.options(d.Application), Retry: f.retry(d.Application)},
		}}
	put(f.fields(d.Application), &made.Metadata, &made.Spec)
	repo := source{RepoURL: cmp.Or(opt.RepoURL, f.Settings.RepoURL), TargetRevision: d.place.Revision}
	if c := d.Component.Chart; c.Remote() && !d.Vendored {
		made.Spec.Sources = remoteSources(c, cmp.Or(c.ReleaseName, d.Component.Name), repo)
		there := d.remoteValues(d.environment)
		helm := made.Spec.Sources[0].Helm
		helm.ValueFiles, helm.Parameters = append(helm.ValueFiles, there.ValueFiles...), there.Parameters
	} else {
		repo.Path = d.Dir
		repo.Plugin = &pluginSource{Name: pluginName, Parameters: f.childParameters(d)}
		made.Spec.Source = &repo
	}
	if opt.Preserve {
		made.Metadata.Finalizers = nil
	}
	if opt.Template != nil {
		return f.ownChild(opt.Template, d, file, made)
	}
	m := manifest(file, made)
	text := f.stepComment(d.Phase.Number, nil)
	if !d.Phase.Set {
		text = "It has no " + f.Profile.Noun() + ", so it comes last."
	}
	m.comment(strings.TrimSuffix(strings.TrimSuffix(text, "."), ": none")+".", "metadata", "annotations", syncWave)
	return m, nil
}

// remoteSources returns a remote chart, which Argo CD renders itself, and the repository of
// the component with its values.
func remoteSources(c component.Chart, release string, repo source) []source {
	s := source{RepoURL: c.RepoURL, Chart: c.Chart, Path: c.Path, TargetRevision: cmp.Or(c.Version, "HEAD"), Helm: &helmSource{ReleaseName: release, SkipCRDs: c.SkipCRDs, IgnoreMissing: c.IgnoreMissing}}
	if c.Chart != "" {
		s.RepoURL = strings.TrimPrefix(s.RepoURL, "oci://") // with it, Argo CD would not look at the chart
		s.TargetRevision = cmp.Or(c.Version, "*")
	}
	for _, file := range c.ValueFiles {
		if strings.HasPrefix(file, "/") {
			file = "$values" + file
		} else if strings.HasPrefix(file, "$") {
			_, below, _ := strings.Cut(file, "/")
			file = "$values/" + below // by whatever name, this repository is meant
		}
		s.Helm.ValueFiles = append(s.Helm.ValueFiles, file)
	}
	repo.Ref = "values"
	return []source{s, repo}
}

func (f *Fleet) childLabels(d Deployment) map[string]string {
	all := maps.Clone(f.Settings.Labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, d.labels())
	if phase := f.Write(d.Phase); labelValue.MatchString(phase) {
		all[f.Profile.Label] = phase
	}
	if d.environment != "" {
		all["environment"] = d.environment
	}
	return all
}

// childParameters returns the parameters for the plugin: the half of a split component, and
// the release name and namespace if the Application has others.
func (f *Fleet) childParameters(d Deployment) []pluginParameter {
	var all []pluginParameter
	if d.Part != "" || d.place.Name != "" {
		all = append(all, pluginParameter{Name: "name", String: d.Component.Name})
	}
	if d.environment != "" {
		all = append(all, pluginParameter{Name: "environment", String: d.environment})
	}
	if d.moved {
		all = append(all, pluginParameter{Name: "namespace", String: d.Namespace})
	}
	if d.Part != "" {
		all = append(all, pluginParameter{Name: "crds", String: string(d.Part)})
	}
	return append(all, d.capabilities()...)
}

// parent returns an Application for the content of a directory.
func (f *Fleet) parent(opt AppsOptions, name, dir, revision string) Manifest {
	made := applicationObject{APIVersion: argoCDVersion, Kind: "Application",
		Metadata: metadata{Name: name, Namespace: f.namespace(), Finalizers: []string{cascade}},
		Spec: applicationSpec{
			Project:     f.project(),
			Destination: cluster("", f.namespace()),
			Source:      &source{RepoURL: cmp.Or(opt.RepoURL, f.Settings.RepoURL), TargetRevision: revision, Path: dir},
			SyncPolicy:  syncPolicy{Automated: automation(nil), Retry: patient},
		}}
	if opt.Preserve {
		made.Metadata.Finalizers = nil
	}
	m := manifest(RootFile, made)
	m.node.HeadComment = lines(
		"Generated by cmp fleet apps. Apply this Application by hand; it creates the others.",
		"Argo CD waits for a child only with a health check for Applications in argocd-cm:",
		"cmp fleet apps --health-check prints it.")
	m.comment("When it is deleted, it deletes its children in reverse order of their waves, with their resources.", "metadata", "finalizers")
	return m
}

// tiers returns a parent of parents: an Application for each band, in order.
func (f *Fleet) tiers(sets []set, opt AppsOptions, ordered bool) ([]Manifest, error) {
	revision := sets[0].places[0].Revision
	all := []Manifest{f.parent(opt, f.name(opt.Target), opt.Path, revision)}
	var later []Manifest
	bands := append(slices.Clone(f.Profile.Bands), profile.Band{Name: "other", Why: "outside all bands", Wave: 1 + f.lastWave()})
	var left []*Application
	for _, app := range f.Enabled() {
		if _, in := f.Profile.Band(app.Phase.Number); !in || !app.Phase.Set {
			left = append(left, app)
		}
	}
	for i, band := range bands {
		members := f.members(band)
		if i == len(bands)-1 {
			members = left
		}
		if len(members) == 0 {
			continue
		}
		name := f.name(opt.Target) + "-" + band.Name
		tier := f.parent(opt, name, path.Join(opt.Path, band.Name), revision)
		tier.File = band.Name
		tier.set(map[string]string{syncWave: strconv.Itoa(band.Wave)}, "metadata", "annotations")
		tier.node.HeadComment = wrapped("The tier " + band.Name + ": " + cmp.Or(band.Why, f.Profile.Noun()+"s "+f.Profile.Write(band.From)+" to "+f.Profile.Write(band.To)) + ".")
		all = append(all, tier)
		for _, s := range sets {
			s := s.only(members)
			if len(f.deployments(s)) == 0 {
				continue
			}
			if !opt.Sets {
				children, err := f.children([]set{s}, opt, band.Name)
				if err != nil {
					return nil, err
				}
				later = append(later, children...)
				continue
			}
			s.name += "-" + band.Name
			m, err := f.applicationSet(s, SetOptions{Target: opt.Target, Preserve: opt.Preserve, ArgoCD: opt.ArgoCD}, ordered)
			if err != nil {
				return nil, err
			}
			m.File = path.Join(band.Name, s.name)
			later = append(later, m)
		}
	}
	return append(all, later...), nil
}

// only returns the part of a set that contains some Applications.
func (s set) only(members []*Application) set {
	var listed []*Application
	for _, app := range members {
		if s.has(app) {
			listed = append(listed, app)
		}
	}
	s.listed, s.rest = listed, false
	return s
}

func (f *Fleet) members(band profile.Band) []*Application {
	var all []*Application
	for _, app := range f.Enabled() {
		if app.Phase.Set && band.From <= app.Phase.Number && app.Phase.Number <= band.To {
			all = append(all, app)
		}
	}
	return all
}

func (f *Fleet) lastWave() int {
	last := 0
	for _, b := range f.Profile.Bands {
		last = max(last, b.Wave)
	}
	return last
}

// Kustomizations list the manifests of each directory of an app of apps except the root. Argo
// CD applies only what they list.
func Kustomizations(all []Manifest) []Manifest {
	files := map[string][]string{}
	for _, m := range all {
		if m.File != RootFile {
			files[path.Dir(m.File)] = append(files[path.Dir(m.File)], path.Base(m.File)+".yaml")
		}
	}
	var made []Manifest
	for _, dir := range slices.Sorted(maps.Keys(files)) {
		slices.Sort(files[dir])
		made = append(made, manifest(path.Join(dir, "kustomization"), struct {
			APIVersion string   `yaml:"apiVersion"`
			Kind       string   `yaml:"kind"`
			Resources  []string `yaml:"resources"`
		}{"kustomize.config.k8s.io/v1beta1", "Kustomization", files[dir]}))
	}
	return made
}

// Files returns the files of an app-of-apps, with their kustomizations.
func Files(all []Manifest) map[string]string {
	files := map[string]string{}
	for _, m := range slices.Concat(all, Kustomizations(all)) {
		files[m.File+".yaml"] = YAML(m)
	}
	return files
}

// applicationCheck is the health check that makes Argo CD wait for children.
func applicationCheck(base *knowledge.Base) []health.Check {
	return slices.DeleteFunc(health.Checks(base.KindsWithStatus()), func(c health.Check) bool { return c.Key != health.Key(argoCDGroup, "Application") })
}

// HealthCheck is the health check with which Argo CD waits for child Applications: as a patch
// of the argocd-cm ConfigMap, and as values of the Argo CD Helm chart.
func HealthCheck(base *knowledge.Base) (configMap, values string) {
	check := applicationCheck(base)
	return health.ConfigMap(check), health.Values(check)
}
