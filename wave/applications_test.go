package wave_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/ladder-cmp/ladder/internal/golden"
)

// What the order does wrong on generated applications, as measured with the default seed
// and number. These figures may only shrink. The goals are no hangs, 1 % missed, 1.4
// boundaries and 8 % coupled.
const (
	maxHarm       = 0.0001 // of the applications: the first sync hangs, and would not without waves
	maxUpgrade    = 0.0001 // of the applications: an upgrade hangs, and would not without waves
	maxMissed     = 0.0079 // of the migrations that the manifests show: not before their application
	maxReversed   = 0.0001 // of all migrations: after their application
	maxBoundaries = 1.3954 // per application
	maxCoupled    = 0.1603 // of the pairs of stores and services of which neither needs the other
	maxFixes      = 0.0001 // of workloads, and of what they need or are migrated by: not applied while the workload is broken
	maxOutages    = 0.8232 // of the sources of Secrets: a later sync stops while their provider is down
)

var (
	applicationCount = flag.Uint64("applications", ofWhole(defaultCount), "generated applications of TestGeneratedApplications")
	applicationSeed  = flag.Uint64("applications-seed", defaultSeed, "seed of TestGeneratedApplications")
	applicationShown = flag.Int64("application", -1, "number of a generated application whose manifests, needs and waves are printed")
)

const (
	defaultSeed  = 1
	defaultCount = 1500 // with LADDER_CORPUS=whole, and a fifth of it without
	maxCases     = 3    // that are logged of each fault
)

// ofWhole returns how many of so many generated applications, or other inputs, are tried.
func ofWhole(all uint64) uint64 {
	if golden.WholeCorpus() {
		return all
	}
	return max(all/5, 1)
}

// TestGeneratedApplications measures the order on applications whose true needs are
// known, whether the manifests show them or not. It logs what goes wrong, and where it
// comes from.
func TestGeneratedApplications(t *testing.T) {
	if *applicationShown >= 0 {
		showApplication(t, uint64(*applicationShown))
		return
	}
	sum := newTotal()
	for number := range *applicationCount {
		app := generate(*applicationSeed, number)
		objs, err := annotate(app)
		if err != nil {
			t.Fatalf("-applications-seed %d -application %d: %v", *applicationSeed, number, err)
		}
		v, err := judgeOrder(app, objs)
		if err != nil {
			t.Fatalf("-applications-seed %d -application %d: %v", *applicationSeed, number, err)
		}
		sum.add(number, app, v)
	}
	sum.log(t)
	for _, f := range sum.figures() {
		if f.Share() > f.Max+f.margin() {
			t.Errorf("%s: %.4f, may be %.4f", f.Name, f.Share(), f.Max)
		}
	}
}

// figure is a share of what could go wrong.
type figure struct {
	Name   string
	Is, Of int
	Max    float64
}

// Share returns the part that went wrong.
func (f figure) Share() float64 { return float64(f.Is) / float64(max(f.Of, 1)) }

// margin returns how far other applications than the measured ones may be off by chance:
// three standard deviations of the difference of the two samples.
func (f figure) margin() float64 {
	if *applicationSeed == defaultSeed && *applicationCount == defaultCount {
		return 0
	}
	samples := 1 + float64(*applicationCount)/defaultCount
	return 3 * math.Sqrt(f.Max*samples/float64(max(f.Of, 1)))
}

// total sums up verdicts.
type total struct {
	verdict
	applications, harmed, harmedLater int
	needs, hangs                      map[string]int // by relation and by form
	cases                             []string       // the first ones
}

func newTotal() *total { return &total{needs: map[string]int{}, hangs: map[string]int{}} }

func (s *total) add(number uint64, app application, v verdict) {
	s.applications++
	s.Shown, s.Hidden, s.Chance = s.Shown+v.Shown, s.Hidden+v.Hidden, s.Chance+v.Chance
	for _, m := range v.Missed {
		if s.Missed = append(s.Missed, m); len(s.Missed) <= maxCases {
			s.cases = append(s.cases, fmt.Sprintf("-application %d misses %s before %s (%s; %s)",
				number, m.Job, m.Application, m.Sign, m.Form))
		}
	}
	s.Reversed, s.Boundaries = s.Reversed+v.Reversed, s.Boundaries+v.Boundaries
	s.Pairs, s.Coupled = s.Pairs+v.Pairs, s.Coupled+v.Coupled
	s.CoupledAtLeast += v.CoupledAtLeast
	s.Sources, s.Outages = s.Sources+v.Sources, s.Outages+v.Outages
	s.Workloads, s.Blocking = s.Workloads+v.Workloads, s.Blocking+v.Blocking
	s.FixesBehind, s.FixesChecked = s.FixesBehind+v.FixesBehind, s.FixesChecked+v.FixesChecked
	for _, n := range app.Needs {
		for _, key := range keys(n) {
			s.needs[key]++
		}
	}
	if v.Upgrade != nil {
		s.harmedLater++
	}
	if v.First == nil {
		return
	}
	s.harmed++
	n := v.First.Need
	for _, key := range keys(n) {
		s.hangs[key]++
	}
	if s.harmed <= maxCases {
		s.cases = append(s.cases, fmt.Sprintf("-application %d hangs at %s: %s needs %s (%s; %s)",
			number, v.First.Stuck, n.From, n.To, n.Relation, n.Form))
	}
}

