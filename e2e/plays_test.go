package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/cluster"
	"github.com/ladder-cmp/ladder/e2e/double"
)

// play is an Application that is synced in some orders, once or several times. Its folder
// has play.yaml, what is in the cluster before (world.yaml), the first release in 1.yaml,
// and in 2.yaml and so on what each next release changes or adds.
type play struct {
	name string
	// releases and world are those manifests.
	releases []string
	world    string

	// Why is what it shows.
	Why string `json:"why"`
	// Scenario is what no manifest shows.
	Scenario double.Scenario `json:"scenario"`
	// Orders are those in which it is synced, by name.
	Orders map[string]performance `json:"orders"`
}

// performance is an order of a play, and how each of its syncs ends.
type performance struct {
	// Parameters are those of the plugin, which is not there if ByHand is set: the waves that
	// the manifests have by hand, and those for Kind/name, if any.
	Parameters map[string]string `json:"parameters"`
	ByHand     map[string]string `json:"byHand"`
	// Syncs are one for each release. If there are more of them, they sync the last one again.
	Syncs []act `json:"syncs"`
	// Lost are objects that somebody deletes after the last sync, and Healed those that
	// Argo CD then makes again by itself.
	Lost   []string `json:"lost"`
	Healed []string `json:"healed"`
	// Deletion is how the deletion of the Application ends, if it is deleted.
	Deletion *act `json:"deletion"`
}

// act is one sync, or the deletion, and what has to come of it.
type act struct {
	// Scenario is what no manifest shows from then on.
	Scenario double.Scenario `json:"scenario"`
	// Result is how it ends. A deletion is synced if all is gone.
	Result argocd.Result `json:"result"`
	// Order has lists of events that come one after the other: that Argo CD creates an object,
	// applies or deletes it, or that it becomes healthy, such as "apply Job/migrate".
	Order [][]string `json:"order"`
	// Never are events that do not happen.
	Never []string `json:"never"`
}

// readPlays reads the plays of a folder.
func readPlays(t *testing.T, suite string) []play {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", suite, "*", "play.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no plays: %v", err)
	}
	var all []play
	for _, path := range paths {
		dir := filepath.Dir(path)
		p := play{name: filepath.Base(dir)}
		readYAML(t, path, &p, yaml.UnmarshalStrict)
		files, err := argocd.Files(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		p.world = files["world.yaml"]
		for files[fmt.Sprintf("%d.yaml", len(p.releases)+1)] != "" {
			p.releases = append(p.releases, files[fmt.Sprintf("%d.yaml", len(p.releases)+1)])
		}
		if p.Why == "" || len(p.releases) == 0 || len(p.Orders) == 0 {
			t.Fatalf("%s: it has no why, no 1.yaml or no orders", path)
		}
		all = append(all, p)
	}
	return all
}

// TestLaws plays what docs/waves.md promises of the first sync and of later ones: with each
// story in Ladder's order, and in one that breaks the promise.
func TestLaws(t *testing.T) {
	t.Parallel()
	performAll(t, "laws")
}

// TestHookFacts plays what Argo CD does with hooks, on which the rules of Ladder rest.
func TestHookFacts(t *testing.T) {
	t.Parallel()
	performAll(t, "hooks")
}

func performAll(t *testing.T, suite string) {
	for _, p := range readPlays(t, suite) {
		for order, how := range p.Orders {
			t.Run(p.name+"/"+order, func(t *testing.T) {
				t.Parallel()
				perform(t, suite, p, order, how)
			})
		}
	}
}

