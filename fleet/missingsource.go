package fleet

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/kustomize"
)

// MissingSource is a source of an Application that is not available: a chart, a file at a URL, a
// directory of another repository, or what a plugin of Argo CD renders.
type MissingSource struct {
	Ref remote.Ref
	// Plugin is the name of the plugin; empty for other sources. IsApproximate means that its
	// directory renders without the plugin, so that only what the plugin changes is unknown.
	Plugin        string
	IsApproximate bool
	// Known is the record of a chart; nil if there is none.
	Known *knowledge.Chart
	// SkipsCRDs means that the kustomization which names the chart leaves out its crds directory,
	// kustomize's default.
	SkipsCRDs bool
}

// Name returns its name in texts: the chart, or the repository that publishes the file.
func (a MissingSource) Name() string {
	switch {
	case a.Plugin != "":
		return "plugin " + a.Plugin
	case a.Ref.Kind == remote.Chart:
		return a.Ref.Chart
	}
	u, err := url.Parse(a.Ref.URL)
	if err != nil {
		return ""
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if a.Ref.Kind == remote.Repository || !slices.Contains([]string{"github.com", "raw.githubusercontent.com"}, u.Host) || len(parts) < 3 {
		return strings.TrimSuffix(path.Base(u.Path), ".git")
	}
	return parts[1]
}

// KnownCharts returns the records of the missing charts of an Application.
func (a *Application) KnownCharts() []knowledge.Chart {
	var all []knowledge.Chart
	for _, c := range a.MissingSources {
		if c.Known != nil {
			all = append(all, *c.Known)
		}
	}
	return all
}

// addMissingSource records a missing source. The first known chart determines the rung of the
// Application, unless a later one is an operator.
func (a *Application) addMissingSource(base *knowledge.Base, ref remote.Ref) {
	c := MissingSource{Ref: ref}
	if known, ok := base.Chart(ref.URL, c.Name()); ok {
		first := !slices.ContainsFunc(a.MissingSources, func(c MissingSource) bool { return c.Known != nil })
		if first || known.Rung == knowledge.Controllers && a.Rung != knowledge.Controllers {
			a.Rung, a.RungWhy = known.Rung, "chart "+known.Name+": "+known.Why
		}
		c.Known = &known
	}
	a.MissingSources = append(a.MissingSources, c)
}

// renderRest renders an Application without its missing sources. Faults with other causes are
// errors.
func (f *Fleet) renderRest(ctx context.Context, app *Application, req plugin.Request, failed error) (plugin.Result, bool) {
	res, absent, err := RenderWithoutMissing(ctx, req, f.Base, failed)
	if err != nil {
		app.Failed, app.Findings = true, condensed(finding.Of(err))
	}
	if res.Plan != nil {
		app.take(res)
		// Objects that seem to be missing may be in the missing sources.
		app.Findings = slices.DeleteFunc(app.Findings, func(found finding.Finding) bool { return found.Missing != "" })
	}
	skipped := chartsWithoutCRDs(req)
	for _, ref := range absent {
		app.addMissingSource(f.Base, ref)
		app.MissingSources[len(app.MissingSources)-1].SkipsCRDs = skipped[ref.Chart]
	}
	switch {
	case app.Part == crds.Only:
		app.Rung, app.RungWhy = "crds", "its CRDs are split off"
	case app.Rung != knowledge.Controllers && len(absent) > 0 && len(app.KnownCharts()) == 0:
		app.Rung, app.RungWhy = "workloads", "unknown chart "+app.MissingSources[0].Name()+"; most charts are for workloads"
	}
	return res, res.Plan != nil
}

// chartsWithoutCRDs returns the charts that the kustomization of a component renders without
// their CRDs.
func chartsWithoutCRDs(req plugin.Request) map[string]bool {
	var kustomization struct {
		HelmCharts []struct {
			Name        string `yaml:"name"`
			IncludeCRDs bool   `yaml:"includeCRDs"`
		} `yaml:"helmCharts"`
	}
	text, err := fs.ReadFile(req.Repo, path.Join(req.Dir, kustomize.File(req.Repo, req.Dir)))
	if err != nil || yaml.Unmarshal(text, &kustomization) != nil {
		return nil // its rendering reports what is wrong with it
	}
	all := map[string]bool{}
	for _, c := range kustomization.HelmCharts {
		all[c.Name] = !c.IncludeCRDs
	}
	return all
}

// RenderWithoutMissing renders a component without its missing charts and files. It returns the
// result and the missing sources. Use it for a component that cannot be rendered with them;
// failed is the reason. The error contains the faults with other causes. The result is empty if
// the rest cannot be rendered by itself.
func RenderWithoutMissing(ctx context.Context, req plugin.Request, base *knowledge.Base, failed error) (plugin.Result,
	[]remote.Ref, error) {
	return (&emptySources{fetcher: req.Remote}).render(ctx, req, base, failed)
}

// render renders a component with these sources.
func (e *emptySources) render(ctx context.Context, req plugin.Request, base *knowledge.Base, failed error) (plugin.Result,
	[]remote.Ref, error) {
	req.Remote = e
	res, err := plugin.Generate(ctx, req, base)
	absent := e.sorted()
	switch faults := finding.Of(err); {
	case len(absent) == 0:
		return plugin.Result{}, nil, failed
	case len(faults) == 1 && faults[0].Rule == render.Empty:
		return plugin.Result{}, absent, nil
	case err != nil:
		return plugin.Result{}, absent, finding.Err(stillPresent(finding.Of(failed), faults))
	}
	return res, absent, nil
}

// guess assumes that an unknown chart installs the kinds of an API group if the name of the
// group contains its name, and no other chart is known to install these kinds.
func (f *Fleet) guess() {
	var groups []string
	for _, app := range f.Applications {
		for _, o := range app.Objects {
			if g := o.ID.Group; !slices.Contains(groups, g) && !f.Base.Builtin(g) &&
				!slices.ContainsFunc(f.Base.Charts(), func(c knowledge.Chart) bool { return c.InstallsGroup(g) }) {
				groups = append(groups, g)
			}
		}
	}
	slices.Sort(groups)
	for _, app := range f.Applications {
		for i, c := range app.MissingSources {
			provides := slices.DeleteFunc(slices.Clone(groups), func(g string) bool { return !namedAfter(c.Name(), g) })
			if c.Known != nil || len(provides) == 0 {
				continue
			}
			app.MissingSources[i].Known = &knowledge.Chart{Name: c.Name(), Rung: knowledge.Controllers, Provides: provides,
				Why: "its name occurs in the API group " + provides[0], Inferred: true}
			app.Rung, app.RungWhy = knowledge.Controllers, "chart "+c.Name()+": "+app.MissingSources[i].Known.Why
		}
	}
}

// namedAfter reports whether an API group is named after a chart: kopiur, kopiur-operator and
// kopiur-crds belong to kopiur.example.com.
func namedAfter(chart, group string) bool {
	core := strings.TrimSuffix(chart, "-crds")
	for _, ending := range []string{"-operator", "-controller"} {
		core = strings.TrimSuffix(core, ending)
	}
	labels := strings.Split(group, ".")
	return slices.ContainsFunc(labels[:len(labels)-1], func(label string) bool {
		return label == core || label == chart || core != chart && strings.HasPrefix(core, label+"-")
	})
}

// stillPresent returns the faults of the first rendering that the second one reports at the same
// place.
func stillPresent(first, second []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(slices.Clone(first), func(a finding.Finding) bool {
		return !slices.ContainsFunc(second, func(b finding.Finding) bool {
			return a.File == b.File && a.Line == b.Line &&
				a.Field == b.Field
		})
	})
}

// emptySources wraps another Fetcher. It replaces a missing chart with one that renders to
// nothing and a missing file with an empty one, and records both.
type emptySources struct {
	fetcher remote.Fetcher // may be nil

	mu     sync.Mutex
	absent []remote.Ref
	// repositories are missing, too, but nothing can stand for them.
	repositories []remote.Ref
}

func (e *emptySources) Fetch(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	content, err := remote.Sources{Network: e.fetcher}.Fetch(ctx, ref)
	if faults := finding.Of(err); len(faults) != 1 || faults[0].Rule != remote.NotVendored {
		return content, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if ref.Kind == remote.Repository {
		e.repositories = append(e.repositories, ref)
		return content, err
	}
	if !slices.Contains(e.absent, ref) {
		e.absent = append(e.absent, ref)
	}
	if ref.Kind == remote.File {
		return remote.Content{}, nil
	}
	version := someVersion(ref.Version)
	data, err := emptyChart(ref.Chart, version)
	return remote.Content{Version: version, Data: data}, err
}

// sorted returns the missing charts and files in order.
func (e *emptySources) sorted() []remote.Ref {
	slices.SortFunc(e.absent, func(x, y remote.Ref) int {
		return cmp.Or(strings.Compare(x.Chart, y.Chart), strings.Compare(x.URL, y.URL), strings.Compare(x.Version, y.Version))
	})
	return e.absent
}

var versionNumber = lazyregexp.New(`\d+(\.\d+)*(-[0-9A-Za-z.-]+)?`)

// someVersion returns a version that most ranges contain: their first number.
func someVersion(constraint string) string {
	number := cmp.Or(versionNumber.FindString(constraint), "0.0.0")
	core, pre, _ := strings.Cut(number, "-")
	for strings.Count(core, ".") < 2 {
		core += ".0"
	}
	if pre != "" {
		core += "-" + pre
	}
	return core
}

// emptyChart packs a chart that renders to nothing.
func emptyChart(name, version string) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	text := fmt.Sprintf("apiVersion: v2\nname: %q\nversion: %q\n", name, version)
	if err := w.WriteHeader(&tar.Header{Name: name + "/Chart.yaml", Mode: 0o644, Size: int64(len(text))}); err != nil {
		return nil, err
	}
	if _, err := w.Write([]byte(text)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
