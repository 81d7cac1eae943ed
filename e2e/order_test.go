package e2e_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ladder-cmp/ladder/e2e/cluster"
)

// applied is when an object was first applied in a sync.
type applied struct {
	obj  *unstructured.Unstructured
	name string // as reports of the program name it
	at   time.Time
}

// moment is the phase and wave of an object.
type moment struct{ phase, wave int }

func (m moment) compare(o moment) int {
	return cmp.Or(cmp.Compare(m.phase, o.phase), cmp.Compare(m.wave, o.wave))
}

func momentOf(obj *unstructured.Unstructured) moment { return moment{phaseOf(obj), waveOf(obj)} }

// applies reads from the audit log when Argo CD first applied each object of a
// story in its last sync. Every object that a sync applies must be there: all
// but those that have not changed, for which there is nothing to send.
func (g *stage) applies(t *testing.T) []applied {
	t.Helper()
	events, err := here.cluster.Applied(g.mark, cluster.ArgoCD)
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]time.Time{}
	for _, e := range events {
		key := strings.Join([]string{e.Group, e.Resource, e.Namespace, e.Name}, "/")
		if at, there := first[key]; !there || e.Time.Before(at) {
			first[key] = e.Time
		}
	}
	var all []applied
	for _, obj := range g.objs {
		if phaseOf(obj) == notApplied || g.unchanged[nameOf(obj)] {
			continue
		}
		key, err := here.argo.Kube().Key(obj)
		if err != nil {
			t.Errorf("%s: %v", nameOf(obj), err)
			continue
		}
		at, there := first[key]
		if !there {
			t.Errorf("%s was never applied", nameOf(obj))
			continue
		}
		all = append(all, applied{obj, nameOf(obj), at})
	}
	slices.SortStableFunc(all, func(a, b applied) int { return a.at.Compare(b.at) })
	return all
}

func nameOf(obj *unstructured.Unstructured) string {
	return identity(obj.GroupVersionKind().GroupKind(), obj.GetNamespace(), obj.GetName())
}

// outOfOrder returns a line for each pair of objects of which the one in the later wave
// was applied first. Argo CD itself applies a Namespace or a CRD earlier if an object
// that depends on it is in an earlier wave.
func outOfOrder(all []applied) (faults []string) {
	for i, a := range all {
		for _, b := range all[i+1:] {
			if momentOf(b.obj).compare(momentOf(a.obj)) < 0 && !broughtForward(a.obj) {
				faults = append(faults, fmt.Sprintf("%s (wave %d) was applied at %s, before %s (wave %d) at %s",
					a.name, waveOf(a.obj), clock(a.at), b.name, waveOf(b.obj), clock(b.at)))
			}
		}
	}
	return faults
}

func broughtForward(obj *unstructured.Unstructured) bool {
	return isDefinition(obj) || obj.GetKind() == "Namespace"
}

// gate is what "cmp check" reports about a wave.
type gate struct {
	Phase   string
	Wave    int
	Awaited bool
	GatedBy []struct{ Object, Kind string }
	Hangs   []struct{ Why string }
}

// report is what "cmp check" reports about an order.
type report struct {
	Findings []struct{ Severity, Rule, Object, Message string }
	Gates    []gate
}

// check runs "cmp check" on manifests.
func check(t *testing.T, namespace string, objs []*unstructured.Unstructured) report {
	t.Helper()
	text, err := stream(objs)
	if err != nil {
		t.Fatal(err)
	}
	out, err := program(t.Context(), text, "check", "-", "-o", "json", "--namespace", namespace)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("cmp check: %v: %s", err, out)
	}
	return r
}

func (r report) errors() []string {
	var all []string
	for _, f := range r.Findings {
		if f.Severity == "error" {
			all = append(all, fmt.Sprintf("%s: %s %s", f.Rule, f.Object, f.Message))
		}
	}
	return all
}

var phases = map[string]int{"PreSync": -1, "Sync": 0, "PostSync": 1}