func perform(t *testing.T, suite string, p play, order string, how performance) {
	name := p.name + "-" + strings.ReplaceAll(order, " ", "-")
	releases := p.texts(t, name, how)
	s := story{name: name, namespace: name, files: releases[0], path: "component", plugin: how.ByHand == nil, scenario: p.Scenario}
	s.source.Parameters = how.Parameters
	var err error
	if s.world, err = objects(strings.ReplaceAll(p.world, "NAMESPACE", name)); err != nil {
		t.Fatal(err)
	}
	g := raise(t, s)
	var cast []*unstructured.Unstructured
	for i, act := range how.Syncs {
		if i > 0 {
			if err := here.argo.Terminate(t.Context(), g.name); err != nil {
				t.Fatal(err)
			}
			g.becomes(t, releases[min(i, len(releases)-1)])
		}
		cast = laidOver(cast, g.objs) // what this release does not have may still be deleted
		label := fmt.Sprintf("%s, sync %d", name, i+1)
		g.plays(t, act, cast, func() {
			out := g.sync(t, act.patience())
			results.add(row{suite, label, waves(g.objs), out.Duration, string(out.Result)})
			if out.Result != act.Result {
				t.Errorf("%s: %s; want %s\n%s", label, out.Result, act.Result, here.argo.Explain(out, g.waiting()))
			}
		})
	}
	if len(how.Lost) > 0 {
		g.loses(t, how, cast)
	}
	if how.Deletion != nil {
		g.plays(t, *how.Deletion, cast, func() {
			if gone := g.deleted(t, how.Deletion.patience()); gone != (how.Deletion.Result == argocd.Synced) {
				t.Errorf("the Application is deleted: %v\n%s", gone, g.waiting())
			}
		})
	}
}

// patience is short where nothing is to be waited for.
func (a act) patience() time.Duration {
	if a.Result == argocd.Synced {
		return hangTimeout
	}
	return shortHangTimeout
}

// texts are the files of each release.
func (p play) texts(t *testing.T, namespace string, how performance) []map[string]string {
	t.Helper()
	var all []*unstructured.Unstructured
	var releases []map[string]string
	for _, text := range p.releases {
		changed, err := objects(strings.ReplaceAll(text, "NAMESPACE", namespace))
		if err != nil {
			t.Fatal(err)
		}
		all = laidOver(all, changed)
		for _, obj := range all {
			if wave, ok := how.ByHand[shortName(obj)]; ok {
				annotate(obj, syncWave, wave)
			}
		}
		if text, err = stream(all); err != nil {
			t.Fatal(err)
		}
		releases = append(releases, map[string]string{"component/all.yaml": text})
	}
	return releases
}

func annotate(obj *unstructured.Unstructured, key, value string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
}

// laidOver replaces objects by those of the same name, and adds the others.
func laidOver(all, changed []*unstructured.Unstructured) []*unstructured.Unstructured {
	at := map[string]int{}
	for i, obj := range all {
		at[nameOf(obj)] = i
	}
	for _, obj := range changed {
		if i, there := at[nameOf(obj)]; there {
			all[i] = obj
		} else {
			all = append(all, obj)
		}
	}
	return all
}

// shortName is how plays name an object.
func shortName(obj *unstructured.Unstructured) string { return obj.GetKind() + "/" + obj.GetName() }

// plays does something, and checks what happened meanwhile.
func (g *stage) plays(t *testing.T, a act, cast []*unstructured.Unstructured, do func()) {
	t.Helper()
	t.Cleanup(here.double.Play(g.inPlace(a.Scenario)))
	do()
	none(t, a.faults(g.happened(t, cast)))
}

// faults are what an act wants of events and did not get.
func (a act) faults(happened map[string]time.Time) (faults []string) {
	for _, order := range a.Order {
		for i, event := range order {
			at, did := happened[event]
			if !did {
				faults = append(faults, event+": this did not happen")
			} else if i > 0 && at.Before(happened[order[i-1]]) {
				faults = append(faults, fmt.Sprintf("%s, at %s, came before %s, at %s", event, clock(at), order[i-1], clock(happened[order[i-1]])))
			}
		}
	}
	for _, event := range a.Never {
		if at, did := happened[event]; did {
			faults = append(faults, fmt.Sprintf("%s: this happened at %s", event, clock(at)))
		}
	}
	return faults
}

