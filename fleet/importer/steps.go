package importer

import (
	"slices"
)

// place is where an Application is in the order: the waves of its parents from above,
// and after each ApplicationSet its step.
func (a *application) place() []int {
	if a == nil {
		return nil
	}
	var all []int
	if a.above != nil {
		all = a.above.place()
	}
	if a.from != "" {
		all = append(all, a.wave, a.step)
	} else if a.above != nil || !a.parent { // nothing orders a parent that has none
		all = append(all, a.wave)
	}
	return all
}

// number gives each Application its step. Where only the waves of one parent order them,
// these are the steps; where parents and steps of ApplicationSets do, steps are counted,
// in tens.
func (w *work) number(all []*application) map[*application]int {
	places := map[*application][]int{}
	flat := true
	var distinct [][]int
	for _, app := range all {
		p := app.place()
		for len(p) > 0 && p[len(p)-1] == 0 {
			p = p[:len(p)-1]
		}
		places[app] = p
		flat = flat && len(p) <= 1 && app.step == 0
		distinct = append(distinct, p)
	}
	slices.SortFunc(distinct, comparePlaces)
	distinct = slices.CompactFunc(distinct, func(x, y []int) bool { return comparePlaces(x, y) == 0 })
	numbers := map[*application]int{}
	for _, app := range all {
		p := places[app]
		switch {
		case !flat:
			numbers[app] = 10 * (1 + slices.IndexFunc(distinct, func(d []int) bool { return comparePlaces(d, p) == 0 }))
		case len(p) == 1:
			numbers[app] = p[0]
		}
	}
	return numbers
}

// comparePlaces compares from above, where what is missing is 0.
func comparePlaces(x, y []int) int {
	for i := range max(len(x), len(y)) {
		var a, b int
		if i < len(x) {
			a = x[i]
		}
		if i < len(y) {
			b = y[i]
		}
		if a != b {
			return a - b
		}
	}
	return 0
}
