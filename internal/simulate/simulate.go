// Package simulate simulates an Argo CD sync of manifests with waves, with
// dependencies that no manifest shows. It implements Argo CD's rules and health
// checks, but neither computes waves nor finds references, so that it tests an
// order independently.
//
// The rules are those of gitops-engine pkg/sync/sync_context.go: the objects of a
// wave are applied together; the next wave starts when all of them with a health
// check are healthy; the last wave is not awaited unless it contains a hook.
// Programs are assumed to retry until their dependencies exist, as most do, so
// without waves everything converges.
package simulate

import (
	"math/rand/v2"
	"slices"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Sync is the Sync phase of an Application.
type Sync struct {
	objs   []object.Object
	waves  []int
	health []bool
	runs   []bool
	hooks  []bool
}

// Need is a dependency: From does not become healthy until To exists and, if Argo
// CD has a health check for it, is healthy. Both are indexes into Objects.
type Need struct{ From, To int }

// New returns the Sync phase of manifests, with the waves that Argo CD reads.
func New(objs []object.Object, base *knowledge.Base) *Sync {
	s := &Sync{}
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
func (s *Sync) WithoutWaves() *Sync {
	plain := *s
	plain.waves = make([]int, len(s.waves))
	return &plain
}

// Objects returns the objects of the Sync phase.
func (s *Sync) Objects() []object.Object { return s.objs }

// Waves returns the number of waves.
func (s *Sync) Waves() int {
	return len(slices.Compact(slices.Sorted(slices.Values(s.waves))))
}

// Run simulates the sync. It returns the object that blocks it, or -1 if all waves
// are applied, and whether all objects with a health check are healthy at the end.
func (s *Sync) Run(needs []Need) (stuck int, healthy bool) {
	byFrom := make([][]int, len(s.objs))
	for _, n := range needs {
		byFrom[n.From] = append(byFrom[n.From], n.To)
	}
	waves := slices.Compact(slices.Sorted(slices.Values(s.waves)))
	applied, well := make([]bool, len(s.objs)), make([]bool, len(s.objs))
	for at, wave := range waves {
		awaited := at < len(waves)-1
		for i, w := range s.waves {
			if w == wave {
				applied[i] = true
				awaited = awaited || s.hooks[i]
			}
		}
		settle(applied, well, byFrom)
		for i, w := range s.waves {
			if awaited && w == wave && s.health[i] && !well[i] {
				return i, false
			}
		}
	}
	for i := range s.objs {
		if s.health[i] && !well[i] {
			return -1, false
		}
	}
	return -1, true
}

// settle makes all objects healthy whose dependencies allow it.
func settle(applied, well []bool, byFrom [][]int) {
	for changed := true; changed; {
		changed = false
		for i := range applied {
			if !applied[i] || well[i] || slices.ContainsFunc(byFrom[i], func(to int) bool { return !well[to] }) {
				continue
			}
			well[i], changed = true, true
		}
	}
}

// Harm is a set of dependencies that converges in Argo CD's own order but not in
// this one, with the object that blocks it.
type Harm struct {
	Needs []Need
	Stuck int
}

// Pairs tries a dependency of each object with Pods on each other object, one at a
// time. It returns their number, and the harmful ones.
func (s *Sync) Pairs() (tried int, harm []Harm) {
	for from, runs := range s.runs {
		for to := range s.objs {
			if !runs || from == to {
				continue
			}
			tried++
			if h, harmful := s.try([]Need{{from, to}}); harmful {
				harm = append(harm, h)
			}
		}
	}
	return tried, harm
}

// Sets tries random sets of up to most dependencies, with the caller's random
// number generator. Sets that never converge do not count.
func (s *Sync) Sets(random *rand.Rand, sets, most int) (tried int, harm []Harm) {
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
		needs := make([]Need, 1+random.IntN(most))
		for i := range needs {
			needs[i] = Need{programs[random.IntN(len(programs))], random.IntN(len(s.objs))}
		}
		if _, healthy := plain.Run(needs); !healthy {
			continue
		}
		tried++
		if h, harmful := s.try(needs); harmful {
			harm = append(harm, h)
		}
	}
	return tried, harm
}

func (s *Sync) try(needs []Need) (Harm, bool) {
	stuck, healthy := s.Run(needs)
	return Harm{needs, stuck}, !healthy
}
