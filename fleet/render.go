package fleet

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/ladder-cmp/ladder/fleet/children"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/input"
)

// render renders every Application, and records what is known about missing charts.
func (f *Fleet) render(ctx context.Context, src Source) error {
	memory := input.NewMemory(renderMemory).Sharing(src.shared)
	err := f.renderAll(ctx, src, f.Applications, memory)
	f.settleCapabilities(ctx, src, memory)
	f.Findings = FindingsOf(f.Applications)
	return err
}

// renderAll renders some Applications concurrently.
func (f *Fleet) renderAll(ctx context.Context, src Source, apps []*Application, memory *input.Memory) error {
	var mu sync.Mutex
	done := 0
	concurrently(ctx, cmp.Or(src.Parallel, parallelism()), len(apps), func(i int) {
		app := apps[i]
		res, rendered := f.renderOne(ctx, src, app, memory)
		mu.Lock()
		defer mu.Unlock()
		done++
		if rendered && src.Rendered != nil {
			src.Rendered(app, res)
		}
		if src.Progress != nil {
			src.Progress(done, len(apps), app.Name)
		}
	})
	return ctx.Err()
}

// parallelism is the number of Applications that are rendered concurrently.
func parallelism() int { return runtime.GOMAXPROCS(0) }

// concurrently calls a function for each index, a number of them at the same time, until the
// context ends.
func concurrently(ctx context.Context, parallel, count int, do func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(parallel, count) {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() == nil { // otherwise the result is no longer needed
					do(i)
				}
			}
		})
	}
	for i := range count {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
}

// FindingsOf returns the findings of the renderings of Applications. A finding of both parts
// of a split component is listed once.
func FindingsOf(apps []*Application) []finding.Finding {
	var all []finding.Finding
	reported := map[*Component][]finding.Finding{}
	for _, app := range apps {
		for _, found := range app.Findings {
			if !slices.Contains(reported[app.Component], found) {
				all = append(all, found)
			}
		}
		reported[app.Component] = append(reported[app.Component], app.Findings...)
	}
	return all
}

// renderMemory is the size in bytes of texts whose compiled form components share, such as schemas of
// values. Their manifests are in Source.shared.
const renderMemory = 8 << 20

func (f *Fleet) renderOne(ctx context.Context, src Source, app *Application, memory *input.Memory) (res plugin.Result, rendered bool) {
	if app.Unread {
		app.Failed, app.Findings = true, finding.Of(app.faults)
		return res, false
	}
	app.MissingSources = nil
	req := app.request(src, memory)
	res, err := plugin.Generate(ctx, req, f.Base)
	if chart := app.Component.Chart; chart.Remote() && isChartMissing(err) {
		app.IsChartMissing = true
		app.addMissingSource(f.Base, chart.Ref())
		return res, false
	}
	if err != nil && src.Assume && !app.Component.Chart.Remote() {
		return f.renderRest(ctx, app, req, err)
	}
	if err != nil {
		app.Failed = true
		app.Findings = append(condensed(finding.Of(err)), res.Findings...)
		return res, false
	}
	src.shared.Share(res.Objects)
	app.take(res)
	return res, true
}

// HasFailed reports whether the Application could not be rendered.
func (a *Application) HasFailed() bool { return a.Failed }

// take stores the rendering of an Application.
func (a *Application) take(res plugin.Result) {
	a.Kind = res.Kind
	a.Objects, a.Waves, a.Expects = res.Objects, res.Plan.Waves(), res.Expects
	a.Findings = slices.DeleteFunc(slices.Clone(res.Findings),
		func(found finding.Finding) bool { return found.Rule == knowledge.RefusedRule }) // those of Refused
	a.Rung, a.RungWhy = rungOf(res.Plan)
}

// isChartMissing reports whether a component does not render only because its chart is missing.
func isChartMissing(err error) bool {
	all := finding.Of(err)
	return len(all) == 1 && all[0].Rule == plugin.ExternalChart
}

// request returns the request that renders an Application.
func (a *Application) request(src Source, memory *input.Memory) plugin.Request {
	req := plugin.Request{Repo: src.Repo, NoRepository: src.NoRepository, Dir: a.Dir, Show: src.Show,
		KubeVersion: src.KubeVersion, APIVersions: src.APIVersions, EarlierAPIVersions: a.EarlierAPIVersions, Memory: memory,
		Remote: src.Remote, Files: src.files,
		App: plugin.App{Name: a.Component.Name, Namespace: a.Namespace}}
	req.Random, req.Children = src.Random, children.Children{}
	if a.Part != "" || a.Environment != "" || src.ArgoCD != "" || src.Waves != "" {
		req.Settings = []plugin.Settings{{CRDs: a.Part, Environment: a.Environment, ArgoCD: src.ArgoCD, Waves: src.Waves}}
	}
	return req
}
