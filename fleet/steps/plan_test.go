package steps_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/steps"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
)

// text is what is computed, a line each.
func text(p *steps.Plan) string {
	var b strings.Builder
	for _, row := range p.Sorted() {
		fmt.Fprintf(&b, "%s %s: %s; %s\n", row.Computed.Text, row.Name, row.Verdict(), row.Why)
	}
	for _, f := range p.Findings {
		fmt.Fprintf(&b, "%s %s: %s\n", f.Severity, f.Rule, f.Error())
	}
	return b.String()
}

func check(t *testing.T, p *steps.Plan, want string) {
	t.Helper()
	if got := text(p); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("got\n%s\nwant%s", got, want)
	}
}

func TestPhasesByNeeds(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	m.App("crds", "data", "crds", 210)
	m.App("vault", "foundation", "workloads", 120)
	m.App("store", "foundation", "secrets", 130)
	m.App("db", "data", "workloads", 450)
	m.App("temporal", "data", "workloads", 450)
	m.App("keycloak", "platform", "workloads", -1)
	m.App("smoke", "data", "smokes", 299)
	m.App("same", "data", "workloads", 250)
	m.Needs("store", "vault", fleet.Healthy, false)
	m.Needs("db", "crds", fleet.Applied, false)
	m.Needs("temporal", "keycloak", fleet.Healthy, false)
	m.Needs("smoke", "temporal", fleet.Calls, true)
	m.Needs("same", "db", fleet.Exists, false)
	m.Needs("crds", "temporal", fleet.Calls, false)
	check(t, steps.Compute(m.Fleet, steps.Options{}), `
150 vault: must be later; first step for workloads in foundation: Thing vault
155 store: must be later; after vault, because Thing store needs Thing vault
210 crds: equal; first step for crds in data and data-extended: Thing crds
250 db: must be earlier; first step for workloads in data and data-extended: Thing db
250 same: equal; first step for workloads in data and data-extended: Thing same
350 keycloak: not set; first step for workloads in platform: Thing keycloak
450 temporal: equal; after keycloak, because Thing temporal needs Thing keycloak
499 smoke: must be later; after temporal, because Thing smoke needs Thing temporal (inferred)
`)
}

func TestPhasesOfWhatHasNoPlace(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	m.App("early", "foundation", "workloads", 150)
	m.App("late", "apps", "workloads", 650)
	m.App("sign", "data", "workloads", 250)
	m.App("stranger", "", "workloads", -1)
	m.App("kept", "apps", "bootstraps", 640)
	m.App("unknown", "apps", "", 630)
	m.App("nothing", "apps", "", -1)
	m.Needs("early", "late", fleet.Healthy, false)
	m.Needs("sign", "late", fleet.Healthy, true)
	check(t, steps.Compute(m.Fleet, steps.Options{}), `
250 sign: equal; first step for workloads in data and data-extended: Thing sign
630 unknown: equal; its purpose is unknown, so it keeps its step
640 kept: equal; no place in apps is for bootstraps, so it keeps its step
650 late: equal; first step for workloads in apps: Thing late
 early: no place; no place for it
 nothing: no place; no place for it
 stranger: no place; no place for it
error no-step: early/component.yaml: early: it must come after late, because Thing early needs Thing late, and late is in step 650 at the earliest; but the last place for it is 155, in band foundation; fix: change its domain, add a later place for workloads to the profile, or move its dependencies to an earlier band
warning no-step: kept/component.yaml: kept: its rung is bootstraps (Thing kept), but no place in apps accepts this rung; fix: add a place to the profile, or change its domain
error no-step: nothing/component.yaml: nothing: it has no step, and its purpose is unknown; fix: set its rolloutPhase
warning rollout: sign/component.yaml: sign: it should come after late, because Thing sign needs Thing late (inferred), but that leaves no place for its dependents; fix: ignore this warning if the component starts without the other one; otherwise split one of them, or change the domain
error no-step: stranger/component.yaml: stranger: it has no domain, and no place in prerequisites is for workloads (Thing stranger); fix: add domain: to its component.yaml, one of apps, cluster, data, data-extended, foundation, observability, platform
`)
}

