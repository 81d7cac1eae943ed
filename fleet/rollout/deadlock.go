package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet/steps"
)

// Stuck is an Application that never becomes healthy.
type Stuck struct {
	Application int
	// Begins is false if it is never synced.
	Begins bool
	Why    string
}

// stuck lists the Applications that never become healthy, with the reasons.
func (p *simulation) stuck() {
	for set, s := range p.Layout.Sets {
		for n, step := range s.Steps {
			for _, app := range step.Applications {
				if i, hasStarted := p.span[app]; !hasStarted || !p.Spans[i].Healthy {
					p.Stuck = append(p.Stuck, Stuck{app, hasStarted, p.whyStuck(app, set, n, hasStarted)})
				}
			}
		}
	}
	for _, app := range p.Layout.Never {
		p.Stuck = append(p.Stuck, Stuck{app, false, "no step selects it, so it is only synced manually"})
	}
}

func (p *simulation) whyStuck(app, set, n int, hasStarted bool) string {
	at := p.sets[set].step
	step, current := p.Layout.Sets[set].Steps[n], p.Layout.Sets[set].Steps[at]
	switch {
	case hasStarted && p.fleet.Applications[app].Failed:
		return "it does not render"
	case hasStarted && p.fail[app]:
		return "it never becomes healthy (--fail)"
	case hasStarted && p.missingDependencies[p.fleet.Applications[app]].Application != nil:
		return "it waits for " + p.missingDependencies[p.fleet.Applications[app]].String()
	case hasStarted:
		n := p.missing(app)[0]
		to := p.fleet.Applications[n.To].Name
		if p.isMutual(app) {
			return fmt.Sprintf("it and %s wait for each other, because %s", to, n.Because())
		}
		return fmt.Sprintf("it waits for %s, because %s", to, n.Because())
	case n > at:
		return fmt.Sprintf("%s comes after %s, which never ends", step.phrase(), current.phrase())
	case step.Manual:
		return step.phrase() + " is only synced manually"
	}
	var holders []string
	for _, other := range step.Applications {
		if i, hasStarted := p.span[other]; hasStarted && !p.Spans[i].Healthy {
			holders = append(holders, p.fleet.Applications[other].Name)
		}
	}
	return fmt.Sprintf("%s updates %d at a time and waits for %s", step.phrase(), step.MaxUpdate, strings.Join(holders, ", "))
}

// isMutual reports whether an Application and one that it waits for wait for each
// other.
func (p *simulation) isMutual(app int) bool {
	for _, n := range p.missing(app) {
		if slices.ContainsFunc(p.missing(n.To), func(back steps.Dependency) bool { return back.To == app }) {
			return true
		}
	}
	return false
}

// unordered lists the dependencies between sets.
func (p *simulation) unordered() {
	set := map[int]int{}
	for i, s := range p.Layout.Sets {
		for _, step := range s.Steps {
			for _, app := range step.Applications {
				set[app] = i
			}
		}
	}
	for _, n := range p.all {
		from, ok := set[n.From]
		to, both := set[n.To]
		if !ok || !both || from == to {
			continue
		}
		c := Crossing{From: n.From, To: n.To, Why: n.Because()}
		x, hasStarted := p.span[n.From]
		y, exists := p.span[n.To]
		if hasStarted && exists && p.Spans[y].Healthy {
			c.Waits = p.Spans[y].End - p.Spans[x].Start
			if !n.Later {
				c.Waits = p.Spans[y].Start - p.Spans[x].Start
			}
		}
		p.Unordered = append(p.Unordered, c)
	}
}
