package wave_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// hang is why a sync never ends although Argo CD's own order would.
type hang struct {
	Stuck string // what Argo CD waits for
	Need  need   // that cannot be fulfilled
}

// verdict says how an order fits the true needs of an application.
type verdict struct {
	First   *hang // on an empty cluster
	Upgrade *hang // everything is healthy, only the migrations are new

	Shown          int         // migrations that the manifests show
	Missed         []migration // those of them that are not in an earlier wave than their application
	Hidden, Chance int         // the others, and those that are in an earlier wave all the same
	Reversed       int         // migrations in a later wave than their application

	Boundaries     int // between waves
	Pairs, Coupled int // stores and services of which neither needs the other, and those in different waves
	CoupledAtLeast int // by an order that knows all needs and has the migrations that are shown

	Sources int // objects that an operator turns into Secrets
	Outages int // those that stop a later sync while their provider is down, and would not without waves

	Workloads    int // stores and services
	Blocking     int // those that stop the release of something that does not need them while they are broken
	FixesChecked int // a broken workload, what it needs or is migrated by: there the fix may be
	FixesBehind  int // those that Argo CD does not apply, since it waits for what is broken
}

// String returns the verdict in short.
func (v verdict) String() string {
	var b strings.Builder
	if v.First != nil {
		fmt.Fprintf(&b, "%s needs %s, ", v.First.Need.From, v.First.Need.To)
	}
	if v.Upgrade != nil {
		fmt.Fprintf(&b, "upgrade: %s needs %s, ", v.Upgrade.Need.From, v.Upgrade.Need.To)
	}
	fmt.Fprintf(&b, "missed %d, boundaries %d, coupled %d of %d", len(v.Missed), v.Boundaries, v.Coupled, v.Pairs)
	return b.String()
}

// trial is one application in one order.
type trial struct {
	app   application
	sync  *simulation
	index map[string]int
	edges []dependency // the needs, as the simulation knows them
}

// annotate returns the objects of the application with our waves.
func annotate(app application) ([]object.Object, error) {
	objs, err := object.Parse("application.yaml", 1, app.Text)
	if err != nil {
		return nil, err
	}
	plan, err := assign(objs)
	if err != nil {
		return nil, err
	}
	return plan.Annotate()
}

// judgeOrder simulates the syncs of the application in the order that the annotations
// of the objects tell Argo CD, and in Argo CD's own.
func judgeOrder(app application, objs []object.Object) (verdict, error) {
	t := &trial{app: app, sync: newSimulation(objs, knowledge.Default()), index: map[string]int{}}
	for i, o := range t.sync.Objects() {
		t.index[o.ID.Kind+"/"+o.ID.Name] = i
	}
	for _, n := range app.Needs {
		from, to, err := t.find(n.From, n.To)
		if err != nil {
			return verdict{}, err
		}
		if n.Relation == claimNeedsPods {
			to = t.start(to)
		}
		t.edges = append(t.edges, dependency{from, to})
	}
	if !t.converges() {
		return verdict{}, errors.New("the generated needs have a cycle")
	}
	v := verdict{Boundaries: t.sync.Waves() - 1, Workloads: len(app.Workloads)}
	v.First = t.compare(t.edges)
	v.Upgrade = t.compare(t.upgrade())
	if err := t.countMigrations(&v); err != nil {
		return verdict{}, err
	}
	t.countCoupling(&v)
	t.countOutages(&v)
	return v, nil
}

func (t *trial) find(from, to string) (int, int, error) {
	i, okFrom := t.index[from]
	j, okTo := t.index[to]
	if !okFrom || !okTo {
		return 0, 0, fmt.Errorf("the application has no %s or no %s", from, to)
	}
	return i, j, nil
}

