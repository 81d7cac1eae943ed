package appofapps_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet/appofapps"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

const ours = "https://git.example.com/ours.git"

// repository holds manifests by directory; what is empty does not render.
type repository map[string]string

func (r repository) HasDir(dir string) bool { _, there := r[dir]; return there }

func (r repository) Open(app appofapps.Child, _ string, s appofapps.Source) appofapps.Source {
	dir := s.Dir
	s.Render = func(context.Context) (appofapps.Rendered, error) {
		if r[dir] == "" {
			return appofapps.Rendered{}, errors.New("no manifests")
		}
		g, err := build(r[dir], app.Namespace)
		return appofapps.Rendered{Graph: g, Base: knowledge.Default()}, err
	}
	return s
}

func build(manifests, namespace string) (*graph.Graph, error) {
	objs, err := object.Parse("in.yaml", 1, manifests)
	if err != nil {
		return nil, err
	}
	return graph.Build(objs, knowledge.Default(), graph.Options{Namespace: namespace})
}

func application(name, dir string) string {
	return fmt.Sprintf("---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, namespace: argocd}\n"+
		"spec: {source: {repoURL: %s, path: %s}, destination: {namespace: shop}}\n", name, ours, dir)
}

const (
	crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: boats.sea.example.com}\n" +
		"spec: {group: sea.example.com, scope: Namespaced, names: {kind: Boat, plural: boats}, versions: [{name: v1, " +
		"served: true, storage: true}]}\n"
	boat = "apiVersion: sea.example.com/v1\nkind: Boat\nmetadata: {name: a}\n"
)

func follow(t *testing.T, manifests string, repo repository) (before *graph.Graph, res appofapps.Result) {
	t.Helper()
	g, err := build(manifests, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	res, err = appofapps.Follow(t.Context(), g, knowledge.Default(),
		appofapps.Options{Namespace: "argocd", Dir: "apps", RepoURL: ours, Repository: repo})
	if err != nil {
		t.Fatal(err)
	}
	return g, res
}

func TestFollow(t *testing.T) {
	t.Parallel()
	g, res := follow(t, application("boats", "boats")+application("definitions", "definitions"), repository{"boats": boat, "definitions": crd})
	if len(g.References) != 0 || slices.ContainsFunc(g.Nodes, func(n graph.Node) bool { return n.Role != "" }) {
		t.Errorf("the graph that was given is changed:\n%s", g)
	}
	if !slices.ContainsFunc(res.Graph.References, func(r graph.Reference) bool {
		return res.Graph.Nodes[r.From].ID.Name == "boats" && res.Graph.Nodes[r.To].ID.Name == "definitions" && r.Until == graph.Healthy &&
			r.Fails == graph.Refused
	}) {
		t.Errorf("boats does not come after the definitions of its kinds:\n%s", res.Graph)
	}
	for _, n := range res.Graph.Nodes {
		if n.ID.Name == "definitions" && (n.Role != "crds" || !strings.Contains(n.RoleWhy, "boats.sea.example.com")) {
			t.Errorf("definitions stands on rung %q, because it %s", n.Role, n.RoleWhy)
		}
	}
}

func TestFollowWithoutApplications(t *testing.T) {
	t.Parallel()
	if g, res := follow(t, boat, nil); res.Graph != g || res.RepoURL || res.Findings != nil {
		t.Errorf("got %+v", res)
	}
}

// TestFollowFaults: what cannot be rendered is a finding, and does not change the order.
func TestFollowFaults(t *testing.T) {
	t.Parallel()
	_, res := follow(t, application("empty", "empty")+application("gone", "gone"), repository{"empty": ""})
	var found []string
	for _, f := range res.Findings {
		if f.Rule != "child-not-rendered" || f.Severity != finding.Warning {
			t.Errorf("unexpected: %s", f.Error())
		}
		found = append(found, f.Object)
	}
	if want := []string{"Application argocd/empty", "Application argocd/gone"}; !slices.Equal(found, want) {
		t.Errorf("found faults of %v, want of %v", found, want)
	}
	if len(res.Graph.References) != 0 {
		t.Errorf("references without contents:\n%s", res.Graph)
	}
}