// TestPhasesAccepted: two of which the owners accept that they stand together do,
// and only these.
func TestPhasesAccepted(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	for _, name := range []string{"store", "bundle", "other"} {
		m.App(name, "data", "workloads", 250)
	}
	m.Needs("bundle", "store", fleet.Healthy, false)
	m.Needs("other", "store", fleet.Healthy, false)
	m.Settings.Accepted = []profile.Accepted{{Rule: "same-step", Component: "bundle", Needs: "store"},
		{Rule: "same-step", Component: "other", Needs: "bundle"}, {Rule: "wrong-place", Component: "other"}}
	check(t, steps.Compute(m.Fleet, steps.Options{}), `
250 bundle: equal; first step for workloads in data and data-extended: Thing bundle
250 store: equal; first step for workloads in data and data-extended: Thing store
260 other: must be later; after store, because Thing other needs Thing store
`)
}

// TestCircles: the weakest signs give way, sure needs are a finding that spells the chain
// and names what to remove. All that is in the cycle and after it has a step.
func TestCircles(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	for _, name := range []string{"a", "b", "c", "x", "y", "after"} {
		m.App(name, "data", "workloads", -1)
	}
	m.Needs("a", "b", fleet.Healthy, false)
	m.Needs("b", "c", fleet.Exists, false)
	m.Needs("c", "a", fleet.Exists, false)
	m.Needs("x", "y", fleet.Healthy, true)
	m.Needs("y", "x", fleet.Exists, true)
	m.Needs("after", "a", fleet.Healthy, false)
	check(t, steps.Compute(m.Fleet, steps.Options{}), `
250 a: not set; first step for workloads in data and data-extended: Thing a; without its dependency on b, which is part of a cycle
250 b: not set; first step for workloads in data and data-extended: Thing b
250 c: not set; first step for workloads in data and data-extended: Thing c
250 y: not set; first step for workloads in data and data-extended: Thing y
260 after: not set; after a, because Thing after needs Thing a
260 x: not set; after y, because Thing x needs Thing y (inferred)
error cycle: a/component.yaml: a: no order satisfies all dependencies: a after b, because Thing a needs Thing b; b not before c, because Thing b needs Thing c; c not before a, because Thing c needs Thing a; fix: move Thing a from a to a separate component after b; the computed steps assume this change
warning rollout: y/component.yaml: y: it should come not before x, because Thing y needs Thing x (inferred), but that would create a cycle; fix: ignore this warning if the component starts without the other one; otherwise split one of them, or change the domain
`)
}

// TestTangle: cycles with an Application in common are one finding. The dependency of the
// fewest objects is removed, and of several that of the Application for which most wait.
func TestTangle(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	for _, name := range []string{"certs", "dashboards", "gateway", "network", "app"} {
		m.App(name, "data", "workloads", -1)
	}
	m.Needs("certs", "dashboards", fleet.Applied, false)
	m.Needs("network", "dashboards", fleet.Applied, false)
	m.Needs("dashboards", "gateway", fleet.Applied, false)
	m.Needs("gateway", "certs", fleet.Applied, false)
	m.Needs("gateway", "network", fleet.Healthy, false)
	m.Needs("app", "gateway", fleet.Applied, false)
	for _, i := range []int{3, 4} { // of two objects
		m.Links[i].Reasons = append(m.Links[i].Reasons, m.Links[i].Reasons[0])
	}
	p := steps.Compute(m.Fleet, steps.Options{})
	if len(p.Findings) != 1 || !strings.HasSuffix(p.Findings[0].Remedy, "; the computed steps assume this change") ||
		strings.Count(p.Findings[0].Remedy, "move ") != 1 {
		t.Errorf("the findings are %v", p.Findings)
	}
	for _, row := range p.Steps {
		if !row.Computed.Set {
			t.Errorf("%s has no step", row.Name)
		}
	}
	m.Needs("dashboards", "network", fleet.Applied, false)
	p = steps.Compute(m.Fleet, steps.Options{})
	if len(p.Findings) != 1 || strings.Count(p.Findings[0].Remedy, "move ") != 2 {
		t.Errorf("the findings are %v", p.Findings)
	}
}

