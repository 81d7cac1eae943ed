package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/fleet/rollout"
)

// play plays a fleet as its steps are set.
func play(m fleettest.Unrendered, d rollout.Durations, fail ...string) *rollout.Run {
	var failing []int
	for _, name := range fail {
		failing = append(failing, slices.IndexFunc(m.Applications, func(a *fleet.Application) bool { return a.Name == name }))
	}
	return rollout.Simulate(m.Fleet,
		rollout.NewLayout(m.Fleet, "set", func(i int) component.Step { return m.Applications[i].Step }), d, failing)
}

// seconds are times of Applications that are named "a=10 b=20".
func seconds(t *testing.T, text string) rollout.Durations {
	t.Helper()
	var lines []string
	for _, f := range strings.Fields(text) {
		lines = append(lines, strings.Replace(f, "=", ": ", 1)+"s")
	}
	d, err := rollout.ReadDurations("d.yaml", []byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// story is a run in short.
func story(r *rollout.Run, m fleettest.Unrendered) string {
	var b strings.Builder
	for _, s := range r.Spans {
		end := "never"
		if s.Healthy {
			end = rollout.When(s.End)
		}
		fmt.Fprintf(&b, "%s-%s %s\n", rollout.When(s.Start), end, m.Applications[s.Application].Name)
	}
	for _, s := range r.Stuck {
		fmt.Fprintf(&b, "%s: %t, %s\n", m.Applications[s.Application].Name, s.Begins, s.Why)
	}
	var names []string
	for _, i := range r.Critical {
		names = append(names, m.Applications[r.Spans[i].Application].Name)
	}
	fmt.Fprintf(&b, "%s by %s\n", r.Total, strings.Join(names, ", "))
	return b.String()
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if got != strings.TrimPrefix(want, "\n") {
		t.Errorf("got\n%s\nwant%s", got, want)
	}
}

// TestSteps: a step begins when all of the one before are healthy, and updates
// as many at once as it takes.
func TestSteps(t *testing.T) {
	m := fleettest.WithProfile(t, "bands")
	for _, name := range []string{"a", "b", "c", "d"} {
		m.App(name, "foundation", "controllers", 120) // two at a time
	}
	m.App("off", "foundation", "controllers", 120).Enabled = new(bool)
	m.App("last", "foundation", "secrets", 130)
	m.App("nowhere", "foundation", "secrets", 131)
	m.App("unset", "foundation", "secrets", -1)
	r := play(m, seconds(t, "a=30 b=10 c=10 d=5 last=1 nowhere=2 unset=3"))
	same(t, story(r, m), `
0:00-0:30 a
0:00-0:10 b
0:10-0:20 c
0:20-0:25 d
0:30-0:31 last
0:31-0:33 nowhere
0:31-0:34 unset
34s by a, last, unset
`)
}

// TestFail: what never gets healthy holds its place in its step, and all steps
// behind it.
func TestFail(t *testing.T) {
	m := fleettest.WithProfile(t, "bands")
	for _, name := range []string{"a", "b", "c", "d"} {
		m.App(name, "foundation", "controllers", 120)
	}
	m.App("last", "foundation", "secrets", 130)
	m.Needs("d", "a", fleet.Healthy, false)
	d := seconds(t, "a=1 b=1 c=1 d=1 last=1")
	same(t, story(play(m, d, "a"), m), `
0:00-never a
0:00-0:01 b
0:01-0:02 c
0:02-never d
a: true, it never becomes healthy (--fail)
d: true, it waits for a, because Thing d needs Thing a
last: false, step 130 (secrets) comes after step 120 (operators), which never ends
2s by b, c
`)
	same(t, story(play(m, d, "a", "b"), m), `
0:00-never a
0:00-never b
a: true, it never becomes healthy (--fail)
b: true, it never becomes healthy (--fail)
c: false, step 120 (operators) updates 2 at a time and waits for a, b
d: false, step 120 (operators) updates 2 at a time and waits for a, b
last: false, step 130 (secrets) comes after step 120 (operators), which never ends
0s by 
`)
}

// TestWrongOrder: what needs something of a later step never gets healthy, and
// so that step never begins.
func TestWrongOrder(t *testing.T) {
	m := fleettest.WithProfile(t, "bands")
	m.App("store", "foundation", "secrets", 130)
	m.App("vault", "foundation", "workloads", 150)
	m.Needs("store", "vault", fleet.Healthy, false)
	same(t, story(play(m, seconds(t, "store=1 vault=1")), m), `
0:00-never store
store: true, it waits for vault, because Thing store needs Thing vault
vault: false, step 150 (workloads) comes after step 130 (secrets), which never ends
0s by 
`)
	m.Links[0].Reasons[0].Inferred = true // a sign is not enough to be stuck
	if r := play(m, seconds(t, "store=1 vault=1")); !r.Done() {
		t.Error(story(r, m))
	}
}

func TestManual(t *testing.T) {
	m := fleettest.WithProfile(t, "bands")
	m.App("a", "foundation", "controllers", 120)
	m.App("b", "foundation", "secrets", 130)
	for i, b := range m.Profile.Bands {
		for j, place := range b.Places {
			m.Profile.Bands[i].Places[j].Manual = place.Step == 130
		}
	}
	same(t, story(play(m, seconds(t, "a=1 b=1")), m), `
0:00-0:01 a
b: false, step 130 (secrets) is only synced manually
1s by a
`)
}

// TestIndependentSets: all sets begin at once, and what one needs of another it
// waits for where it is.
func TestIndependentSets(t *testing.T) {
	m := fleettest.WithProfile(t, "bands")
	m.Profile.Sets = profile.Independent
	m.App("crd", "data", "crds", 210)
	m.App("db", "data", "workloads", 250)
	m.App("keycloak", "platform", "workloads", 350)
	m.App("realm", "platform", "bootstraps", 355)
	m.App("front", "apps", "workloads", -1) // the only band of its domain
	m.App("odd", "data", "workloads", -1)   // one of two
	m.Needs("db", "crd", fleet.Applied, false)
	m.Needs("keycloak", "db", fleet.Healthy, false)
	m.Needs("front", "crd", fleet.Exists, false)
	r := play(m, seconds(t, "crd=10 db=20 keycloak=5 realm=1 front=1 odd=1"))
	same(t, story(r, m), `
0:00-0:10 crd
0:00-0:35 keycloak
0:00-0:01 front
0:10-0:30 db
0:35-0:36 realm
odd: false, no step selects it, so it is only synced manually
36s by crd, db, keycloak, realm
`)
	var crossings []string
	for _, c := range r.Unordered {
		crossings = append(crossings, fmt.Sprintf("%s %s %s", m.Applications[c.From].Name, m.Applications[c.To].Name, c.Waits))
	}
	same(t, strings.Join(crossings, "\n")+"\n", `
front crd 0s
keycloak db 30s
`)
}

// TestWaves: the waves of a parent go on when all of a wave are healthy, after
// Argo CD's delay; they know no maxUpdate.
func TestWaves(t *testing.T) {
	m := fleettest.WithProfile(t, "bands")
	m.Profile.Style, m.Profile.Digits = profile.Waves, 1
	m.App("a", "foundation", "controllers", 120)
	m.App("b", "foundation", "controllers", 120)
	m.App("c", "foundation", "controllers", 120)
	m.App("d", "foundation", "controllers", 121)
	same(t, story(play(m, seconds(t, "a=10 b=10 c=20 d=1")), m), `
0:00-0:10 a
0:00-0:10 b
0:00-0:20 c
0:22-0:23 d
23s by c, d
`)
}

// TestOneAtATime compares layouts of the same components: steps of one at a time
// in independent sets, and steps of several in one order.
func TestOneAtATime(t *testing.T) {
	m := fleettest.WithProfile(t, "bands")
	for i := range 12 {
		m.App(fmt.Sprintf("c%02d", i), "foundation", "workloads", 150)
	}
	d, _ := rollout.ReadDurations("d.yaml", []byte("defaults: {workloads: 60s}"))
	many := play(m, d)
	for i, b := range m.Profile.Bands {
		for j := range b.Places {
			m.Profile.Bands[i].Places[j].MaxUpdate = 1
		}
	}
	if one := play(m, d); many.Total != 2*time.Minute || one.Total != 12*time.Minute || one.AtOnce() != 1 || many.AtOnce() != 6 {
		t.Error(many.Total, one.Total, one.AtOnce(), many.AtOnce())
	}
}

func TestNothingToRollOut(t *testing.T) {
	r := play(fleettest.WithProfile(t, "bands"), rollout.AssumedDurations())
	if !r.Done() || r.Total != 0 || r.AtOnce() != 0 {
		t.Errorf("%+v", r)
	}
}

func TestDrawings(t *testing.T) {
	m := fleettest.WithProfile(t, "bands")
	m.App("a<b", "foundation", "controllers", 120)
	m.App("c: d", "foundation", "secrets", 130)
	r := play(m, rollout.AssumedDurations(), "c: d")
	same(t, r.Mermaid(), `
gantt
  title rollout in 1 00
  dateFormat x
  axisFormat %M:%S
  section 120 operators
    a b :crit, 0, 60000
  section 130 secrets
    c  d never healthy :active, 60000, 63000
`)
}

func TestDurations(t *testing.T) {
	d, err := rollout.ReadDurations("d.yaml", []byte("vault: 2m\ndefaults:\n  controllers: 5s\n  wave: 3s\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := fleettest.WithProfile(t, "bands")
	vault, op := m.App("vault", "", "workloads", 1), m.App("op", "", "controllers", 1)
	op.Waves = 3
	for app, want := range map[*fleet.Application]time.Duration{vault: 2 * time.Minute, op: 11 * time.Second,
		m.App("x", "", "", 1): 45 * time.Second} {
		if got, why := d.Of(app); got != want {
			t.Errorf("%s takes %s (%s), want %s", app.Name, got, why, want)
		}
	}
	for _, a := range rollout.AssumedDurations().Kinds {
		if a.Why == "" || a.Source == "" || a.Duration <= 0 {
			t.Errorf("%+v has no reason, source or time", a)
		}
	}
	_, err = rollout.ReadDurations("d.yaml", []byte("a: 90\nb: [1s]\nc: -1s\na: 1s\ndefaults:\n  crd: 1s\n  crds: soon\n"))
	same(t, err.Error()+"\n", `
d.yaml:4: a: duplicate key, first set on line 1; fix: keep one of the two
d.yaml:1: a: "90" is not a duration; fix: use a duration such as 90s or 2m30s
d.yaml:2: b: must be a single value, not a list or mapping; fix: use a duration such as 90s or 2m30s
d.yaml:3: c: -1s is not between 0s and 720h; fix: use a duration such as 90s or 2m30s
d.yaml:6: defaults.crd: unknown default; did you mean "crds"?
d.yaml:7: defaults.crds: "soon" is not a duration; fix: use a duration such as 90s or 2m30s
`)
}

// TestNeverThere: what needs something that is disabled waits for ever, unless
// that is only a sign, or the owners say that it is there.
func TestNeverThere(t *testing.T) {
	m := fleettest.WithProfile(t, "bands")
	m.App("provider", "foundation", "controllers", 120).Enabled = new(bool)
	m.App("needs", "foundation", "secrets", 130)
	m.App("perhaps", "foundation", "secrets", 130)
	m.App("behind", "foundation", "configs", 140)
	m.Needs("needs", "provider", fleet.Healthy, false)
	m.Needs("perhaps", "provider", fleet.Healthy, true)
	same(t, story(play(m, seconds(t, "needs=1 perhaps=2 behind=3")), m), `
0:00-never needs
0:00-0:02 perhaps
needs: true, it waits for provider, which is disabled, because Thing needs needs Thing provider
behind: false, step 140 (configs) comes after step 130 (secrets), which never ends
2s by perhaps
`)
	m.Settings.Accepted = []profile.Accepted{{Rule: "needs-disabled", Component: "needs", Why: "the cluster has it"}}
	if r := play(m, seconds(t, "needs=1 perhaps=2 behind=3")); !r.Done() {
		t.Errorf("it waits for what is accepted: %v", r.Stuck)
	}
}
