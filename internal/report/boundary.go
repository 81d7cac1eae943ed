package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// maxReasons is the maximum number of reasons for a wave.
const maxReasons = 3

// why says why the wave at a position comes after those before it: the objects in it that need an
// earlier one to be healthy, or else what put its objects there.
func (b *builder) why(bands []wave.WaveGroup, at int) []string {
	switch bands[at].Phase {
	case "":
		return []string{"Argo CD never applies these objects in a sync"}
	case object.Sync:
	default:
		return []string{"hooks outside the Sync phase keep the wave of their manifest"}
	}
	if all := b.gatesInto(bands, at); len(all) > 0 {
		return atMost(all)
	}
	if at == 0 || bands[at-1].Phase != object.Sync {
		return []string{} // nothing comes before the first wave
	}
	return atMost(b.placements(bands[at]))
}

func atMost(all []string) []string {
	if more := len(all) - maxReasons; more > 0 {
		all = append(all[:maxReasons:maxReasons], fmt.Sprintf("and %d more", more))
	}
	return all
}

// gatesInto returns a sentence for each object that objects of a wave need to be healthy, the
// latest first. Custom resources and their CRDs come last.
func (b *builder) gatesInto(bands []wave.WaveGroup, at int) []string {
	var others, ofKinds []string
	for _, band := range slices.Backward(bands[:at]) {
		for _, i := range band.Nodes {
			var in []wave.Dependent
			for _, d := range b.plan.Dependents(i) {
				if slices.Contains(bands[at].Nodes, d.Node) {
					in = append(in, d)
				}
			}
			if len(in) == 0 {
				continue
			}
			if in[0].Reference.IsAboutKind() {
				ofKinds = append(ofKinds, b.boundary(i, in))
			} else {
				others = append(others, b.boundary(i, in))
			}
		}
	}
	return append(others, ofKinds...)
}

// boundary says what the first of some dependents needs a node for, and how many more there are.
func (b *builder) boundary(to int, dependents []wave.Dependent) string {
	first := dependents[0]
	text := b.shortName(first.Node) + " " + first.Reference.Why + " " + b.shortName(to) + first.Reference.Detail()
	if first.Reference.Why == "" {
		text = b.shortName(first.Node) + " " + first.Reason.Without() + ": that of " + b.shortName(to)
	}
	if b.plan.IsBlind(to) {
		text += ", for which Argo CD does not wait"
	}
	if more := len(dependents) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return finding.Sanitize(text)
}

func (b *builder) shortName(i int) string {
	id := b.plan.Graph.Nodes[i].Key
	return cmp.Or(id.Kind, "object") + " " + id.Name
}

// placements returns what put the objects of a wave there that no gate explains, in their order,
// or else the rungs that start there.
func (b *builder) placements(band wave.WaveGroup) []string {
	var rungs, objects []string
	for _, i := range band.Nodes {
		place := b.plan.Places[i]
		switch {
		case !place.Computed, place.Because.Cause == wave.ByConsumer:
		case place.Because.Cause == wave.ByRung && !place.Author:
			rungs = append(rungs, finding.Sanitize(fmt.Sprintf("first wave with objects of rung %s: %s", place.Rung.Name, place.Rung.Why)))
		default:
			objects = append(objects, b.shortName(i)+": "+b.Objects[b.number[i]].Why)
		}
	}
	if len(objects) > 0 {
		return objects
	}
	slices.Sort(rungs)
	return slices.Compact(rungs)
}