func TestOnlyMissing(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	m.App("late", "data", "workloads", 450)
	m.App("new", "data", "workloads", -1)
	m.App("consumer", "data", "workloads", 250)
	m.Needs("new", "late", fleet.Healthy, false)
	m.Needs("consumer", "new", fleet.Healthy, false)
	check(t, steps.Compute(m.Fleet, steps.Options{OnlyMissing: true}), `
250 consumer: equal; its step is set
450 late: equal; its step is set
455 new: not set; after late, because Thing new needs Thing late
error rollout: consumer/component.yaml: consumer: rolloutPhase: it keeps step 250, but must come after new, because Thing consumer needs Thing new, and new is in step 455 at the earliest; fix: move it, or compute all steps without --only-missing
`)
}

// TestNumbersWithoutMeaning: where a profile has no places, what is set is kept
// as long as the order is right.
func TestNumbersWithoutMeaning(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	m.Profile.Bands, m.Profile.Digits = nil, 1
	m.App("cni", "", "workloads", 3)
	m.App("dns", "", "workloads", 2)
	m.App("new", "", "workloads", -1)
	m.Needs("dns", "cni", fleet.Healthy, false)
	check(t, steps.Compute(m.Fleet, steps.Options{}), `
0 new: not set; the steps in a profile without bands have no special meaning
3 cni: equal; the steps in a profile without bands have no special meaning, so it keeps its own
4 dns: must be later; after cni, because Thing dns needs Thing cni
`)
}

// bands is read once; nobody changes it.
var bands = sync.OnceValue(func() profile.Profile {
	p, err := profile.Builtin("bands")
	if err != nil {
		panic(err)
	}
	return p
})

var assumed = sync.OnceValue(rollout.AssumedDurations)

// random makes a fleet of any shape. Sure needs only go from what comes later,
// so that they can be kept.
func random(t *testing.T, r *rand.Rand) fleettest.Unrendered {
	m := fleettest.Empty(t, bands())
	domains := []string{"foundation", "data", "platform", "observability", "apps", "data-extended"}
	rungs := []string{"namespaces", "crds", "controllers", "secrets", "configs", "workloads", "bootstraps", "exposure", "smokes"}
	all := m.Profile.All()
	n := 1 + r.IntN(14)
	for i := range n {
		step := -1
		if r.IntN(5) > 0 {
			step = all[r.IntN(len(all))].Step
		}
		app := m.App(fmt.Sprintf("c%02d", i), domains[r.IntN(len(domains))], rungs[r.IntN(len(rungs))], step)
		if r.IntN(8) == 0 {
			off := false
			app.Enabled = &off
		}
	}
	seen := map[[2]int]bool{}
	for range r.IntN(3 * n) {
		from, to := r.IntN(n), r.IntN(n)
		inferred := r.IntN(2) == 0
		if from == to || seen[[2]int{from, to}] || from < to && !inferred && r.IntN(20) > 0 {
			continue
		}
		seen[[2]int{from, to}] = true
		m.Needs(fmt.Sprintf("c%02d", from), fmt.Sprintf("c%02d", to), fleet.Strength(r.IntN(4)), inferred)
	}
	return m
}

// shuffled is the same fleet in another order.
func shuffled(t *testing.T, m fleettest.Unrendered, r *rand.Rand) fleettest.Unrendered {
	order := r.Perm(len(m.Applications))
	other := fleettest.Empty(t, m.Profile)
	other.Applications = make([]*fleet.Application, len(order))
	for i, to := range order {
		other.Applications[to] = m.Applications[i]
	}
	for _, l := range m.Links {
		other.Links = append(other.Links, fleet.Link{From: order[l.From], To: order[l.To], Reasons: l.Reasons})
	}
	r.Shuffle(len(other.Links), func(i, j int) { other.Links[i], other.Links[j] = other.Links[j], other.Links[i] })
	return other
}

// keeps reports a sure need that steps do not keep, besides those at which cycles are
// broken.
func keeps(m fleettest.Unrendered, p *steps.Plan, step func(i int) int) error {
	for _, l := range m.Links {
		r := l.Reasons[0]
		broken := strings.Contains(p.Steps[l.From].Why, "without its dependency on "+m.Applications[l.To].Name+",")
		if !r.Inferred && !broken && (r.Strength.NeedsEarlierStep() && step(l.From) <= step(l.To) ||
			r.Strength == fleet.Exists && step(l.From) < step(l.To)) {
			return fmt.Errorf("%s at %d needs %s at %d", m.Applications[l.From].Name, step(l.From), m.Applications[l.To].Name, step(l.To))
		}
	}
	return nil
}

