package fleet

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/input"
)

// Environments that share a cluster share cluster-scoped objects, and objects with a fixed
// namespace. Argo CD lets only one Application have an object: the other one stays out of
// sync, and its step never completes.

// movedTo is an Application in an environment with a namespace suffix.
type movedTo struct {
	component   *Component
	part        crds.Mode
	environment string
}

// Cluster returns the cluster of a server in the settings, which is that of the fleet if it is
// empty: the cluster that runs Argo CD has three names.
func (f *Fleet) Cluster(server string) string {
	server = cmp.Or(server, f.Settings.Server, argocd.InCluster)
	if server == "in-cluster" {
		return argocd.InCluster
	}
	return server
}

// OnDifferentClusters reports whether two Applications are deployed to different clusters. It
// ignores environments, which move both.
func (f *Fleet) OnDifferentClusters(a, b *Application) bool {
	return f.Cluster(a.Server) != f.Cluster(b.Server) || f.InPlace() && f.Tree.Apart(a.Node, b.Node)
}

// suffixed returns the environments with a namespace suffix that share a cluster.
func (f *Fleet) suffixed() []profile.Environment {
	var all []profile.Environment
	for i, e := range f.Settings.Environments {
		if e.NamespaceSuffix == "" {
			continue
		}
		if slices.ContainsFunc(slices.Concat(f.Settings.Environments[:i], f.Settings.Environments[i+1:]),
			func(other profile.Environment) bool { return f.Cluster(e.Server) == f.Cluster(other.Server) }) {
			all = append(all, e)
		}
	}
	return all
}

// renderMoved renders again the Applications that may contain the same objects in several
// environments of a cluster. Only this shows whether a name, or a written namespace, follows
// the namespace of the release.
func (f *Fleet) renderMoved(ctx context.Context, src Source) error {
	suffixed := f.suffixed()
	if len(suffixed) == 0 {
		return nil
	}
	f.moved = map[movedTo][]object.Object{}
	memory := input.NewMemory(renderMemory).Sharing(src.shared)
	slots := make(chan struct{}, cmp.Or(src.Parallel, runtime.GOMAXPROCS(0)))
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, app := range f.Applications {
		if !app.IsEnabled() || f.oncePerCluster(app) || !app.Differs() && !f.mayStay(i) {
			continue
		}
		for _, e := range suffixed {
			if !app.IsIn(e.Name) {
				continue
			}
			slots <- struct{}{}
			if ctx.Err() != nil {
				break
			}
			wg.Go(func() {
				defer func() { <-slots }()
				inEnvironment := *app
				inEnvironment.Namespace += e.NamespaceSuffix
				if app.Differs() {
					inEnvironment.Environment = e.Name
				}
				req := inEnvironment.request(src, memory)
				res, err := plugin.Generate(ctx, req, f.Base)
				mu.Lock()
				defer mu.Unlock()
				to := movedTo{app.Component, app.Part, e.Name}
				if f.moved[to] = []object.Object{}; err == nil { // an Application that cannot be rendered there has no known objects
					f.moved[to] = res.Objects
				}
			})
		}
	}
	wg.Wait()
	return ctx.Err()
}

// mayStay reports whether an Application contains objects that may not follow its namespace.
func (f *Fleet) mayStay(i int) bool {
	return slices.ContainsFunc(f.Objects.Nodes, func(n graph.Node) bool {
		return n.Part == i && (n.Key.Namespace == "" || n.ID.Namespace != "")
	})
}

// Moved returns the objects of an Application as they are rendered in an environment with a
// namespace suffix, if they may differ there.
func (f *Fleet) Moved(app *Application, environment string) (objects []object.Object, differs bool) {
	objects, differs = f.moved[movedTo{app.Component, app.Part, environment}]
	return objects, differs
}

// oncePerCluster reports whether a cluster has an Application once, however many environments
// share it: CRDs, the controllers of their kinds, namespaces, and Applications with only
// cluster-scoped objects. A component that names its environments belongs to each of them,
// and so does one with values for an environment.
func (f *Fleet) oncePerCluster(app *Application) bool {
	return len(app.Environments.Names()) == 0 && !app.Differs() &&
		(app.Part == crds.Only || slices.Contains([]string{"crds", knowledge.Controllers, "namespaces"}, app.Rung) || f.onlyForCluster(app))
}

// onlyForCluster reports whether an Application contains only cluster-scoped objects.
func (f *Fleet) onlyForCluster(app *Application) bool {
	if f.Objects == nil || app.MissingSources != nil || len(app.Objects) == 0 {
		return false
	}
	i := slices.Index(f.Applications, app)
	return !slices.ContainsFunc(f.Objects.Nodes, func(n graph.Node) bool { return n.Part == i && n.Key.Namespace != "" })
}