// gated checks that objects of later waves were applied only after every object
// that gates them in an earlier wave had become healthy, and returns the number of
// gates. An object became healthy, according to the audit log, when a client other
// than Argo CD last changed its status.
func (g *stage) gated(t *testing.T, all []applied) int {
	t.Helper()
	found := check(t, g.namespace, g.objs)
	if errors := found.errors(); len(errors) > 0 {
		t.Errorf("cmp check says that the sync stops, but it did not: %s", strings.Join(errors, "; "))
	}
	gates, faults := early(found.Gates, g.settled(t), all)
	none(t, faults)
	return gates
}

// early counts the objects that gate others and have a status, and returns a
// line for each object that was applied before one that gates it was healthy.
func early(gates []gate, healthy map[string]time.Time, all []applied) (count int, faults []string) {
	for _, gate := range gates {
		if !gate.Awaited {
			continue
		}
		at := moment{phases[gate.Phase], gate.Wave}
		for _, by := range gate.GatedBy {
			_, name, _ := strings.Cut(by.Object, " ")
			who := by.Kind + " " + name
			since, known := healthy[who]
			if !known {
				continue // it is healthy without a status
			}
			count++
			for _, a := range all {
				if momentOf(a.obj).compare(at) > 0 && a.at.Before(since) && !broughtForward(a.obj) {
					faults = append(faults, fmt.Sprintf("%s (wave %d) was applied at %s, but %s, which gates wave %d, became healthy at %s",
						a.name, waveOf(a.obj), clock(a.at), who, gate.Wave, clock(since)))
				}
			}
		}
	}
	return count, faults
}

// settled reads when the status of each object of a story last changed.
func (g *stage) settled(t *testing.T) map[string]time.Time {
	t.Helper()
	events, err := here.cluster.Events(cluster.Filter{After: g.mark, Subresource: true, Verbs: []string{"create", "update", "patch"}})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, obj := range g.objs {
		if key, err := here.argo.Kube().Key(obj); err == nil {
			names[key] = nameOf(obj)
		}
	}
	since := map[string]time.Time{}
	last := map[string]string{}
	for _, e := range events {
		name, ours := names[strings.Join([]string{e.Group, e.Resource, e.Namespace, e.Name}, "/")]
		if !ours || e.User == cluster.ArgoCD || e.Subresource != "status" {
			continue
		}
		var body struct{ Status json.RawMessage }
		_ = json.Unmarshal(e.Body, &body) // of definitions there is none
		if status := string(body.Status); status != last[name] || status == "" {
			since[name], last[name] = e.Time, status
		}
	}
	return since
}

func clock(t time.Time) string { return t.Format("15:04:05.000") }

// TestFaultsOfAnOrderAreSeen checks that wrong orders in the audit log are detected.
func TestFaultsOfAnOrderAreSeen(t *testing.T) {
	start := time.Now()
	after := func(seconds int, kind, name, wave string) applied {
		obj := newObject("v1", kind, "shop", name)
		obj.SetAnnotations(map[string]string{syncWave: wave})
		return applied{obj, nameOf(obj), start.Add(time.Duration(seconds) * time.Second)}
	}
	all := []applied{after(0, "Secret", "a", "30"), after(2, "Pod", "b", "50"), after(4, "Service", "c", "60")}
	if faults := outOfOrder(all); len(faults) > 0 {
		t.Errorf("an order that is right: %v", faults)
	}
	if faults := outOfOrder([]applied{all[1], all[0], all[2]}); len(faults) != 1 || !strings.HasPrefix(faults[0], "Pod shop/b (wave 50)") {
		t.Errorf("a Pod before its Secret: %v", faults)
	}
	if faults := notReversed(all); len(faults) != 3 {
		t.Errorf("removed in the order of the waves: %v", faults)
	}
	gates := []gate{{Phase: "Sync", Wave: 50, Awaited: true}}
	gates[0].GatedBy = append(gates[0].GatedBy, struct{ Object, Kind string }{"Pod shop/b", "Pod"})
	for seconds, want := range map[int]int{3: 0, 5: 1} {
		healthy := map[string]time.Time{"Pod shop/b": start.Add(time.Duration(seconds) * time.Second)}
		if count, faults := early(gates, healthy, all); count != 1 || len(faults) != want {
			t.Errorf("a gate that opens after %d seconds: %d gates, %v", seconds, count, faults)
		}
	}
}
