package wave_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// simulation is the Sync phase of an Application as Argo CD performs it. It knows
// Argo CD's rules and health checks, but neither computes waves nor finds references,
// so that it tests an order independently.
//
// The rules are those of gitops-engine pkg/sync/sync_context.go: the objects of a
// wave are applied together; the next wave starts when all of them with a health
// check are healthy; the last wave is not awaited unless it contains a hook.
// Programs are assumed to retry until their dependencies exist, as most do, so
// without waves everything converges.
type simulation struct {
	objs   []object.Object
	waves  []int
	health []bool
	runs   []bool
	hooks  []bool
}

// dependency says that From does not become healthy until To exists and,
// if Argo CD has a health check for it, is healthy. From and To are indexes
// into Objects.
type dependency struct{ From, To int }

// newSimulation returns the Sync phase of manifests, with the waves that Argo CD reads.
func newSimulation(objs []object.Object, base *knowledge.Base) *simulation {
	s := &simulation{}
	for _, o := range objs {
		if !o.InSync() {
			continue
		}
		wave, _ := o.Wave()
		kind := base.Of(o)
		_, health := kind.HealthOf(o)
		s.objs = append(s.objs, o)
		s.waves = append(s.waves, wave)
		s.health = append(s.health, health)
		s.runs = append(s.runs, !kind.Pod.IsZero() && kind.Runs != "later")
		s.hooks = append(s.hooks, o.IsHook())
	}
	return s
}

// WithoutWaves returns the same Application in Argo CD's own order.
func (s *simulation) WithoutWaves() *simulation {
	plain := *s
	plain.waves = make([]int, len(s.waves))
	return &plain
}

// Objects returns the objects of the Sync phase.
func (s *simulation) Objects() []object.Object { return s.objs }

// Waves returns the number of waves.
func (s *simulation) Waves() int {
	return len(slices.Compact(slices.Sorted(slices.Values(s.waves))))
}

// Run simulates the sync. It returns the object that blocks it, or -1 if all waves
// are applied, and whether all objects with a health check are healthy at the end.
func (s *simulation) Run(dependencies []dependency) (stuck int, healthy bool) {
	byFrom := make([][]int, len(s.objs))
	for _, n := range dependencies {
		byFrom[n.From] = append(byFrom[n.From], n.To)
	}
	waves := slices.Compact(slices.Sorted(slices.Values(s.waves)))
	applied, isHealthy := make([]bool, len(s.objs)), make([]bool, len(s.objs))
	for at, wave := range waves {
		awaited := at < len(waves)-1
		for i, w := range s.waves {
			if w == wave {
				applied[i] = true
				awaited = awaited || s.hooks[i]
			}
		}
		makeHealthy(applied, isHealthy, byFrom)
		for i, w := range s.waves {
			if awaited && w == wave && s.health[i] && !isHealthy[i] {
				return i, false
			}
		}
	}
	for i := range s.objs {
		if s.health[i] && !isHealthy[i] {
			return -1, false
		}
	}
	return -1, true
}

// makeHealthy makes all objects healthy whose dependencies allow it.
func makeHealthy(applied, isHealthy []bool, byFrom [][]int) {
	for changed := true; changed; {
		changed = false
		for i := range applied {
			if !applied[i] || isHealthy[i] || slices.ContainsFunc(byFrom[i], func(to int) bool { return !isHealthy[to] }) {
				continue
			}
			isHealthy[i], changed = true, true
		}
	}
}

// harmful is a set of dependencies that converges in Argo CD's own order but not in
// this one, with the object that blocks it.
type harmful struct {
	Dependencies []dependency
	Stuck        int
}

// Pairs tries a dependency of each object with Pods on each other object, one at a
// time. It returns their number, and the harmful ones.
func (s *simulation) Pairs() (tried int, harm []harmful) {
	for from, runs := range s.runs {
		for to := range s.objs {
			if !runs || from == to {
				continue
			}
			tried++
			if h, hangs := s.try([]dependency{{from, to}}); hangs {
				harm = append(harm, h)
			}
		}
	}
	return tried, harm
}

// Sets tries random sets of up to maxSize dependencies, with the caller's random
// number generator. Sets that never converge do not count.
func (s *simulation) Sets(random *rand.Rand, sets, maxSize int) (tried int, harm []harmful) {
	var programs []int
	for i, runs := range s.runs {
		if runs {
			programs = append(programs, i)
		}
	}
	if len(programs) == 0 || len(s.objs) < 2 {
		return 0, nil
	}
	plain := s.WithoutWaves()
	for range sets {
		dependencies := make([]dependency, 1+random.IntN(maxSize))
		for i := range dependencies {
			dependencies[i] = dependency{programs[random.IntN(len(programs))], random.IntN(len(s.objs))}
		}
		if _, healthy := plain.Run(dependencies); !healthy {
			continue
		}
		tried++
		if h, hangs := s.try(dependencies); hangs {
			harm = append(harm, h)
		}
	}
	return tried, harm
}

func (s *simulation) try(dependencies []dependency) (harmful, bool) {
	stuck, healthy := s.Run(dependencies)
	return harmful{dependencies, stuck}, !healthy
}

// three are a Secret and two workloads in waves of their own.
const three = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: early, annotations: {argocd.argoproj.io/sync-wave: "1"}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: late, annotations: {argocd.argoproj.io/sync-wave: "2"}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: last, annotations: {argocd.argoproj.io/sync-wave: "2"}}}
`

func TestSimulation(t *testing.T) {
	objs, err := object.Parse("three.yaml", 1, three)
	if err != nil {
		t.Fatal(err)
	}
	s := newSimulation(objs, knowledge.Default())
	const early, late, last = 0, 1, 2
	for _, tt := range []struct {
		name         string
		dependencies []dependency
		stuck        int
		healthy      bool
	}{
		{"nothing", nil, -1, true},
		{"what comes later", []dependency{{From: early, To: late}}, early, false},
		{"what came before", []dependency{{From: last, To: early}}, -1, true},
		{"itself over another one", []dependency{{From: last, To: late}, {From: early, To: last}}, early, false},
		{"each other, in the last wave", []dependency{{From: last, To: last}}, -1, false},
	} {
		stuck, healthy := s.Run(tt.dependencies)
		if stuck != tt.stuck || healthy != tt.healthy {
			t.Errorf("%s: stuck at %d, healthy %v; want %d, %v", tt.name, stuck, healthy, tt.stuck, tt.healthy)
		}
		if stuck, _ := s.WithoutWaves().Run(tt.dependencies); stuck != -1 {
			t.Errorf("%s: without waves it is stuck at %d", tt.name, stuck)
		}
	}
	// Of the four pairs, the first Deployment may need the two of the wave after it.
	if tried, harm := s.Pairs(); tried != 4 || len(harm) != 2 {
		t.Errorf("%d pairs, %d do harm; want 4, 2", tried, len(harm))
	}
}