// laws are what holds of the steps of any fleet.
func laws(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	m := random(t, r)
	p := steps.Compute(m.Fleet, steps.Options{})
	if other := steps.Compute(shuffled(t, m, r).Fleet, steps.Options{}); text(other) != text(p) {
		t.Fatalf("seed %d: in another order it is\n%s\nand was\n%s", seed, text(other), text(p))
	}
	if !checkPlaces(t, seed, m, p) {
		if p.Compact() != nil {
			t.Fatalf("seed %d: compact without places", seed)
		}
		return
	}
	if err := keeps(m, p, func(i int) int { return p.Steps[i].Computed.Number }); err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, text(p))
	}
	checkCompact(t, seed, m, p)
	checkWritten(t, seed, m, p)
}

// checkPlaces checks that each Application has a place that takes it, or a finding that
// says why it has none. It reports whether all have one.
func checkPlaces(t *testing.T, seed uint64, m fleettest.Unrendered, p *steps.Plan) bool {
	t.Helper()
	placed := 0
	for i, row := range p.Steps {
		if row.Computed.Set {
			placed++
			if place, ok := m.Profile.Place(row.Computed.Number); !ok || !place.Accepts(row.Rung) && row.Computed.Number < row.Step.Number {
				t.Fatalf("seed %d: %s stands at %s, which does not take %s", seed, row.Name, row.Computed.Text, row.Rung)
			}
		} else if !slices.ContainsFunc(p.Findings, func(f finding.Finding) bool {
			return f.Severity == finding.Error && (f.Object == row.Name || f.Rule == "cycle")
		}) {
			t.Fatalf("seed %d: nothing says why %s has no place\n%s", seed, m.Applications[i].Name, text(p))
		}
	}
	return placed == len(p.Steps)
}

// checkCompact checks that the fewest steps keep every gate, too, are not more than the
// computed ones, and end.
func checkCompact(t *testing.T, seed uint64, m fleettest.Unrendered, p *steps.Plan) {
	t.Helper()
	c := p.Compact()
	if err := keeps(m, p, func(i int) int {
		if !m.Applications[i].IsEnabled() {
			return -1 // it gates nothing
		}
		return c.Steps[i]
	}); err != nil && !strings.Contains(err.Error(), " at -1 needs") {
		t.Fatalf("seed %d: compact: %v\n%s", seed, err, text(p))
	}
	if computed := p.Count(func(row steps.ComputedStep) component.Step { return row.Computed }); c.Count > computed {
		t.Fatalf("seed %d: %d steps, computed %d\n%s", seed, c.Count, computed, text(p))
	}
	cyclic := slices.ContainsFunc(p.Findings, func(f finding.Finding) bool { return f.Rule == "cycle" })
	for _, app := range m.Applications { // what needs something disabled would wait for ever
		m.Settings.Accepted = append(m.Settings.Accepted, profile.Accepted{Rule: "needs-disabled", Component: app.Name})
	}
	run := rollout.Simulate(m.Fleet, rollout.CompactLayout(m.Fleet, c), assumed(), nil)
	if !cyclic && !run.Done() || run.StepCount() != c.Count {
		t.Fatalf("seed %d: the compact rollout never ends, or has %d steps and not %d: %+v", seed, run.StepCount(), c.Count, run.Stuck)
	}
	if run := rollout.Simulate(m.Fleet, rollout.NewLayout(m.Fleet, "computed", func(i int) component.Step {
		return p.Steps[i].Computed
	}), assumed(), nil); !cyclic && !run.Done() {
		t.Fatalf("seed %d: the computed rollout never ends: %+v", seed, run.Stuck)
	}
}

