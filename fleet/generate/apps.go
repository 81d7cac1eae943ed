package generate

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
)

// rootFile is the name of the parent's file, which a person applies once.
const rootFile = "root"

// Applications generates an app of apps: a parent, and a child for each component with its step as its
// sync wave. The parent is the first manifest. With tiers, the parent contains an Application
// for each band, which contains the children.
//
// Argo CD waits for a child only if it has a health check for Applications, which cluster.checkChildHealth runs.
func Applications(f *fleet.Fleet, opt Options) ([]Manifest, []finding.Finding, error) {
	w, sets, err := newWriter(f, opt)
	if err != nil {
		return nil, nil, err
	}
	faults := slices.Concat(w.rolloutFaults(opt.Environment, sets), w.reserved(sets))
	if opt.Tiers && opt.Sets {
		faults = slices.Concat(faults, w.labelFaults(), w.setOrderFaults(sets))
	}
	if opt.Tiers && w.Settings.Promotion {
		faults = append(faults, finding.Finding{Severity: finding.Error, Rule: finding.Rollout, File: w.Settings.File,
			Line: w.Settings.Line, Field: "fleet.promotion",
			Message: "each tier contains all environments, so no environment can wait for another",
			Remedy:  "use --style steps or waves, or remove promotion"})
	}
	finding.Sort(faults)
	if err := finding.Err(faults); err != nil {
		return nil, nil, err
	}
	if opt.Tiers {
		all, err := w.tiers(sets, opt.Path, opt.Sets)
		return all, faults, err
	}
	root := w.parent(fleet.NameOf(w.Fleet), opt.Path, sets[0].Destinations[0].Revision)
	children, err := w.children(fleet.InPromotionOrder(w.Fleet, sets), "")
	return append([]Manifest{root}, children...), faults, err
}

