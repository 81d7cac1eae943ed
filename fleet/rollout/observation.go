package rollout

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/deployment"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Sync is a sync of an Application that succeeded, until the Application was healthy.
type Sync struct{ Start, End time.Time }

// Duration returns the duration of the sync.
func (s Sync) Duration() time.Duration { return s.End.Sub(s.Start) }

// Observed contains the syncs that Argo CD recorded for a fleet.
type Observed struct {
	// Rollout maps Applications of the fleet to their syncs in one rollout: the one
	// that contains the most Applications; in a tie, the latest.
	Rollout map[string]Sync
	// Latest maps all other Applications to their last sync.
	Latest map[string]Sync
}

// minPause is the minimum pause between two rollouts. Argo CD starts the next step within
// seconds, and polls for new commits every three minutes.
const minPause = 10 * time.Minute

// Observe reads the syncs of the Applications of a fleet from their manifests, as a
// cluster returns them: the history and the last operation. It fails if there are none.
func Observe(f *fleet.Fleet, environment, from string, objs []object.Object) (Observed, error) {
	names := map[string]string{}
	for app, name := range deployment.Names(f, environment) {
		names[name] = app.Name
	}
	all := map[string][]Sync{}
	for _, o := range objs {
		name, ours := names[o.ID.Name]
		if _, twice := all[name]; !ours || twice || o.ID.Group != "argoproj.io" || o.ID.Kind != "Application" {
			continue
		}
		if syncs := syncsOf(o); len(syncs) > 0 {
			all[name] = syncs
		}
	}
	if len(all) == 0 {
		return Observed{}, finding.Finding{Severity: finding.Error, Rule: "no-durations", File: from, Message: "no Application of the fleet has a status with a sync that succeeded",
			Remedy: "export them with kubectl get applications.argoproj.io --all-namespaces --output yaml"}
	}
	return findRollouts(all), nil
}

// syncsOf returns the successful syncs of whole Applications. Partial syncs, and objects
// that were applied with kubectl, say nothing about a rollout.
func syncsOf(o object.Object) []Sync {
	var all []Sync
	add := func(start, end object.Value) {
		s, err := time.Parse(time.RFC3339, start.Text())
		e, wrong := time.Parse(time.RFC3339, end.Text())
		if err == nil && wrong == nil && !e.Before(s) {
			all = append(all, Sync{s, e})
		}
	}
	for _, h := range o.Get("status", "history").Items() {
		add(h.Get("deployStartedAt"), h.Get("deployedAt"))
	}
	op := o.Get("status", "operationState")
	sync := op.Get("operation", "sync")
	if op.Get("phase").Text() == "Succeeded" && !sync.Get("dryRun").True() && len(sync.Get("resources").Items()) == 0 {
		add(op.Get("startedAt"), op.Get("finishedAt"))
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(x, y Sync) int { return cmp.Or(x.Start.Compare(y.Start), x.End.Compare(y.End)) })
	// A sync does not wait for the last wave, but the Application is healthy only after
	// that. A transition long after the sync is not due to it.
	last := &all[len(all)-1]
	healthy, err := time.Parse(time.RFC3339, o.Get("status", "health", "lastTransitionTime").Text())
	if err == nil && o.Get("status", "health", "status").Text() == "Healthy" && healthy.After(last.End) && healthy.Sub(last.End) < minPause {
		last.End = healthy
	}
	return all
}

// findRollouts finds the rollouts: syncs without a long pause between them.
func findRollouts(all map[string][]Sync) Observed {
	type named struct {
		name string
		Sync
	}
	var line []named
	for name, syncs := range all {
		for _, s := range syncs {
			line = append(line, named{name, s})
		}
	}
	slices.SortFunc(line, func(x, y named) int {
		return cmp.Or(x.Start.Compare(y.Start), strings.Compare(x.name, y.name), x.End.Compare(y.End))
	})
	var best, now map[string]Sync
	var end time.Time
	for _, s := range line {
		if now == nil || s.Start.Sub(end) > minPause {
			now = map[string]Sync{}
		}
		// Of several syncs of one Application in a rollout, only one did the work; the
		// others are retries and refreshes.
		if known, twice := now[s.name]; !twice || s.Duration() > known.Duration() {
			now[s.name] = s.Sync
		}
		if s.End.After(end) {
			end = s.End
		}
		if len(now) >= len(best) {
			best = now
		}
	}
	o := Observed{Rollout: best, Latest: map[string]Sync{}}
	for name, syncs := range all {
		if _, exists := best[name]; !exists {
			o.Latest[name] = syncs[len(syncs)-1]
		}
	}
	return o
}

// of returns the sync of an Application.
func (o Observed) of(name string) (s Sync, known bool) {
	if s, known = o.Rollout[name]; known {
		return s, true
	}
	s, known = o.Latest[name]
	return s, known
}

// MeasuredStep is a step of a simulated rollout with its measured duration.
type MeasuredStep struct {
	Set, Step int
	// Measured is how many of its Applications the real rollout contains.
	Measured int
	// Simulated and Real are the durations; Real is from the first start of a sync to
	// the last end.
	Simulated, Real time.Duration
	// Done is false if the simulated step never ends.
	Done bool
}

// CompareWith compares the steps of a run with the observed rollout. It also returns the start
// of that rollout and its duration.
func (r *Run) CompareWith(o Observed) (steps []MeasuredStep, start time.Time, total time.Duration) {
	var all Sync
	for _, s := range r.Steps {
		row := MeasuredStep{Set: s.Set, Step: s.Step, Simulated: s.End - s.Start, Done: s.Done}
		var real Sync
		for _, app := range r.Layout.Sets[s.Set].Steps[s.Step].Applications {
			if sync, exists := o.Rollout[r.fleet.Applications[app].Name]; exists {
				row.Measured++
				real, all = real.with(sync), all.with(sync)
			}
		}
		row.Real = real.Duration()
		steps = append(steps, row)
	}
	return steps, all.Start, all.Duration()
}

// with returns the span from the first start to the last end of two syncs.
func (s Sync) with(other Sync) Sync {
	if s.Start.IsZero() {
		return other
	}
	if other.Start.Before(s.Start) {
		s.Start = other.Start
	}
	if other.End.After(s.End) {
		s.End = other.End
	}
	return s
}