// checkWritten checks that what is written and read again comes out again.
func checkWritten(t *testing.T, seed uint64, m fleettest.Unrendered, p *steps.Plan) {
	t.Helper()
	edits, _ := p.Edits()
	for _, e := range edits {
		for _, change := range e.Changes {
			step, err := component.ParseStep(change.After)
			if err != nil || change.Key != "rolloutPhase" {
				t.Fatalf("seed %d: %+v: %v", seed, change, err)
			}
			e.RolloutPhase = step
		}
	}
	for _, app := range m.Applications {
		app.Step = app.RolloutPhase
	}
	again := steps.Compute(m.Fleet, steps.Options{})
	for _, row := range again.Steps {
		if v := row.Verdict(); v != steps.Equal && v != steps.Intent {
			t.Fatalf("seed %d: written, %s %s: set %s, computed %s\n%s",
				seed, row.Name, row.Verdict(), row.Step.Text, row.Computed.Text, text(again))
		}
	}
	if count := again.Compact().Count; count > again.Count(func(row steps.ComputedStep) component.Step { return row.Step }) {
		t.Fatalf("seed %d: %d steps are more than those that are set", seed, count)
	}
}

func TestLawsOfPhases(t *testing.T) {
	t.Parallel()
	seeds := uint64(500)
	if golden.WholeCorpus() {
		seeds = 2000
	}
	for seed := range seeds {
		laws(t, seed)
	}
}

func FuzzPhases(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(laws)
}

// TestLargeFleet orders and simulates five hundred components in a chain.
func TestLargeFleet(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	m.Profile.Bands = nil
	for i := range 500 {
		m.App(fmt.Sprintf("c%04d", i), "", "workloads", -1)
		if i > 0 {
			m.Links = append(m.Links, fleet.Link{From: i, To: i - 1, Reasons: []fleet.Reason{{Strength: fleet.Healthy, Why: "needs"}}})
		}
	}
	p := steps.Compute(m.Fleet, steps.Options{})
	if last := p.Steps[499].Computed; last.Number != 499 {
		t.Error(last)
	}
	if run := rollout.Simulate(m.Fleet, rollout.CompactLayout(m.Fleet, p.Compact()), assumed(), nil); run.Total != 500*45*time.Second {
		t.Error(run.Total)
	}
}

// TestSplit: the definitions of a component have a step of their own.
func TestSplit(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	app := m.App("op", "data", "controllers", 220)
	app.CRDs = component.Split
	app.Part = "skip"
	m.Applications = append(m.Applications,
		&fleet.Application{Component: app.Component, Name: "op-crds", Part: "only", Rung: knowledge.Controllers})
	m.Applications[1].Rung = "crds"
	edits, _ := steps.Compute(m.Fleet, steps.Options{}).Edits()
	if len(edits) != 1 || !slices.Equal(edits[0].Changes,
		[]steps.Change{{Key: "crdsPhase", After: "210", Why: "first step for crds in data and data-extended: "}}) {
		t.Errorf("%+v", edits)
	}
}

// TestMustBeEarlier: what stands behind something that needs it for sure must
// move; where that is only a sign, it may.
func TestMustBeEarlier(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	m.App("provider", "foundation", "secrets", 150)
	m.App("hinted", "foundation", "secrets", 150)
	m.App("needs", "foundation", "configs", 140)
	m.Needs("needs", "provider", fleet.Healthy, false)
	m.Needs("needs", "hinted", fleet.Healthy, true)
	check(t, steps.Compute(m.Fleet, steps.Options{}), `
130 hinted: earlier possible; first step for secrets in foundation: Thing hinted
130 provider: must be earlier; first step for secrets in foundation: Thing provider
140 needs: equal; first step for configs in foundation: Thing needs
`)
}

// TestNoBandOfItsOwn says which component is outside of all bands, and of whose domain there is
// none, that it keeps its step.
func TestNoBandOfItsOwn(t *testing.T) {
	t.Parallel()
	m := fleettest.Empty(t, profile.Profile{Digits: 3, Bands: []profile.Band{{Name: "a", Domains: []string{"a"}, From: 0, To: 99}}})
	m.App("moon", "moon", "workloads", 800)
	check(t, steps.Compute(m.Fleet, steps.Options{}), `
800 moon: equal; no place of a band for moon is for workloads, so it keeps its step
warning no-step: moon/component.yaml: moon: its rung is workloads (Thing moon), but no place of a band for moon accepts this rung; fix: add a place to the profile, or change its domain
`)
}
