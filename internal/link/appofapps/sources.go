package appofapps

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// Application is what a source is rendered for.
type Application struct {
	ID object.ID
	// Namespace is its destination.
	Namespace string
	// RepoURL is the address of the repository at hand; empty where nobody knows it.
	RepoURL string
}

// Source is one of the places that the manifests of a child come from: in the
// repository at hand, or a chart that a name and the address of a registry tell of.
type Source struct {
	Registry, Chart string
	// Render renders it, unless Err says why it cannot be rendered.
	Render func(context.Context) (Rendered, error)
	Err    error

	// dir is where it is, and key tells apart what comes out differently; both are
	// empty for what is not at hand.
	dir, key string
	// place is what messages call it.
	place string
}

// Rendered is what a source renders to.
type Rendered struct {
	Graph *graph.Graph
	// Base is what is known about its kinds, and Waves how it is ordered.
	Base  *knowledge.Base
	Waves wave.Options
	// CRDs says which part of the component it is.
	CRDs crds.Mode
	// Revision reports whether the commit may have made a difference.
	Revision bool
}

// Repository is what is at hand beside an app of apps.
type Repository interface {
	// HasDir reports whether there is a directory.
	HasDir(dir string) bool
	// Open reads what an Application says of a source in a directory. refs are the
	// sources that its values files may be in, each with whether that is this
	// repository. A source that only names a chart elsewhere has no Render.
	Open(app Application, dir string, source object.Value, refs map[string]bool) Source
}

// child is an Application in the rendering of another one, as far as its
// manifest tells.
type child struct {
	object.Object
	namespace string
	// cluster is where it goes; of two clusters, neither provides what the other
	// needs.
	cluster string
	sources []Source
}

// ownCluster is the one that Argo CD runs in, where Applications are, too, and
// defaultNamespace where an Application goes that does not say.
const (
	ownCluster       = "https://kubernetes.default.svc"
	defaultNamespace = "default"
)

// readChild reads an Application. deploys is what its kind is known by.
func (f *follower) readChild(o object.Object, deploys knowledge.Path) child {
	c := child{Object: o, namespace: defaultNamespace, cluster: ownCluster}
	for _, found := range deploys.Find(o.Root()) {
		spec := found.Value
		c.namespace = cmp.Or(spec.Get("destination", "namespace").Text(), c.namespace)
		switch name := spec.Get("destination", "name").Text(); {
		case name != "" && name != "in-cluster":
			c.cluster = name
		default:
			c.cluster = cmp.Or(strings.TrimSuffix(spec.Get("destination", "server").Text(), "/"), c.cluster)
		}
		sources := sourcesOf(spec)
		refs := map[string]bool{}
		for _, s := range sources {
			if ref := s.Get("ref").Text(); ref != "" {
				refs[ref] = f.isOurs(s)
			}
		}
		for _, s := range sources {
			if s.Get("ref").Text() != "" && s.Get("path").Text() == "" && s.Get("chart").Text() == "" {
				continue // is there for its values files
			}
			c.sources = append(c.sources, f.readSource(c, s, refs))
		}
	}
	return c
}

// isOurs reports whether a source is in the repository at hand.
func (f *follower) isOurs(s object.Value) bool {
	return s.Get("chart").Text() == "" && f.repoURL != "" && repository(s.Get("repoURL").Text()) == repository(f.repoURL)
}

// readSource reads one source of a child.
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
		src.Err = finding.Finding{Severity: finding.Error, Rule: "no-directory", Message: "directory not found in the part of the repository that Argo CD sent",
			Remedy: "correct the path, or name it in the annotation argocd.argoproj.io/manifest-generate-paths of the parent"}
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

// guessRepository is the repository in which most of the paths of children are
// that are here. On a laptop nobody says what the repository is called.
func guessRepository(at Repository, specs []object.Value) string {
	here := map[string]int{}
	for _, spec := range specs {
		for _, s := range sourcesOf(spec) {
			dir := sourcePath(s)
			if dir != "." && s.Get("chart").Text() == "" && at.HasDir(dir) {
				here[s.Get("repoURL").Text()]++
			}
		}
	}
	most := ""
	for _, address := range slices.Sorted(maps.Keys(here)) {
		if here[address] > here[most] {
			most = address
		}
	}
	return most
}

// sourcesOf are the sources of an Application. Argo CD looks at one only if there
// is no list.
func sourcesOf(spec object.Value) []object.Value {
	if all := spec.Get("sources").Items(); len(all) > 0 {
		return all
	}
	return []object.Value{spec.Get("source")}
}

func sourcePath(s object.Value) string {
	return path.Clean(strings.TrimLeft(s.Get("path").Text(), "/"))
}

// repository is what the addresses of a repository have in common: those for
// people and for machines, with and without a name, a port and an ending.
func repository(address string) string {
	address = strings.ToLower(strings.TrimSpace(address))
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		rest = strings.Replace(scheme, ":", "/", 1) // git@host:path
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if found {
		host, _, _ = strings.Cut(host, ":")
	}
	return host + "/" + strings.TrimSuffix(strings.Trim(path, "/"), ".git")
}

// chartSource is a source that is not at hand, of which a chart's name may tell
// something.
func chartSource(s object.Value) Source {
	name := s.Get("chart").Text()
	if address, oci := strings.CutPrefix(s.Get("repoURL").Text(), "oci://"); name == "" && oci {
		name = path.Base(address)
	}
	name = path.Base("/" + name)                     // "registry/name" in registries of images
	name = name[strings.LastIndexByte(name, '@')+1:] // a chart has no user, but an address may
	if name == "/" {
		return Source{place: "path " + s.Get("path").Text() + " of " + s.Get("repoURL").Text()}
	}
	return Source{Registry: s.Get("repoURL").Text() + "/" + s.Get("chart").Text(), Chart: name, place: "chart " + name}
}