// happened reads from the audit log what happened since the mark: when Argo CD first created,
// applied or deleted an object, and when the object became healthy.
func (g *stage) happened(t *testing.T, cast []*unstructured.Unstructured) map[string]time.Time {
	t.Helper()
	events, err := here.cluster.Events(
		cluster.Filter{After: g.mark, Users: []string{cluster.ArgoCD}, Verbs: []string{"create", "update", "patch", "delete"}})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, obj := range cast {
		if key, err := here.argo.Kube().Key(obj); err == nil { // a kind that nobody serves has no events
			names[key] = shortName(obj)
		}
	}
	happened := map[string]time.Time{}
	first := func(event string, at time.Time) {
		if _, did := happened[event]; !did {
			happened[event] = at
		}
	}
	for _, e := range events {
		name, ours := names[strings.Join([]string{e.Group, e.Resource, e.Namespace, e.Name}, "/")]
		switch {
		case !ours:
		case e.Verb == "delete":
			first("delete "+name, e.Time)
		case e.Verb == "create":
			first("create "+name, e.Time)
			first("apply "+name, e.Time)
		default:
			first("apply "+name, e.Time)
		}
	}
	settled := g.settled(t)
	for _, obj := range cast {
		if at, did := settled[nameOf(obj)]; did {
			happened["healthy "+shortName(obj)] = at
		}
	}
	return happened
}

// loses deletes objects, and checks which ones Argo CD makes again when it heals by itself.
func (g *stage) loses(t *testing.T, how performance, cast []*unstructured.Unstructured) {
	t.Helper()
	g.app.SelfHeal = true
	if err := here.argo.Deploy(t.Context(), g.app); err != nil {
		t.Fatal(err)
	}
	byName := map[string]*unstructured.Unstructured{}
	for _, obj := range cast {
		byName[shortName(obj)] = obj
	}
	lost := map[string]types.UID{}
	for _, name := range how.Lost {
		lost[name] = lose(t, byName[name])
	}
	isGone := func(name string) bool { return !isBack(t, byName[name], lost[name]) }
	for end := time.Now().Add(hangTimeout); time.Now().Before(end) && slices.ContainsFunc(how.Healed, isGone); {
		time.Sleep(200 * time.Millisecond)
	}
	if status := g.compared(t); status.Sync.Status != "Synced" {
		t.Errorf("afterwards:\n%s", status.Describe())
	}
	for _, name := range how.Lost {
		if heals := slices.Contains(how.Healed, name); isGone(name) == heals {
			t.Errorf("Argo CD makes %s again: %v", name, !heals)
		}
	}
}

// lose deletes an object as somebody does in the cluster, and returns its UID.
func lose(t *testing.T, obj *unstructured.Unstructured) types.UID {
	t.Helper()
	kube, gvk, in, name := here.argo.Kube(), obj.GroupVersionKind(), obj.GetNamespace(), obj.GetName()
	live, err := kube.Get(t.Context(), gvk, in, name)
	if err == nil { // the finalizer of a hook would keep it until the next sync
		err = kube.Merge(t.Context(), gvk, in, name, `{"metadata":{"finalizers":null}}`)
	}
	if err == nil {
		err = kube.Delete(t.Context(), gvk, in, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return live.GetUID()
}

// isBack reports whether an object exists again that was deleted.
func isBack(t *testing.T, obj *unstructured.Unstructured, deleted types.UID) bool {
	t.Helper()
	live, err := here.argo.Kube().Get(t.Context(), obj.GroupVersionKind(), obj.GetNamespace(), obj.GetName())
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil && live.GetUID() != deleted
}

// TestFaultsOfAnActAreSeen checks that what an act wants is missed.
func TestFaultsOfAnActAreSeen(t *testing.T) {
	now := time.Now()
	happened := map[string]time.Time{"create Job/a": now, "healthy Job/a": now.Add(time.Second),
		"apply Deployment/b": now.Add(2 * time.Second)}
	for want, a := range map[string]act{
		"":                  {Order: [][]string{{"create Job/a", "healthy Job/a", "apply Deployment/b"}}, Never: []string{"delete Job/a"}},
		"came before":       {Order: [][]string{{"apply Deployment/b", "healthy Job/a"}}},
		"did not happen":    {Order: [][]string{{"delete Job/a"}}},
		"this happened at ": {Never: []string{"apply Deployment/b"}},
	} {
		faults := a.faults(happened)
		if (len(faults) > 0) != (want != "") || want != "" && !strings.Contains(faults[0], want) {
			t.Errorf("%+v: %v; want %q", a, faults, want)
		}
	}
}
