// Package simulate plays a sync of Argo CD on manifests with waves, with
// dependencies that no manifest shows. It knows Argo CD's rules and its health
// checks, and nothing of how waves are computed or what refers to what, so that
// it can tell of an order what the order does not know of itself.
//
// The rules are those of gitops-engine pkg/sync/sync_context.go: the objects of a
// wave are applied together; the next wave comes when all of them that have a
// health check are healthy; the last wave is not waited for unless a hook is in
// it. Programs are taken to try again until what they need is there, as most do,
// so that without waves everything converges.
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

// Need is a dependency: From is not healthy until To is there and, if Argo CD has
// a health check for it, healthy. Both are indices of Objects.
type Need struct{ From, To int }

// New takes the objects of the Sync phase from manifests, with the waves that
// Argo CD reads off them.
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

// WithoutWaves is the same Application as Argo CD syncs it by itself.
func (s *Sync) WithoutWaves() *Sync {
	plain := *s
	plain.waves = make([]int, len(s.waves))
	return &plain
}

// Objects are the objects of the Sync phase.
func (s *Sync) Objects() []object.Object { return s.objs }

// Waves is how many waves there are.
func (s *Sync) Waves() int {
	return len(slices.Compact(slices.Sorted(slices.Values(s.waves))))
}

// Play syncs. It returns the object that Argo CD waits for in vain, or -1 if all
// waves are applied, and whether all that has a health check is healthy at the end.
func (s *Sync) Play(needs []Need) (stuck int, healthy bool) {
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

// settle lets everything become healthy that can.
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

// Harm is a set of dependencies with which Argo CD's own order converges and this
// one does not, and the object that it waits for in vain.
type Harm struct {
	Needs []Need
	Stuck int
}

// Pairs invents a dependency of each object that runs Pods on each other object,
// one at a time. It returns how many there are, and those that do harm.
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

// Sets invents sets of up to most dependencies at a time, by a generator of random
// numbers that the caller has seeded. Sets with which nothing converges do not count.
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
		if _, healthy := plain.Play(needs); !healthy {
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
	stuck, healthy := s.Play(needs)
	return Harm{needs, stuck}, !healthy
}
