package parent

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// Application is the Application that a source is rendered for.
type Application struct {
	ID object.ID
	// Namespace is its destination.
	Namespace string
	// RepoURL is the URL of the available repository; empty if unknown.
	RepoURL string
}

// Source is a source of a child: in the available repository, or a chart identified
// by name and registry.
type Source struct {
	Registry, Chart string
	// Render renders it, unless Err is set.
	Render func(context.Context) (Rendered, error)
	Err    error

	// dir is its directory, and key identifies its rendering; both are empty if it
	// is not available.
	dir, key string
	// place is its name in messages.
	place string
}

// Rendered is the rendering of a source.
type Rendered struct {
	Graph *graph.Graph
	// Base is the knowledge about its kinds, and Waves how it is ordered.
	Base  *knowledge.Base
	Waves wave.Options
	// CRDs is the part of the component.
	CRDs crds.Mode
	// Revision reports whether the commit may have affected the result.
	Revision bool
}

// Repository is the repository of an app of apps.
type Repository interface {
	// HasDir reports whether a directory exists.
	HasDir(dir string) bool
	// Open reads a source of an Application in a directory. refs are the sources
	// that its values files may be in, each with whether it is this repository.
	// Sources with an external chart have no Render.
	Open(app Application, dir string, source object.Value, refs map[string]bool) Source
}

// child is an Application in the rendering of another one.
type child struct {
	object.Object
	namespace string
	// cluster is its destination; Applications of different clusters do not depend
	// on each other.
	cluster string
	sources []Source
}

// defaultNamespace is the default destination namespace.
const defaultNamespace = "default"

// readChild reads an Application. deploys is the path of its sources.
func (f *follower) readChild(o object.Object, deploys knowledge.Path) child {
	c := child{Object: o, namespace: defaultNamespace, cluster: argocd.InCluster}
	for _, found := range deploys.Find(o.Root()) {
		spec := found.Value
		c.namespace = cmp.Or(spec.Get("destination", "namespace").Text(), c.namespace)
		c.cluster = argocd.ClusterOf(spec)
		sources := argocd.SourcesOf(spec)
		refs := map[string]bool{}
		for _, s := range sources {
			if ref := s.Get("ref").Text(); ref != "" {
				refs[ref] = f.isOurs(s)
			}
		}
		for _, s := range sources {
			if s.Get("ref").Text() != "" && s.Get("path").Text() == "" && s.Get("chart").Text() == "" {
				continue // only provides values files
			}
			c.sources = append(c.sources, f.readSource(c, s, refs))
		}
	}
	return c
}

// isOurs reports whether a source is in the available repository.
func (f *follower) isOurs(s object.Value) bool {
	return s.Get("chart").Text() == "" && remote.SameRepository(f.repoURL, s.Get("repoURL").Text())
}

// readSource reads a source of a child.
func (f *follower) readSource(c child, s object.Value, refs map[string]bool) Source {
	if f.opt.Repository == nil || !f.isOurs(s) {
		return chartSource(s)
	}
	dir := sourcePath(s)
	text, err := s.YAML()
	src := Source{Err: err}
	switch {
	case err != nil:
	case !f.opt.Repository.HasDir(dir):
		src.Err = finding.Finding{Severity: finding.Error, Rule: "no-directory",
			Message: "directory not found in the part of the repository that Argo CD sent",
			Remedy:  "correct the path, or name it in the annotation argocd.argoproj.io/manifest-generate-paths of the parent"}
	default:
		src = f.opt.Repository.Open(Application{ID: c.ID, Namespace: c.namespace, RepoURL: f.repoURL}, dir, s, refs)
	}
	src.place = f.opt.show(dir)
	if src.Chart == "" {
		src.key = fmt.Sprintf("%q %q %s", c.ID.Name, c.namespace, text)
		src.dir = dir
	}
	return src
}

// guessRepository returns the repository that contains most existing paths of
// children, since its URL is unknown on a laptop.
func guessRepository(at Repository, specs []object.Value) string {
	var named []remote.Directory
	for _, spec := range specs {
		for _, s := range argocd.SourcesOf(spec) {
			if dir := sourcePath(s); dir != "." && s.Get("chart").Text() == "" {
				named = append(named, remote.Directory{RepoURL: s.Get("repoURL").Text(), Path: dir})
			}
		}
	}
	return remote.MostNamed(named, at.HasDir)
}

func sourcePath(s object.Value) string {
	return path.Clean(strings.TrimLeft(s.Get("path").Text(), "/"))
}

// chartSource returns a source that is not available, which may be known by its
// chart's name.
func chartSource(s object.Value) Source {
	name := s.Get("chart").Text()
	if address, oci := strings.CutPrefix(s.Get("repoURL").Text(), "oci://"); name == "" && oci {
		name = path.Base(address)
	}
	name = path.Base("/" + name)                     // "registry/name" in image registries
	name = name[strings.LastIndexByte(name, '@')+1:] // a URL may have a user
	if name == "/" {
		return Source{place: "path " + s.Get("path").Text() + " of " + s.Get("repoURL").Text()}
	}
	return Source{Registry: s.Get("repoURL").Text() + "/" + s.Get("chart").Text(), Chart: name, place: "chart " + name}
}