// start returns an object without health that is applied together with i, so that
// a need of it is fulfilled as soon as i is applied.
func (t *trial) start(i int) int {
	s := t.sync
	s.objs = append(s.objs, s.objs[i])
	s.waves = append(s.waves, s.waves[i])
	s.health, s.runs, s.hooks = append(s.health, false), append(s.runs, false), append(s.hooks, false)
	return len(s.objs) - 1
}

// upgrade returns the needs that are not fulfilled at an upgrade: what exists is healthy,
// but the migrations are new, and what needs them has a new version that waits for them.
func (t *trial) upgrade() []dependency {
	isNew := map[int]bool{}
	for _, m := range t.app.Migrations {
		isNew[t.index[m.Job]] = true
	}
	var edges []dependency
	for _, e := range t.edges {
		if isNew[e.To] {
			edges = append(edges, e)
		}
	}
	return edges
}

// converges reports whether the needs can be fulfilled, apart from objects that never
// become healthy. If not, the generator has a fault.
func (t *trial) converges() bool {
	var edges []dependency
	for _, e := range t.edges {
		if e.From != e.To {
			edges = append(edges, e)
		}
	}
	_, healthy := t.sync.WithoutWaves().Run(edges)
	return healthy
}

// compare simulates our order and Argo CD's own, and returns what hangs in ours only.
func (t *trial) compare(edges []dependency) *hang {
	stuck, _ := t.sync.Run(edges)
	if stuck < 0 {
		return nil
	}
	if own, _ := t.sync.WithoutWaves().Run(edges); own >= 0 {
		return nil
	}
	return &hang{t.id(stuck), t.guilty(stuck, edges)}
}

func (t *trial) id(i int) string {
	id := t.sync.objs[i].ID
	return id.Kind + "/" + id.Name
}

// guilty returns the need that keeps an object from becoming healthy: the nearest,
// along its needs, of what is applied later than the object or never healthy.
func (t *trial) guilty(stuck int, edges []dependency) need {
	seen := map[int]bool{stuck: true}
	for work := []int{stuck}; len(work) > 0; work = work[1:] {
		for _, e := range edges {
			if e.From != work[0] {
				continue
			}
			if e.From == e.To || t.sync.waves[e.To] > t.sync.waves[stuck] {
				return t.app.Needs[slices.Index(t.edges, e)]
			}
			if !seen[e.To] {
				seen[e.To] = true
				work = append(work, e.To)
			}
		}
	}
	panic("nothing keeps " + t.id(stuck) + " from becoming healthy")
}

func (t *trial) countMigrations(v *verdict) error {
	for _, m := range t.app.Migrations {
		job, application, err := t.find(m.Job, m.Application)
		if err != nil {
			return err
		}
		isBefore := t.sync.waves[job] < t.sync.waves[application]
		if t.sync.waves[job] > t.sync.waves[application] {
			v.Reversed++
		}
		switch {
		case m.Shown && isBefore:
			v.Shown++
		case m.Shown:
			v.Shown++
			v.Missed = append(v.Missed, m)
		case isBefore:
			v.Hidden++
			v.Chance++
		default:
			v.Hidden++
		}
	}
	return nil
}

