package wave_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// What hooks: order does wrong on generated applications whose Jobs are Helm hooks, of all
// applications and of the migrations that the manifests show. These figures may only shrink.
const (
	maxHookHangs  = 0.0004
	maxHookMissed = 0.0064
)

var hookedApplications = flag.Uint64("hooked-applications", ofWhole(600), "generated applications of TestGeneratedHooks")

// What check misses of the applications that hang as their charts have them, where the manifests
// show a need that the phases contradict, and its false alarms of those that do not hang.
const (
	maxHookUnsaid = 0.0120
	maxHookFalse  = 0
)

// TestGeneratedHookFindings leaves the Helm hooks of generated applications where they are: the
// computed order hangs only where Argo CD's own does, and check says which do.
func TestGeneratedHookFindings(t *testing.T) {
	hang, hidden, unsaid, fine, alarms := 0, 0, 0, 0, 0
	for number := range *hookedApplications {
		app := generate(*applicationSeed, number)
		objs, err := hooked(app, rand.New(rand.NewPCG(*applicationSeed, number)))
		if err != nil {
			t.Fatal(err)
		}
		stuck, said := hangsWith(t, app, objs), saidOfPhases(t, objs)
		isShown, isMissed := contradicted(app, positions(objs))
		switch {
		case stuck == "":
			fine++
			if said != "" && !isMissed {
				if alarms++; alarms <= maxCases {
					t.Logf("application %d does not hang, although %s", number, said)
				}
			}
		case said == "" && !isShown:
			hang, hidden = hang+1, hidden+1
		case said == "":
			hang++
			if unsaid++; unsaid <= maxCases {
				t.Logf("application %d hangs at %s, and check does not say it", number, stuck)
			}
		default:
			hang++
		}
		if stuck == "" {
			plan, err := assign(objs)
			if err != nil {
				t.Fatal(err)
			}
			ordered, err := plan.Annotate()
			if err != nil {
				t.Fatal(err)
			}
			if stuck := hangsWith(t, app, ordered); stuck != "" {
				t.Errorf("application %d hangs at %s only in the computed order", number, stuck)
			}
		}
	}
	t.Logf("%d applications: %d hang as the chart has them, of which check does not say %d, and %d with needs that nothing shows; "+
		"%d false alarms about %d others",
		*hookedApplications, hang, unsaid, hidden, alarms, fine)
	if float64(unsaid) > maxHookUnsaid*float64(hang) || float64(alarms) > maxHookFalse*float64(fine) {
		t.Error("that is more than it may be")
	}
}

// saidOfPhases returns a warning or an error of check that an object needs a later one; empty if
// there is none.
func saidOfPhases(t *testing.T, objs []object.Object) string {
	plan, err := assign(objs, "waves=off")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range plan.Check(knowledge.Default()) {
		if f.Severity != finding.Note && (f.Rule == wave.Late || f.Rule == "other-phase") {
			return f.Object + ": " + f.Message
		}
	}
	return ""
}

// contradicted reports whether the manifests show a need that some positions contradict, and
// whether a migration comes after its application, which starts with the old schema then.
func contradicted(app application, at map[string]int) (isShown, isMissed bool) {
	for _, n := range app.Needs {
		isShown = isShown || n.Shown && at[n.To] > at[n.From]
	}
	for _, m := range app.Migrations {
		isMissed = isMissed || at[m.Job] >= at[m.Application]
	}
	return isShown, isMissed
}

// TestGeneratedHooks makes Helm hooks of the Jobs of generated applications, as the authors
// of charts do, and takes them into the order: the first sync must not hang, and what is
// migrated comes after its migration.
func TestGeneratedHooks(t *testing.T) {
	hangs, own, missed, shown := 0, 0, 0, 0
	for number := range *hookedApplications {
		app := generate(*applicationSeed, number)
		objs, err := hooked(app, rand.New(rand.NewPCG(*applicationSeed, number)))
		if err != nil {
			t.Fatal(err)
		}
		if stuck := hangsWith(t, app, objs); stuck != "" {
			own++
		}
		plan, err := assign(objs, "hooks=order")
		if err != nil {
			t.Fatalf("application %d: %v", number, finding.Of(err))
		}
		ordered, err := plan.Annotate()
		if err != nil {
			t.Fatal(err)
		}
		if stuck := hangsWith(t, app, ordered); stuck != "" {
			if hangs++; hangs <= maxCases {
				t.Logf("application %d hangs at %s\n%s", number, stuck, describeHooks(t, objs, []string{"hooks=order"}))
			}
		}
		at := positions(ordered)
		for _, m := range app.Migrations {
			if m.Shown {
				shown++
				if at[m.Job] >= at[m.Application] {
					if missed++; missed <= maxCases {
						t.Logf("application %d misses %s before %s", number, m.Job, m.Application)
					}
				}
			}
		}
	}
	t.Logf("%d applications: %d hang as the chart has them, %d with hooks: order; %d of %d migrations missed",
		*hookedApplications, own, hangs, missed, shown)
	if float64(hangs) > maxHookHangs*float64(*hookedApplications) || float64(missed) > maxHookMissed*float64(shown) {
		t.Error("that is more than it may be")
	}
}