// children returns the Applications of sets that share an order. With promotion, those of an
// environment come after all of the previous one.
func (w writer) children(sets []fleet.Set, dir string) ([]Manifest, error) {
	var all []Manifest
	first, last := 0, 0
	for _, app := range w.Enabled() {
		first, last = min(first, app.Step.Number), max(last, app.Step.Number)
	}
	for _, s := range sets {
		for _, d := range w.deployments(s) {
			wave := d.Step.Number
			if !d.Step.Set {
				wave = last + 1 // after all that have a step
			}
			wave += s.Rank * (last - first + 2)
			m, err := w.child(d, path.Join(dir, d.Name), wave)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// child returns the Application of a component.
func (w writer) child(d fleet.Deployment, file string, wave int) (Manifest, error) {
	app := argocd.Application{APIVersion: argocd.APIVersion, Kind: "Application",
		Metadata: argocd.Metadata{Name: d.Name, Namespace: w.namespace(), Labels: w.childLabels(d),
			Annotations: map[string]string{object.SyncWave: strconv.Itoa(wave)}, Finalizers: []string{cascade}},
		Spec: argocd.Spec{
			Project:     w.ProjectOf(d.Application),
			Destination: cluster(w.serverFor(d.Application, d.To), d.Namespace),
			SyncPolicy:  argocd.SyncPolicy{SyncOptions: w.options(d.Application), Retry: w.retry(d.Application)},
		}}
	put(w.fields(d.Application), &app.Metadata, &app.Spec)
	repo := argocd.Source{RepoURL: w.Settings.RepoURL, TargetRevision: d.To.Revision}
	if c := d.Component.Chart; c.Remote() && !d.Vendored {
		app.Spec.Sources = remoteSources(c, cmp.Or(c.ReleaseName, d.Component.Name), repo)
		values := remoteValues(d.Component, d.Label)
		helm := app.Spec.Sources[0].Helm
		helm.ValueFiles, helm.Parameters = append(helm.ValueFiles, values.ValueFiles...), values.Parameters
	} else if d.Component.Render == component.Native {
		native := nativeSource(d.Application, d.Label)
		native.RepoURL, native.TargetRevision = repo.RepoURL, repo.TargetRevision
		app.Spec.Source = &native
	} else {
		repo.Path = d.Dir
		repo.Plugin = &argocd.PluginSource{Name: plugin.Name, Parameters: w.childParameters(d)}
		app.Spec.Source = &repo
	}
	if w.preserve {
		app.Metadata.Finalizers = nil
	}
	if w.template != nil {
		return w.ownChild(d, file, app)
	}
	m := NewManifest(file, app)
	text := w.stepComment(d.Step.Number, nil)
	if !d.Step.Set {
		text = "It has no " + w.Profile.Noun() + ", so it comes last."
	}
	m.Comment(strings.TrimSuffix(strings.TrimSuffix(text, "."), ": none")+".", "metadata", "annotations", object.SyncWave)
	return m, nil
}

// remoteSources returns a remote chart, which Argo CD renders itself, and the repository of
// the component with its values.
func remoteSources(c component.Chart, release string, repo argocd.Source) []argocd.Source {
	s := argocd.Source{RepoURL: c.RepoURL, Chart: c.Chart, Path: c.Path, TargetRevision: cmp.Or(c.Version, "HEAD"),
		Helm: &argocd.HelmSource{ReleaseName: release, SkipCRDs: c.SkipCRDs, IgnoreMissing: c.IgnoreMissing}}
	if c.Chart != "" {
		s.RepoURL = strings.TrimPrefix(s.RepoURL, "oci://") // with the prefix, Argo CD would ignore the chart
		s.TargetRevision = cmp.Or(c.Version, "*")
	}
	for _, file := range c.ValueFiles {
		if strings.HasPrefix(file, "/") {
			file = "$values" + file
		} else if strings.HasPrefix(file, "$") {
			_, below, _ := strings.Cut(file, "/")
			file = "$values/" + below // the name does not matter, because it can only refer to this repository
		}
		s.Helm.ValueFiles = append(s.Helm.ValueFiles, file)
	}
	repo.Ref = "values"
	return []argocd.Source{s, repo}
}

func (w writer) childLabels(d fleet.Deployment) map[string]string {
	all := maps.Clone(w.Settings.Labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, d.AllLabels())
	if step := w.FormatStep(d.Step); object.IsLabelValue(step) {
		all[w.Profile.Label] = step
	}
	if d.Label != "" {
		all["environment"] = d.Label
	}
	return all
}

// childParameters returns the parameters for the plugin: the part of a split component, and the
// release name and namespace if the Application has others.
func (w writer) childParameters(d fleet.Deployment) []argocd.PluginParameter {
	var all []argocd.PluginParameter
	if d.Part != "" || d.To.Name != "" {
		all = append(all, argocd.PluginParameter{Name: "name", String: d.Component.Name})
	}
	if d.Label != "" {
		all = append(all, argocd.PluginParameter{Name: "environment", String: d.Label})
	}
	if d.Moved {
		all = append(all, argocd.PluginParameter{Name: "namespace", String: d.Namespace})
	}
	if d.Part != "" {
		all = append(all, argocd.PluginParameter{Name: "crds", String: string(d.Part)})
	}
	return append(all, capabilities(d.Application)...)
}

// capabilities returns the parameters with the API versions that are installed before an
// Application.
func capabilities(a *fleet.Application) []argocd.PluginParameter {
	if len(a.EarlierAPIVersions) == 0 {
		return nil
	}
	return []argocd.PluginParameter{{Name: "api-versions", Array: a.EarlierAPIVersions}}
}

// namespace returns the namespace of Argo CD's objects.
func (w writer) namespace() string { return cmp.Or(w.Settings.ArgoCDNamespace, "argocd") }

// parent returns an Application for the content of a directory.
func (w writer) parent(name, dir, revision string) Manifest {
	app := argocd.Application{APIVersion: argocd.APIVersion, Kind: "Application",
		Metadata: argocd.Metadata{Name: name, Namespace: w.namespace(), Finalizers: []string{cascade}},
		Spec: argocd.Spec{
			Project:     w.Project(),
			Destination: cluster("", w.namespace()),
			Source:      &argocd.Source{RepoURL: w.Settings.RepoURL, TargetRevision: revision, Path: dir},
			SyncPolicy:  argocd.SyncPolicy{Automated: automation(nil), Retry: defaultRetry},
		}}
	if w.preserve {
		app.Metadata.Finalizers = nil
	}
	m := NewManifest(rootFile, app)
	m.Comment(lines(
		"Generated by cmp fleet apps. Apply this Application by hand; it creates the others.",
		"Argo CD waits for a child only with a health check for Applications in argocd-cm:",
		"cmp install adds it."))
	m.Comment("When it is deleted, it deletes its children in reverse order of their waves, with their resources.", "metadata",
		"finalizers")
	return m
}

// tiers returns a parent of parents: an Application for each band, in order.
func (w writer) tiers(sets []fleet.Set, dir string, inSets bool) ([]Manifest, error) {
	revision := sets[0].Destinations[0].Revision
	all := []Manifest{w.parent(fleet.NameOf(w.Fleet), dir, revision)}
	var content []Manifest
	bands := append(slices.Clone(w.Profile.Bands), profile.Band{Name: "other", Why: "outside all bands", Wave: 1 + w.lastWave()})
	var outside []*fleet.Application
	for _, app := range w.Enabled() {
		if _, in := w.Profile.Band(app.Step.Number); !in || !app.Step.Set {
			outside = append(outside, app)
		}
	}
	for i, band := range bands {
		members := w.members(band)
		if i == len(bands)-1 {
			members = outside
		}
		if len(members) == 0 {
			continue
		}
		name := w.Settings.ParentOf(fleet.NameOf(w.Fleet), band.Name)
		tier := w.parent(name, path.Join(dir, band.Name), revision)
		tier.File = band.Name
		tier.Set(map[string]string{object.SyncWave: strconv.Itoa(band.Wave)}, "metadata", "annotations")
		tier.Comment(wrap("The tier " + band.Name + ": " + cmp.Or(band.Why,
			w.Profile.Noun()+"s "+w.Profile.Write(band.From)+" to "+w.Profile.Write(band.To)) + "."))
		all = append(all, tier)
		for _, s := range sets {
			s := s.RestrictedTo(members)
			if len(w.deployments(s)) == 0 {
				continue
			}
			if !inSets {
				children, err := w.children([]fleet.Set{s}, band.Name)
				if err != nil {
					return nil, err
				}
				content = append(content, children...)
				continue
			}
			s.Name = name + strings.TrimPrefix(s.Name, fleet.NameOf(w.Fleet))
			m, err := w.applicationSet(s)
			if err != nil {
				return nil, err
			}
			m.File = path.Join(band.Name, s.Name)
			content = append(content, m)
		}
	}
	return append(all, content...), nil
}

func (w writer) members(band profile.Band) []*fleet.Application {
	var all []*fleet.Application
	for _, app := range w.Enabled() {
		if app.Step.Set && band.From <= app.Step.Number && app.Step.Number <= band.To {
			all = append(all, app)
		}
	}
	return all
}

func (w writer) lastWave() int {
	last := 0
	for _, b := range w.Profile.Bands {
		last = max(last, b.Wave)
	}
	return last
}

// Kustomizations returns a kustomization for each directory of an app of apps except that of the
// root. It lists the manifests of the directory, because Argo CD applies only those that it
// lists.
func Kustomizations(all []Manifest) []Manifest {
	files := map[string][]string{}
	for _, m := range all {
		if m.File != rootFile {
			files[path.Dir(m.File)] = append(files[path.Dir(m.File)], path.Base(m.File)+".yaml")
		}
	}
	var kustomizations []Manifest
	for _, dir := range slices.Sorted(maps.Keys(files)) {
		slices.Sort(files[dir])
		kustomizations = append(kustomizations, NewManifest(path.Join(dir, "kustomization"), struct {
			APIVersion string   `yaml:"apiVersion"`
			Kind       string   `yaml:"kind"`
			Resources  []string `yaml:"resources"`
		}{"kustomize.config.k8s.io/v1beta1", "Kustomization", files[dir]}))
	}
	return kustomizations
}

// Files returns the files of an app-of-apps, with their kustomizations.
func Files(all []Manifest) map[string]string {
	files := map[string]string{}
	for _, m := range slices.Concat(all, Kustomizations(all)) {
		files[m.File+".yaml"] = YAML(m)
	}
	return files
}
