package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/cluster"
	"github.com/ladder-cmp/ladder/e2e/double"
)

// stage is a story in the cluster.
type stage struct {
	story
	app  argocd.Application
	repo *argocd.Repository
	// objs is what the plugin makes of it, by our own rendering, and foreign the
	// definitions of kinds that others bring.
	objs, foreign []*unstructured.Unstructured
	// unchanged are objects that the last sync does not change, by name.
	unchanged map[string]bool
	// mark is before the last sync.
	mark cluster.Mark
	// namespaces are those that it has to itself.
	namespaces []string
}

// hangTimeout is how long nothing may change before a sync counts as hanging. Steps of
// Argo CD and of the cluster double take a few seconds each.
const (
	hangTimeout      = 90 * time.Second
	shortHangTimeout = 25 * time.Second // where a hang is expected
	// Argo CD takes seconds for each CRD if there are many.
	longHangTimeout = 5 * time.Minute
)

// raise brings a story on stage when nothing on it is in the way: what it needs
// of other components, its namespace, its repository. All of it goes with the
// test.
func raise(t *testing.T, s story) *stage {
	t.Helper()
	ctx := t.Context()
	objs, err := s.rendered(ctx)
	if err != nil {
		t.Fatal(err)
	}
	g := &stage{story: s, objs: append(objs, s.beside...)}
	g.place()
	g.settle()
	claims, alone := g.claims()
	t.Cleanup(here.scheduler.take(claims, alone))
	if err := g.removeForeign(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(here.double.Play(g.scenario()))
	t.Cleanup(func() { g.clean(t) })
	for _, obj := range g.before() {
		if err := applySoon(ctx, obj); err != nil {
			t.Fatal(err)
		}
	}
	if g.repo, err = here.argo.NewRepository(ctx, s.name); err != nil {
		t.Fatal(err)
	}
	g.commit(t, s.files)
	g.app = s.application(g.repo)
	if g.brings != nil {
		g.bring(t)
	}
	return g
}

// applySoon applies an object once its kind is served and its namespace is
// there.
func applySoon(ctx context.Context, obj *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := here.argo.Kube().Apply(ctx, obj)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the world of the story: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (g *stage) commit(t *testing.T, files map[string]string) {
	t.Helper()
	if _, err := g.repo.Commit(t.Context(), files); err != nil {
		t.Fatal(err)
	}
}

// before is what is in the cluster before the first sync, in order: definitions
// of kinds that the story uses and does not bring, namespaces, operators.
func (g *stage) before() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, name := range g.namespaces {
		if !g.bringsNamespace(name) {
			all = append(all, newObject("v1", "Namespace", "", name))
		}
	}
	return slices.Concat(all, g.foreign, g.world)
}

// everywhere are the namespaces that all stories share.
var everywhere = append([]string{"default", "kube-system", "kube-public", argocd.Namespace}, double.OpenShiftNamespaces...)

// settle finds the namespaces of the story: its own, and all that its objects
// are in, unless every cluster has them.
func (g *stage) settle() {
	g.namespaces = []string{g.namespace}
	for _, obj := range slices.Concat(g.world, g.objs) {
		name := obj.GetNamespace()
		if obj.GetKind() == "Namespace" {
			name = obj.GetName()
		}
		if name != "" && !slices.Contains(g.namespaces, name) && !slices.Contains(everywhere, name) {
			g.namespaces = append(g.namespaces, name)
		}
	}
}

// bringsNamespace reports whether a namespace comes with the story: it is in it, or an
// operator makes it.
func (g *stage) bringsNamespace(name string) bool {
	for _, r := range g.story.scenario.Records {
		if slices.ContainsFunc(r.Makes, func(p double.Product) bool { return p.Kind == "Namespace" && p.Name == name }) {
			return true
		}
	}
	return slices.ContainsFunc(g.objs, func(obj *unstructured.Unstructured) bool {
		return obj.GetKind() == "Namespace" && obj.GetName() == name
	})
}

// place finds the kinds that others bring and defines them, and puts the objects
// of the story into the namespaces where Argo CD does.
func (g *stage) place() {
	namespaced := map[schema.GroupKind]bool{}
	for _, crd := range g.definitions() {
		gk, scope := definedBy(crd)
		namespaced[gk] = scope == "Namespaced"
	}
	versions := map[schema.GroupKind][]string{}
	for _, obj := range slices.Concat(g.world, g.objs) {
		gvk := obj.GroupVersionKind()
		gk := gvk.GroupKind()
		if scope, native := here.native[gk]; native {
			namespaced[gk] = scope
			continue
		}
		if _, known := namespaced[gk]; known && versions[gk] == nil || phaseOf(obj) == notApplied {
			continue
		}
		if !slices.Contains(versions[gk], gvk.Version) {
			versions[gk] = append(versions[gk], gvk.Version)
		}
		namespaced[gk] = namespaced[gk] || obj.GetNamespace() != "" || !here.clusterScoped(gk, g)
	}
	for gk, versions := range versions {
		g.foreign = append(g.foreign, definition(gk, versions, namespaced[gk]))
	}
	for _, obj := range g.objs {
		switch {
		case !namespaced[obj.GroupVersionKind().GroupKind()]:
			obj.SetNamespace("")
		case obj.GetNamespace() == "":
			obj.SetNamespace(g.namespace)
		}
	}
}

func definedBy(crd *unstructured.Unstructured) (gk schema.GroupKind, scope string) {
	gk.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	gk.Kind, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "kind")
	scope, _, _ = unstructured.NestedString(crd.Object, "spec", "scope")
	return gk, scope
}