// hooked returns the objects of an application with Helm hooks for Jobs. Those that need a
// program of the chart run after it, or at upgrades; the others may run before it, and so
// may those that need a store, as in charts whose authors install the store elsewhere. A Job
// that needs another one has a higher weight.
func hooked(app application, rng *rand.Rand) ([]object.Object, error) {
	objs, err := object.Parse("application.yaml", 1, app.Text)
	if err != nil {
		return nil, err
	}
	after, before := []string{"post-install", "post-install,post-upgrade", "post-upgrade, post-install"},
		[]string{"pre-install", "pre-install,pre-upgrade"}
	for i, o := range objs {
		if o.ID.Kind != "Job" || o.IsHook() {
			continue
		}
		job := "Job/" + o.ID.Name
		events := append([]string{"post-install,pre-upgrade"}, after...)
		switch needed := needsOf(app, job); {
		case needed[jobNeedsService]:
		case needed[jobNeedsStore]:
			events = append(events, before...)
			events = append(events, "pre-upgrade")
		default:
			events = append(events, before...)
		}
		if needsOf(app, job)[jobNeedsJob] { // its event is that of the other one, too
			events = after
		}
		set := []object.Annotation{{Key: object.HelmHook, Value: events[rng.IntN(len(events))]}}
		if weight := depth(app, job) - 2; rng.IntN(3) > 0 || weight != 0 {
			set = append(set, object.Annotation{Key: object.HelmWeight, Value: fmt.Sprint(weight)})
		}
		policy := []string{"", "before-hook-creation", "before-hook-creation,hook-succeeded", "hook-succeeded", "hook-failed"}[rng.IntN(5)]
		if policy != "" {
			set = append(set, object.Annotation{Key: object.HelmHookDelete, Value: policy})
		}
		if objs[i], err = o.AnnotateAll(set); err != nil {
			return nil, err
		}
	}
	return objs, nil
}

// needsOf returns the kinds of needs of an object.
func needsOf(app application, name string) map[relation]bool {
	all := map[relation]bool{}
	for _, n := range app.Needs {
		if n.From == name {
			all[n.Relation] = true
		}
	}
	return all
}

// depth returns how many Jobs are on the longest way of needs from an object. Helm runs Jobs one
// after the other, so authors of charts give the first one the lowest weight.
func depth(app application, name string) int {
	longest := 0
	for _, n := range app.Needs {
		if n.From == name && n.To != name && n.Relation != claimNeedsPods {
			longest = max(longest, depth(app, n.To)+one(strings.HasPrefix(n.To, "Job/")))
		}
	}
	return longest
}

// phaseStep is farther than any wave.
const phaseStep = 1_000_000

// positions returns the position of each object in a sync: its phase and wave as one number.
func positions(objs []object.Object) map[string]int {
	at := map[string]int{}
	for _, o := range objs {
		if phases := o.Phases(); len(phases) > 0 {
			wave, _ := o.Wave()
			at[o.ID.Kind+"/"+o.ID.Name] = phases[0].Order()*phaseStep + wave
		}
	}
	return at
}

// hangsWith simulates all phases of the first sync, and returns the object at which it hangs.
// What is never healthy by itself is left out: it does not hang because of hooks.
func hangsWith(t *testing.T, app application, objs []object.Object) string {
	t.Helper()
	s, index, base := &simulation{}, map[string]int{}, knowledge.Default()
	for _, o := range objs {
		at, ok := positions([]object.Object{o})[o.ID.Kind+"/"+o.ID.Name]
		if !ok {
			continue
		}
		kind := base.Of(o)
		_, health := kind.HealthOf(o)
		index[o.ID.Kind+"/"+o.ID.Name] = len(s.objs)
		s.objs, s.waves, s.hooks = append(s.objs, o), append(s.waves, at), append(s.hooks, o.IsHook())
		s.health, s.runs = append(s.health, health), append(s.runs, !kind.Pod.IsZero())
	}
	trial := &trial{app: app, sync: s, index: index}
	for _, n := range app.Needs {
		from, to, err := trial.find(n.From, n.To)
		if err != nil {
			t.Fatal(err)
		}
		if n.Relation == claimNeedsPods {
			to = trial.start(to)
		}
		if from != to {
			trial.edges = append(trial.edges, dependency{from, to})
		}
	}
	if stuck, _ := s.Run(trial.edges); stuck >= 0 {
		return strings.TrimSpace(trial.id(stuck))
	}
	return ""
}