// countCoupling counts what a broken store or service holds up: Argo CD awaits all waves
// but the last, so what stands in a later wave is not released. That is as it should be
// for what needs the broken one, over others or a migration between them.
func (t *trial) countCoupling(v *verdict) {
	first, last := t.bestOrder()
	coupledFirst, coupledLast := 0, 0
	for i, a := range t.app.Workloads {
		at := t.index[a]
		for _, b := range t.app.Workloads[:i] {
			other := t.index[b]
			if t.needs(at, other) || t.needs(other, at) {
				continue
			}
			v.Pairs++
			v.Coupled += one(t.sync.waves[at] != t.sync.waves[other])
			coupledFirst += one(first[at] != first[other])
			coupledLast += one(last[at] != last[other])
		}
		t.countBroken(v, at)
	}
	v.CoupledAtLeast = min(coupledFirst, coupledLast)
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// bestOrder returns what stands in the first of two waves if all that matters is known:
// the shown migrations and what they need, before what is migrated and what needs that.
// What is free is in the first wave in one result, and in the last wave in the other.
func (t *trial) bestOrder() (freeFirst, freeLast map[int]bool) {
	freeFirst, freeLast = map[int]bool{}, map[int]bool{}
	for _, at := range t.index {
		isLate := false
		for _, m := range t.app.Migrations {
			if m.Shown {
				isLate = isLate || t.needs(at, t.index[m.Application])
				freeLast[at] = freeLast[at] || t.needs(t.index[m.Job], at)
			}
		}
		freeFirst[at] = !isLate
	}
	return freeFirst, freeLast
}

// countOutages simulates a sync while the provider of a Secret is down: the Secret exists,
// so that Pods start, but the object that it is made from is unhealthy.
func (t *trial) countOutages(v *verdict) {
	for name, at := range t.index {
		if kind, _, _ := strings.Cut(name, "/"); kind == "ExternalSecret" || kind == "SealedSecret" {
			v.Sources++
			v.Outages += one(t.stops([]dependency{{at, at}}))
		}
	}
}

// stops reports whether a sync in our order ends before its last wave, and would not
// without waves.
func (t *trial) stops(edges []dependency) bool {
	ours, _ := t.sync.Run(edges)
	own, _ := t.sync.WithoutWaves().Run(edges)
	return ours >= 0 && own < 0
}

// isStuckBefore reports whether the sync after a broken version never applies the fix: the
// workload is unhealthy until then, and with it all that needs it.
func (t *trial) isStuckBefore(fix, broken int) bool {
	edges := []dependency{{broken, t.start(fix)}}
	for _, e := range t.edges {
		if e.From != e.To && t.needs(e.To, broken) {
			edges = append(edges, e)
		}
	}
	return t.stops(edges)
}

// countBroken simulates the release after one in which the workload is broken.
func (t *trial) countBroken(v *verdict, broken int) {
	if v.First == nil { // else Argo CD waits for what cannot be healthy in any sync
		for _, fix := range append(t.next(broken), broken) {
			v.FixesChecked++
			v.FixesBehind += one(t.isStuckBefore(fix, broken))
		}
	}
	stuck, _ := t.sync.Run([]dependency{{broken, broken}})
	if stuck < 0 {
		return
	}
	for _, at := range t.index {
		if t.sync.runs[at] && t.sync.waves[at] > t.sync.waves[stuck] && !t.needs(at, broken) {
			v.Blocking++
			return
		}
	}
}

// needs reports whether one object needs the other, perhaps over others, or uses what
// a migration that needs it makes.
func (t *trial) needs(from, to int) bool {
	seen := map[int]bool{from: true}
	for work := []int{from}; len(work) > 0; work = work[1:] {
		if work[0] == to {
			return true
		}
		for _, next := range t.next(work[0]) {
			if !seen[next] {
				seen[next] = true
				work = append(work, next)
			}
		}
	}
	return false
}

func (t *trial) next(from int) []int {
	var next []int
	for _, e := range t.edges {
		if e.From == from {
			next = append(next, e.To)
		}
	}
	for _, m := range t.app.Migrations {
		if t.index[m.Application] == from {
			next = append(next, t.index[m.Job])
		}
	}
	return next
}

// judged is an application with a store, two services and a migration; %d are their waves.
const judged = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, annotations: {argocd.argoproj.io/sync-wave: "%d"}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: migrate, annotations: {argocd.argoproj.io/sync-wave: "%d"}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, annotations: {argocd.argoproj.io/sync-wave: "%d"}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: "%d"}}}
`

// TestJudge holds that the judge sees what is wrong with an order: web needs api, api and
// the migration need db, and the new version of api needs what the migration makes.
func TestJudge(t *testing.T) {
	const db, migrate, api, web = "StatefulSet/db", "Job/migrate", "Deployment/api", "Deployment/web"
	app := application{
		Needs:      []need{{From: api, To: db}, {From: migrate, To: db}, {From: api, To: migrate}, {From: web, To: api}},
		Migrations: []migration{{Job: migrate, Application: api, Shown: true}}, Workloads: []string{db, api, web}}
	apart := app
	apart.Needs = app.Needs[:3] // web needs nothing
	for _, tt := range []struct {
		name  string
		app   application
		waves []any
		want  string
	}{
		{"no waves", app, []any{0, 0, 0, 0}, "missed 1, boundaries 0, coupled 0 of 0"},
		{"right", app, []any{0, 1, 2, 2}, "missed 0, boundaries 2, coupled 0 of 0"},
		{"the store is behind", app, []any{1, 0, 1, 1}, "Job/migrate needs StatefulSet/db, missed 0, boundaries 1, coupled 0 of 0"},
		{"the migration is behind", app, []any{0, 2, 1, 1},
			"Deployment/api needs Job/migrate, upgrade: Deployment/api needs Job/migrate, missed 1, boundaries 2, coupled 0 of 0"},
		{"the peer is behind", app, []any{0, 1, 2, 1}, "Deployment/web needs Deployment/api, missed 0, boundaries 2, coupled 0 of 0"},
		{"a stranger is first", apart, []any{1, 1, 2, 0}, "missed 0, boundaries 2, coupled 2 of 2"},
		{"a stranger is last", apart, []any{0, 0, 1, 1}, "missed 0, boundaries 1, coupled 1 of 2"},
	} {
		objs, err := object.Parse("judged.yaml", 1, fmt.Sprintf(judged, tt.waves...))
		if err != nil {
			t.Fatal(err)
		}
		v, err := judgeOrder(tt.app, objs)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.String(); got != tt.want {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.want)
		}
	}
}

// TestJudgeOfLaterSyncs holds that the judge sees what stops a later sync only: a source of
// Secrets whose provider is down, and a broken application whose fix is its migration.
func TestJudgeOfLaterSyncs(t *testing.T) {
	const source = `---
{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: password, annotations: {argocd.argoproj.io/sync-wave: "%d"}}}
`
	app := application{Migrations: []migration{{Job: "Job/migrate", Application: "Deployment/api"}},
		Workloads: []string{"StatefulSet/db", "Deployment/api", "Deployment/web"}}
	for _, tt := range []struct {
		name           string
		waves          []any // of db, migrate, api, web and the source
		outages, fixes int
	}{
		{"no waves", []any{0, 0, 0, 0, 0}, 0, 0},
		{"Argo CD waits for the source", []any{1, 1, 1, 1, 0}, 1, 0},
		{"the migration is first", []any{0, 1, 2, 2, 2}, 0, 0},
		{"the migration is behind", []any{0, 2, 1, 1, 2}, 0, 1},
	} {
		objs, err := object.Parse("judged.yaml", 1, fmt.Sprintf(judged+source, tt.waves...))
		if err != nil {
			t.Fatal(err)
		}
		v, err := judgeOrder(app, objs)
		if err != nil {
			t.Fatal(err)
		}
		if v.Outages != tt.outages || v.FixesBehind != tt.fixes || v.First != nil {
			t.Errorf("%s: %d outages, %d fixes behind (%s); want %d, %d", tt.name, v.Outages, v.FixesBehind, v, tt.outages, tt.fixes)
		}
	}
}

// TestGenerate holds that an application is the same each time, and differs from others.
func TestGenerate(t *testing.T) {
	for number := range uint64(20) {
		app, again := generate(defaultSeed, number), generate(defaultSeed, number)
		if app.Text != again.Text || !slices.Equal(app.Needs, again.Needs) {
			t.Errorf("application %d is not the same twice", number)
		}
		if other := generate(defaultSeed+1, number); other.Text == app.Text {
			t.Errorf("application %d is the same with another seed", number)
		}
	}
}