// definition defines a kind for stories that use it and do not bring it.
func definition(gk schema.GroupKind, versions []string, namespaced bool) *unstructured.Unstructured {
	crd := double.Definition{Group: gk.Group, Kind: gk.Kind, Versions: versions, Cluster: !namespaced}.Object()
	annotations := crd.GetAnnotations()
	annotations[madeHere] = "for stories that use the kind and do not bring it"
	crd.SetAnnotations(annotations)
	return crd
}

// madeHere marks definitions of the harness.
const madeHere = "e2e/foreign"

func newObject(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// clusterScoped asks the program what it knows of a kind.
func (l *lab) clusterScoped(gk schema.GroupKind, g *stage) bool {
	text, err := program(context.Background(), "", "knowledge", gk.String())
	if err == nil && strings.Contains(text, "scope:   cluster") {
		return true
	}
	if len(g.files["component/ladder.yaml"]) == 0 {
		return false
	}
	dir, err := os.MkdirTemp(l.dir, "ladder-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "ladder.yaml"), []byte(g.files["component/ladder.yaml"]), 0o644); err != nil {
		return false
	}
	text, err = program(context.Background(), "", "knowledge", "--dir", dir, gk.String())
	return err == nil && strings.Contains(text, "scope:   cluster")
}

// sync starts a sync and follows it to its end. A busy API server can overlook a kind that
// it has, which says nothing about the order: such a sync is started once more.
func (g *stage) sync(t *testing.T, hangTimeout time.Duration) argocd.Outcome {
	t.Helper()
	out := g.attempt(t, hangTimeout)
	if out.Result != argocd.Failed || g.app.Retry > 0 {
		return out
	}
	definitions, err := here.argo.Kube().Definitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out.Overlooked(definitions) {
		t.Logf("synced once more: %s", out.Errors)
		return g.attempt(t, hangTimeout)
	}
	return out
}

func (g *stage) attempt(t *testing.T, hangTimeout time.Duration) argocd.Outcome {
	t.Helper()
	ctx := t.Context()
	var err error
	if g.mark, err = here.cluster.Mark(); err != nil {
		t.Fatal(err)
	}
	if err := here.argo.Deploy(ctx, g.app); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	if err := here.argo.Sync(ctx, g.app); err != nil {
		t.Fatal(err)
	}
	out, err := here.argo.Follow(ctx, g.app.Name, since, argocd.Watch{HangTimeout: hangTimeout, Moving: g.waiting})
	if err != nil {
		t.Fatalf("%v\n%s", err, here.argo.Explain(out, g.waiting()))
	}
	return out
}

// syncGiving syncs, and creates what the story waits for and does not contain itself,
// such as a Secret that its users provide. It waits longer than sync does, because
// there are many CRDs.
func (g *stage) syncGiving(t *testing.T) (out argocd.Outcome, given []string) {
	t.Helper()
	since := time.Now()
	out = g.sync(t, shortHangTimeout)
	for time.Since(since) < longHangTimeout && (out.Result == argocd.Hangs || out.Result == argocd.Unhealthy) {
		for _, obj := range g.absent(t) {
			if !slices.Contains(given, nameOf(obj)) &&
				strings.Contains(g.waiting(), obj.GetKind()+" "+obj.GetNamespace()+"/"+obj.GetName()+" is missing") {
				if err := applySoon(t.Context(), obj); err != nil {
					t.Fatal(err)
				}
				given = append(given, nameOf(obj))
			}
		}
		var err error
		if out, err = here.argo.Follow(t.Context(), g.app.Name, since, argocd.Watch{HangTimeout: hangTimeout, Moving: g.waiting}); err != nil {
			t.Fatal(err)
		}
	}
	return out, given
}

var absence = regexp.MustCompile(`(Secret|ConfigMap) (\S+)/(\S+), which nothing in the component creates`)

// absent is what Pods need and nothing in the story creates, according to "cmp check".
func (g *stage) absent(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, gate := range check(t, g.namespace, g.objs).Gates {
		for _, hang := range gate.Hangs {
			for _, m := range absence.FindAllStringSubmatch(hang.Why, -1) {
				obj := newObject("v1", m[1], m[2], m[3])
				obj.SetAnnotations(map[string]string{"cluster-double/any-key": "given by the harness"})
				all = append(all, obj)
			}
		}
	}
	return all
}

// waiting is what the cluster double waits for, in the namespaces of the story
// and for cluster-scoped objects.
func (g *stage) waiting() string {
	return here.waiting(g.namespaces)
}

// cleanupContext is for what comes after a test, whose own context has ended.
func cleanupContext(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
}

// clean removes what the story left, starting with its Application, so that Argo CD no
// longer works on it.
func (g *stage) clean(t *testing.T) {
	ctx, cancel := cleanupContext(t)
	defer cancel()
	if t.Failed() && g.repo != nil {
		t.Logf("the repository of this case is %s", g.repo.Dir)
	}
	if err := here.argo.Abandon(ctx, g.name); err != nil {
		t.Error(err)
	}
	own := map[string]bool{}
	for _, obj := range slices.Concat(g.world, g.objs, g.definitions()) {
		own[nameOf(obj)] = true
	}
	mine := func(obj *unstructured.Unstructured) bool {
		tracked := obj.GetAnnotations()["argocd.argoproj.io/tracking-id"]
		gk := obj.GroupVersionKind().GroupKind()
		return own[nameOf(obj)] || g.installs(obj) || strings.HasPrefix(tracked, g.name+":") ||
			slices.Contains(g.namespaces, obj.GetNamespace()) ||
			gk == schema.GroupKind{Kind: "Namespace"} && slices.Contains(g.namespaces, obj.GetName())
	}
	if err := here.cluster.Clean(ctx, mine); err != nil {
		t.Error(err)
	}
}

// installs reports whether an object belongs to an operator of a package that the
// story installs.
func (g *stage) installs(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(g.story.scenario.Packages, func(p double.Package) bool { return p.Owns(obj) })
}

// claims are what a story must have to itself, since its objects have fixed
// names outside of its namespace, what it shares with others that mean the same
// by it, and whether it must be alone: its webhooks or APIs reach into
// everything.
func (g *stage) claims() (claims map[string]string, alone bool) {
	claims = map[string]string{}
	for _, crd := range g.foreign {
		gk, _ := definedBy(crd)
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		claims["kind "+gk.String()] = fmt.Sprint(versions)
		claims["group "+gk.Group] = "served by others"
	}
	for _, name := range g.namespaces {
		claims["Namespace "+name] = ""
	}
	for _, crd := range g.definitions() {
		gk, _ := definedBy(crd)
		claims["kind "+gk.String()] = ""
		claims["group "+gk.Group] = ""
	}
	for _, obj := range slices.Concat(g.world, g.objs) {
		gk := obj.GroupVersionKind().GroupKind()
		claims[nameOf(obj)] = ""
		// A catalog for all namespaces disturbs all Subscriptions until it is ready.
		meaning, claimed := claims["catalogs"]
		switch own := claimed && meaning == ""; {
		case gk.String() == "CatalogSource.operators.coreos.com" && slices.Contains(everywhere, obj.GetNamespace()):
			claims["catalogs"] = ""
		case gk.String() == "Subscription.operators.coreos.com" && !own:
			claims["catalogs"] = "used"
		}
		alone = alone || gk.Group == "apiregistration.k8s.io" || gk.Group == "admissionregistration.k8s.io" && reachesOut(obj)
	}
	return claims, alone
}

// definitions are those that the story brings.
func (g *stage) definitions() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, obj := range slices.Concat(g.world, g.objs) {
		if isDefinition(obj) {
			all = append(all, obj)
		}
	}
	if g.brings != nil {
		all = append(all, g.brings)
	}
	for _, p := range g.story.scenario.Packages {
		all = append(all, objectsOf(p.Defines)...)
	}
	for _, r := range g.story.scenario.Records {
		all = append(all, objectsOf(r.Defines)...)
	}
	return all
}