// keys returns under which a need is counted.
func keys(n need) []string {
	keys := []string{string(n.Relation), string(n.Relation) + ", " + n.Form}
	if n.Relation != podsRead { // that the Secret of an address exists says nothing of the address
		keys = append(keys, n.Form)
	}
	if n.Shown {
		keys = append(keys, string(n.Relation)+", shown")
	}
	return keys
}

func (s *total) figures() []figure {
	return []figure{
		{"the first sync hangs, of applications", s.harmed, s.applications, maxHarm},
		{"an upgrade hangs, of applications", s.harmedLater, s.applications, maxUpgrade},
		{"migrations missed, of those shown", len(s.Missed), s.Shown, maxMissed},
		{"migrations after their application, of all", s.Reversed, s.Shown + s.Hidden, maxReversed},
		{"boundaries, per application", s.Boundaries, s.applications, maxBoundaries},
		{"coupled, of pairs without a need", s.Coupled, s.Pairs, maxCoupled},
		{"a fix behind what is broken, of fixes", s.FixesBehind, s.FixesChecked, maxFixes},
		{"an outage stops a later sync, of sources", s.Outages, s.Sources, maxOutages},
		{"coupled by the best order that knows all needs", s.CoupledAtLeast, s.Pairs, 1},
		{"migrations ordered, of those not shown", s.Chance, s.Hidden, 1},
		{"a broken one holds up others, of workloads", s.Blocking, s.Workloads, 1},
	}
}

// log writes the figures as a table, and where the harm comes from.
func (s *total) log(t *testing.T) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, f := range s.figures() {
		fmt.Fprintf(w, "%s\t%d\tof %d\t%.2f %%\n", f.Name, f.Is, f.Of, 100*f.Share())
	}
	fmt.Fprintf(w, "\nhangs because\thangs\tof needs\tshown\tby form\n")
	for _, r := range relations {
		var parts []string
		for _, form := range formNames() {
			if key := string(r) + ", " + form; s.hangs[key] > 0 {
				parts = append(parts, fmt.Sprintf("%s %d", form, s.hangs[key]))
			}
		}
		name := string(r)
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\n", name, s.hangs[name], s.needs[name], s.hangs[name+", shown"], strings.Join(parts, ", "))
	}
	fmt.Fprintf(w, "\nhangs over the form\thangs\tof needs\n")
	for _, form := range formNames() {
		fmt.Fprintf(w, "%s\t%d\t%d\n", form, s.hangs[form], s.needs[form])
	}
	fmt.Fprintf(w, "\nmissed migrations by sign and form\n")
	missed := map[string]int{}
	for _, m := range s.Missed {
		missed[m.Sign]++
		missed["the Job's database: "+m.Form]++
	}
	for _, sign := range slices.Sorted(maps.Keys(missed)) {
		fmt.Fprintf(w, "%s\t%d\n", sign, missed[sign])
	}
	w.Flush()
	t.Logf("%d applications, seed %d\n%s%s", s.applications, *applicationSeed, text.String(), strings.Join(s.cases, "\n"))
}

// formNames returns the forms in which needs are told, those of addresses first.
func formNames() []string {
	var names []string
	for _, f := range forms {
		names = append(names, f.name)
	}
	return append(names, "wait for the Job", "its schema", "what it prepares", "Secret of a script", "volume", "the cluster")
}

// showApplication prints one application: its manifests with our waves, its needs,
// and what the judge says.
func showApplication(t *testing.T, number uint64) {
	app := generate(*applicationSeed, number)
	objs, err := annotate(app)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, o := range objs {
		fmt.Fprintf(&text, "---\n%s\n", strings.TrimSpace(o.Text()))
	}
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	waves := map[string]int{}
	for _, o := range objs {
		waves[o.ID.Kind+"/"+o.ID.Name], _ = o.Wave()
	}
	fmt.Fprintln(w)
	for _, n := range app.Needs {
		fmt.Fprintf(w, "%s (wave %d)\tneeds %s (wave %d)\t%s\t%s\n", n.From, waves[n.From], n.To, waves[n.To], n.Relation, n.Form)
	}
	for _, m := range app.Migrations {
		fmt.Fprintf(w, "%s (wave %d)\tmigrated by %s (wave %d)\tshown %v\t%s\n",
			m.Application, waves[m.Application], m.Job, waves[m.Job], m.Shown, m.Sign)
	}
	w.Flush()
	v, err := judgeOrder(app, objs)
	t.Logf("application %d, seed %d\n%s\n%s %v", number, *applicationSeed, text.String(), v, err)
}
