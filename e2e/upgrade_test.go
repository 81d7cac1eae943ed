package e2e_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/cluster"
)

// TestUpgrade syncs a second release that adds, changes and removes objects, and
// then deletes the Application. What is removed goes in reverse waves, and
// nothing is out of sync afterwards.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]string{"prune": nil, "prune-last": {"PruneLast=true"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := component("upgrade-"+name, filepath.Join("testdata", "upgrades", "press", "1"))
			if err != nil {
				t.Fatal(err)
			}
			g := raise(t, s)
			g.app.SyncOptions, g.app.Prune = options, true
			syncs(t, g, "upgrade, first release", name)
			first := g.objs
			g.release(t, filepath.Join("testdata", "upgrades", "press", "2"))
			syncs(t, g, "upgrade, second release", name)
			removed := g.removals(t, first)
			if want := without(first, g.objs); !slices.Equal(names(removed), want) {
				t.Errorf("the sync removed %v, want %v", names(removed), want)
			}
			if len(options) == 0 {
				none(t, notReversed(removed))
			} else {
				// Argo CD then removes all at once, whatever their waves.
				last := g.applies(t)
				for _, r := range removed {
					if r.at.Before(last[len(last)-1].at) {
						t.Errorf("%s was removed at %s, before the last apply, although it is to be pruned last", r.name, clock(r.at))
					}
				}
			}
			g.deletes(t)
		})
	}
}

// TestDeletionNeedsTheOrder deletes an operator with a resource that it must
// still let go of: in Ladder's waves the resource goes first. In waves that have
// the operator above its resource the deletion hangs.
func TestDeletionNeedsTheOrder(t *testing.T) {
	t.Parallel()
	t.Run("ladder", func(t *testing.T) {
		t.Parallel()
		g := raise(t, load(t, "delete", "garden-operator", components(t)["garden-operator"]))
		syncs(t, g, "deletion", "garden-operator")
		g.deletes(t)
	})
	t.Run("upside down", func(t *testing.T) {
		t.Parallel()
		s := load(t, "upside-down", "garden-operator", components(t)["garden-operator"])
		objs, err := s.rendered(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range objs {
			wave := "2"
			if obj.GetKind() == "Garden" {
				wave = "1"
			}
			obj.SetAnnotations(map[string]string{syncWave: wave})
		}
		text, err := stream(objs)
		if err != nil {
			t.Fatal(err)
		}
		upside := manifests(s.name, s.namespace, text)
		upside.scenario = s.scenario
		g := raise(t, upside)
		if out := g.sync(t, hangTimeout); out.Result != argocd.Synced {
			t.Fatalf("the sync: %s\n%s", out.Result, here.argo.Explain(out, g.waiting()))
		}
		start := time.Now()
		if g.deleted(t, shortHangTimeout) {
			t.Error("the Application could be deleted, although its operator goes first")
		}
		results.add(row{"deletion", "garden-operator, upside down", 2, time.Since(start), "hangs, as it must"})
	})
}

// release commits another folder as the story's component.
func (g *stage) release(t *testing.T, dir string) {
	t.Helper()
	s, err := component(g.name, dir)
	if err != nil {
		t.Fatal(err)
	}
	g.becomes(t, s.files)
}

// becomes commits other files as the next release of the story.
func (g *stage) becomes(t *testing.T, files map[string]string) {
	t.Helper()
	g.commit(t, files)
	g.files = files
	before := g.objs
	var err error
	if g.objs, err = g.rendered(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.place()
	g.unchanged = map[string]bool{}
	for _, obj := range g.objs {
		g.unchanged[nameOf(obj)] = slices.ContainsFunc(before, func(old *unstructured.Unstructured) bool {
			return reflect.DeepEqual(old.Object, obj.Object)
		})
	}
}

// deletes deletes the Application and expects what it deployed to go wave by
// wave, the last first. Definitions stay.
func (g *stage) deletes(t *testing.T) {
	t.Helper()
	start := time.Now()
	if !g.deleted(t, hangTimeout) {
		status, _ := here.argo.Status(t.Context(), g.name)
		t.Errorf("the Application is not deleted\n%s\n%s", status.Describe(), g.waiting())
		return
	}
	removed := g.removals(t, g.objs)
	var want []string
	for _, obj := range g.objs {
		if !isDefinition(obj) && !isHook(obj) {
			want = append(want, nameOf(obj))
		}
	}
	slices.Sort(want)
	if !slices.Equal(names(removed), want) {
		t.Errorf("the deletion removed %v, want %v", names(removed), want)
	}
	none(t, notReversed(removed))
	results.add(row{"deletion", g.name, waves(g.objs), time.Since(start), "deleted in reverse waves"})
}

// deleted deletes the Application and waits until it is gone, or until nothing
// has been removed for as long as patience.
func (g *stage) deleted(t *testing.T, hangTimeout time.Duration) bool {
	t.Helper()
	var err error
	if g.mark, err = here.cluster.Mark(); err != nil {
		t.Fatal(err)
	}
	if err := here.argo.Delete(t.Context(), g.name); err != nil {
		t.Fatal(err)
	}
	count, changed := 0, time.Now()
	for time.Since(changed) < hangTimeout {
		gone, err := here.argo.Gone(t.Context(), g.name)
		if err != nil {
			t.Fatal(err)
		}
		if gone {
			return true
		}
		if now := len(g.removals(t, g.objs)); now != count {
			count, changed = now, time.Now()
		}
		time.Sleep(200 * time.Millisecond)
	}
	return false
}

// removals reads from the audit log when Argo CD first asked for the deletion of
// each of some objects, in order.
func (g *stage) removals(t *testing.T, objs []*unstructured.Unstructured) []applied {
	t.Helper()
	events, err := here.cluster.Events(cluster.Filter{After: g.mark, Users: []string{cluster.ArgoCD}, Verbs: []string{"delete"}})
	if err != nil {
		t.Fatal(err)
	}
	byKey := map[string]*unstructured.Unstructured{}
	for _, obj := range objs {
		if key, err := here.argo.Kube().Key(obj); err == nil {
			byKey[key] = obj
		}
	}
	var all []applied
	for _, e := range events {
		key := strings.Join([]string{e.Group, e.Resource, e.Namespace, e.Name}, "/")
		if obj, ours := byKey[key]; ours {
			all = append(all, applied{obj, nameOf(obj), e.Time})
			delete(byKey, key)
		}
	}
	return all
}

// notReversed returns a line for each two objects that were not removed wave by
// wave, the last first.
func notReversed(removed []applied) (faults []string) {
	for i, a := range removed {
		for _, b := range removed[i+1:] {
			if waveOf(a.obj) < waveOf(b.obj) {
				faults = append(faults, fmt.Sprintf("%s (wave %d) was removed before %s (wave %d)", a.name, waveOf(a.obj), b.name, waveOf(b.obj)))
			}
		}
	}
	return faults
}

// names are those of removed objects, sorted.
func names(all []applied) []string {
	var names []string
	for _, a := range all {
		names = append(names, a.name)
	}
	slices.Sort(names)
	return names
}

// without names the objects that are not among others, sorted.
func without(objs, others []*unstructured.Unstructured) []string {
	left := map[string]bool{}
	for _, obj := range objs {
		left[nameOf(obj)] = true
	}
	for _, obj := range others {
		delete(left, nameOf(obj))
	}
	return slices.Sorted(maps.Keys(left))
}