func objectsOf(definitions []double.Definition) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, d := range definitions {
		all = append(all, d.Object())
	}
	return all
}

// removeForeign removes the definitions that the harness made for other stories
// of kinds that this one brings. They stay otherwise, since another story may
// share them.
func (g *stage) removeForeign(ctx context.Context) error {
	brought := map[string]bool{}
	for _, crd := range g.definitions() {
		gk, _ := definedBy(crd)
		brought[gk.String()] = true
	}
	if len(brought) == 0 {
		return nil
	}
	return here.cluster.Clean(ctx, func(obj *unstructured.Unstructured) bool {
		gk, _ := definedBy(obj)
		return isDefinition(obj) && obj.GetAnnotations()[madeHere] != "" && brought[gk.String()]
	})
}

// reachesOut reports whether a webhook configuration or admission policy takes
// part in the admission of objects that other stories may have, too.
func reachesOut(config *unstructured.Unstructured) bool {
	webhooks, _, _ := unstructured.NestedSlice(config.Object, "webhooks")
	for _, w := range webhooks {
		rules, _, _ := unstructured.NestedSlice(w.(map[string]any), "rules")
		for _, r := range rules {
			groups, _, _ := unstructured.NestedStringSlice(r.(map[string]any), "apiGroups")
			for _, group := range groups {
				if group == "*" || here.nativeGroups()[group] {
					return true
				}
			}
		}
	}
	return len(webhooks) == 0
}
