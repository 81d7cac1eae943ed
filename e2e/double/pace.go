package double

import (
	"hash/fnv"
	"io"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// pace adds delays to steps. With the same seed, a step always has the same delay,
// regardless of the order of the steps.
type pace struct {
	seed     uint64
	min, max time.Duration
	since    map[stepKey]time.Time // when a step became possible
	now      time.Time             // of this turn
	next     time.Time             // when the next step is due
}

// stepKey says whose step it is. Its delay follows from the name, so that another
// run takes as long; the UID tells an object from its successor of that name.
type stepKey struct {
	name string
	uid  types.UID
}

// ripe reports whether the delay of a step has passed since it was first asked
// for.
func (p *pace) ripe(key stepKey) bool { return p.passed(key, p.delay(key)) }

// passed is ripe with a given delay.
func (p *pace) passed(key stepKey, delay time.Duration) bool {
	first, known := p.since[key]
	if !known {
		first = p.now
		p.since[key] = first
	}
	due := first.Add(delay)
	if !p.now.Before(due) {
		return true
	}
	p.wake(due)
	return false
}

// forget records that a step is no longer possible, so its delay restarts later.
func (p *pace) forget(key stepKey) { delete(p.since, key) }

// wake asks for a turn at a time.
func (p *pace) wake(at time.Time) {
	if p.next.IsZero() || at.Before(p.next) {
		p.next = at
	}
}

func (p *pace) delay(key stepKey) time.Duration {
	if p.max <= p.min {
		return p.min
	}
	hash := fnv.New64a()
	io.WriteString(hash, strconv.FormatUint(p.seed, 10)+" "+key.name)
	return p.min + time.Duration(hash.Sum64()%uint64(p.max-p.min))
}
