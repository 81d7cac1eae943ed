package appofapps

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

// Source is a source of an Application: in the available repository, or a chart identified by
// name and registry.
type Source struct {
	// Value is the source in the spec of the Application, and Refs are the sources that its
	// values files may be in, each with whether it is this repository.
	Value object.Value
	Refs  map[string]bool
	// IsOurs means that it is a directory of the available repository, Dir.
	IsOurs bool
	Dir    string
	// Registry and Chart identify a chart that is not in the repository.
	Registry, Chart string
	// Place is its name in messages.
	Place string
	// Render renders it, unless Err is set.
	Render func(context.Context) (Rendered, error)
	Err    error

	// key identifies its rendering; it is empty if the source is not available.
	key string
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
	// Open returns a source of an Application in a directory with its Render. Sources with an
	// external chart have no Render. repoURL is the URL of the repository; empty if unknown.
	Open(app Child, repoURL string, source Source) Source
}

// Child is an Application with its sources.
type Child struct {
	object.Object
	// Namespace is the namespace of its destination, "default" if it names none.
	Namespace string
	// Cluster is its destination; Applications of different clusters do not depend
	// on each other.
	Cluster string
	Sources []Source

	// generated means that an ApplicationSet creates it, whose health does not depend on it.
	generated bool
}

// defaultNamespace is the default destination namespace.
const defaultNamespace = "default"

// Reader reads Applications.
type Reader struct {
	// RepoURL is the URL of the available repository; empty if unknown.
	RepoURL string
	// HasDir reports whether a directory of the repository exists; nil if there is no repository.
	HasDir func(dir string) bool
	// Show converts a directory for messages; nil leaves it unchanged.
	Show func(dir string) string
	// Root is the directory that paths of sources begin at; empty for that of the repository.
	Root string
}

// Read reads an Application. deploys is the path of its sources.
func (r Reader) Read(o object.Object, deploys knowledge.Path) Child {
	c := Child{Object: o, Namespace: defaultNamespace, Cluster: argocd.InCluster}
	for _, found := range deploys.Find(o.Root()) {
		spec := found.Value
		c.Namespace = cmp.Or(spec.Get("destination", "namespace").Text(), c.Namespace)
		c.Cluster = argocd.ClusterOf(spec)
		sources := argocd.SourcesOf(spec)
		refs := map[string]bool{}
		for _, s := range sources {
			if ref := s.Get("ref").Text(); ref != "" {
				refs[ref] = r.isOurs(s)
			}
		}
		for _, s := range sources {
			if s.Get("path").Text() == "" && s.Get("chart").Text() == "" {
				continue // only provides values files, or is invalid
			}
			c.Sources = append(c.Sources, r.source(s, refs))
		}
	}
	return c
}

// isOurs reports whether a source is in the available repository.
func (r Reader) isOurs(s object.Value) bool {
	return s.Get("chart").Text() == "" && remote.SameRepository(r.RepoURL, s.Get("repoURL").Text())
}

// source reads a source of an Application.
func (r Reader) source(s object.Value, refs map[string]bool) Source {
	src := chartSource(s)
	if r.HasDir != nil && r.isOurs(s) {
		dir := path.Join(r.Root, sourcePath(s))
		src = Source{IsOurs: true, Dir: dir, Place: dir}
		if r.Show != nil {
			src.Place = r.Show(dir)
		}
		if !r.HasDir(dir) {
			src.Err = finding.Finding{Severity: finding.Error, Rule: finding.NotFound,
				Message: "directory not found in the part of the repository that Argo CD sent",
				Remedy:  "correct the path, or name it in the annotation argocd.argoproj.io/manifest-generate-paths of the parent"}
		}
	}
	src.Value, src.Refs = s, refs
	return src
}

// readChild reads an Application, and how to render its sources in the repository.
func (f *follower) readChild(o object.Object, deploys knowledge.Path) Child {
	r := Reader{RepoURL: f.repoURL, Show: f.opt.Show, Root: f.root}
	if f.opt.Repository != nil {
		r.HasDir = f.opt.Repository.HasDir
	}
	c := r.Read(o, deploys)
	for i, s := range c.Sources {
		if !s.IsOurs {
			continue
		}
		text, err := s.Value.YAML()
		switch {
		case err != nil:
			s.Err = err
		case s.Err == nil:
			s = f.opt.Repository.Open(c, f.repoURL, s)
		}
		if s.Chart == "" {
			s.key = fmt.Sprintf("%q %q %s", c.ID.Name, c.Namespace, text)
		}
		c.Sources[i] = s
	}
	return c
}

// locate finds where the repository begins, if nothing says that, and which one it is: the one
// that contains most existing paths of children. Its URL is unknown on a laptop.
func (f *follower) locate(specs []object.Value) {
	if f.opt.Repository == nil {
		return
	}
	var named []remote.Directory
	for _, spec := range specs {
		for _, s := range argocd.SourcesOf(spec) {
			if dir := sourcePath(s); dir != "." && s.Get("chart").Text() == "" {
				named = append(named, remote.Directory{RepoURL: s.Get("repoURL").Text(), Path: dir})
			}
		}
	}
	if f.opt.NoRoot {
		f.root = f.nearestRoot(named)
	}
	if f.repoURL == "" {
		f.repoURL = remote.MostNamed(named, func(dir string) bool { return f.opt.Repository.HasDir(path.Join(f.root, dir)) })
	}
}

// nearestRoot returns the directory above the parent that contains most paths of children; the
// nearest if none does.
func (f *follower) nearestRoot(named []remote.Directory) string {
	nearest := path.Dir(f.opt.Dir)
	root, most := nearest, 0
	for at := nearest; at != "."; at = path.Dir(at) {
		there := 0
		for _, d := range named {
			if f.opt.Repository.HasDir(path.Join(at, d.Path)) {
				there++
			}
		}
		if there > most {
			root, most = at, there
		}
	}
	return root
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
		return Source{Place: "path " + s.Get("path").Text() + " of " + s.Get("repoURL").Text()}
	}
	return Source{Registry: s.Get("repoURL").Text() + "/" + s.Get("chart").Text(), Chart: name, Place: "chart " + name}
}
