package importer

import (
	"slices"
)

// position returns the position of an Application in the order: the waves of its parents,
// starting at the root, with the steps of ApplicationSets after their waves.
func (a *application) position() []int {
	if a == nil {
		return nil
	}
	var all []int
	if a.parentApp != nil {
		all = a.parentApp.position()
	}
	if a.set != "" {
		all = append(all, a.wave, a.step)
	} else if a.parentApp != nil || !a.parent { // a root parent has no position
		all = append(all, a.wave)
	}
	return all
}

// number assigns a step to each Application. If only the waves of one parent order them, the
// waves are the steps. Otherwise the positions are counted in tens.
func (w *work) number(all []*application) map[*application]int {
	places := map[*application][]int{}
	flat := true
	var distinct [][]int
	for _, app := range all {
		p := app.position()
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

// comparePlaces compares positions from the root; missing elements count as 0.
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
