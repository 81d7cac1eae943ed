package graph

import (
	"cmp"
	"iter"
	"slices"

	"github.com/ladder-cmp/ladder/graph/facts"
)

// Set is an immutable set of references, indexed by their nodes. What a stronger reference
// says better is set aside: it stays visible, and has no effect.
type Set struct {
	all   []Reference
	aside []SetAside
	// byFrom and byTo chain the references of each node: the latest one, and for each
	// reference the previous one, counted from 1.
	byFrom, byTo     []int32
	prevFrom, prevTo []int32
}

// SetAside is a reference without effect.
type SetAside struct {
	Reference
	// By is the reference that says more about the two objects.
	By Reference
}

// newSet returns a set without references about a number of nodes.
func newSet(nodes int) Set { return Set{byFrom: make([]int32, nodes), byTo: make([]int32, nodes)} }

// With returns a set with additional references. Changing a reference means adding a
// stronger one for its pair. The order of the references does not matter.
func (s Set) With(more []Reference) Set {
	if len(more) == 0 {
		return s
	}
	all := s.clone(len(more))
	for i := range more {
		if r := &more[i]; r.From != r.To && !all.has(r) {
			all.add(*r)
		}
	}
	weaker := all.weaker()
	if len(weaker) == 0 {
		return all
	}
	out := newSet(len(s.byFrom))
	out.aside = all.aside
	for i := range all.all {
		by := weaker[i]
		if by == nil {
			out.add(all.all[i])
		} else if aside := (SetAside{all.all[i], *by}); !slices.Contains(out.aside, aside) {
			out.aside = append(out.aside, aside)
		}
	}
	return out
}

// weaker returns the references that yield, by their index, with what they yield to: a
// reference that does not yield itself.
func (s *Set) weaker() map[int]*Reference {
	var candidates []int
	for i := range s.all {
		if s.all[i].mayYield() {
			candidates = append(candidates, i)
		}
	}
	slices.SortFunc(candidates, func(x, y int) int { // what yields to nothing that yields comes first
		return cmp.Or(cmp.Compare(s.all[y].Sign, s.all[x].Sign), s.all[x].compare(&s.all[y]))
	})
	all := map[int]*Reference{}
	yields := map[*Reference]bool{}
	for _, i := range candidates {
		if by := s.stronger(&s.all[i], yields); by != nil {
			all[i], yields[&s.all[i]] = by, true
		}
	}
	return all
}

// clone returns a copy with room for more references.
func (s *Set) clone(more int) Set {
	out := *s
	out.all, out.aside = append(make([]Reference, 0, len(s.all)+more), s.all...), slices.Clip(s.aside)
	out.byFrom, out.byTo, out.prevFrom, out.prevTo = slices.Clone(s.byFrom), slices.Clone(s.byTo),
		slices.Clone(s.prevFrom), slices.Clone(s.prevTo)
	return out
}

func (s *Set) add(r Reference) {
	s.all = append(s.all, r)
	s.prevFrom, s.prevTo = append(s.prevFrom, s.byFrom[r.From]), append(s.prevTo, s.byTo[r.To])
	s.byFrom[r.From], s.byTo[r.To] = int32(len(s.all)), int32(len(s.all))
}

func (s *Set) has(r *Reference) bool {
	for other := range s.Between(r.From, r.To) {
		if *other == *r {
			return true
		}
	}
	return false
}

// stronger returns the strongest reference to which one yields and that does not yield
// itself; nil if there is none.
func (s *Set) stronger(r *Reference, yields map[*Reference]bool) (by *Reference) {
	for _, pair := range [][2]int{{r.From, r.To}, {r.To, r.From}} {
		for o := range s.Between(pair[0], pair[1]) {
			if r.yieldsTo(o) && !yields[o] && (by == nil || o.Sign > by.Sign || o.Sign == by.Sign && o.compare(by) < 0) {
				by = o
			}
		}
	}
	return by
}

// mayYield reports whether a reference gives way to others that say more about its two
// objects. Others have a subject of their own, such as permissions or webhooks.
func (r *Reference) mayYield() bool {
	return slices.Contains([]Sign{Name, Field, Address, Permission, Convention}, r.Sign) || r.sharesWave()
}

// sharesWave reports whether the two objects must share a wave.
func (r *Reference) sharesWave() bool { return r.Need == Needs && r.Until == Together && !r.Inferred() }

// yieldsTo reports whether another reference between the same two objects says more
// about them, in the same direction or in the opposite one.
func (r *Reference) yieldsTo(o *Reference) bool {
	same := r.From == o.From
	switch r.Sign {
	case Name, Field, Address: // a name or an address in passing says little
		return same && o.Sign > r.Sign && o.Sign != Address
	case Convention: // of two objects that name each other, one knows the other by a record
		return o.Sign > Convention || o.Sign == Convention && o.From < r.From
	case Permission: // what may be is no reason against what a user asked for
		return !same && o.Explicit()
	}
	// A configuration that must come after its backend cannot share a wave with it.
	return r.sharesWave() && same && o.Until == Healthy && o.Field == r.Field && o.Sign >= Registration
}

// All iterates over the references.
func (s *Set) All() iter.Seq[*Reference] {
	return func(yield func(*Reference) bool) {
		for i := range s.all {
			if !yield(&s.all[i]) {
				return
			}
		}
	}
}

// Of iterates over the references from a node.
func (s *Set) Of(node int) iter.Seq[*Reference] { return s.chain(s.byFrom[node], s.prevFrom) }

// To iterates over the references to a node.
func (s *Set) To(node int) iter.Seq[*Reference] { return s.chain(s.byTo[node], s.prevTo) }

func (s *Set) chain(at int32, prev []int32) iter.Seq[*Reference] {
	return func(yield func(*Reference) bool) {
		for ; at > 0; at = prev[at-1] {
			if !yield(&s.all[at-1]) {
				return
			}
		}
	}
}

// Between iterates over the references from one node to another.
func (s *Set) Between(from, to int) iter.Seq[*Reference] {
	return func(yield func(*Reference) bool) {
		for r := range s.Of(from) {
			if r.To == to && !yield(r) {
				return
			}
		}
	}
}

// Refers reports whether one node refers to another.
func (s *Set) Refers(from, to int) bool {
	for range s.Between(from, to) {
		return true
	}
	return false
}

// Referrers returns the nodes that refer to a node, in order.
func (s *Set) Referrers(to int) []int {
	var all []int
	for r := range s.To(to) {
		all = append(all, r.From)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// DependenciesOf returns the nodes that a node needs, without those that start together
// with it.
func (s *Set) DependenciesOf(node int) []int {
	var all []int
	for r := range s.Of(node) {
		if r.Need != NeedsNot && r.Until != Together {
			all = append(all, r.To)
		}
	}
	return all
}

// except returns the set without the waits that a user excepted. The objects may then
// share a wave.
func (s Set) except(exceptions map[[2]int]string) Set {
	if len(exceptions) == 0 {
		return s
	}
	out := newSet(len(s.byFrom))
	out.aside = slices.Clip(s.aside)
	for i := range s.all {
		r := s.all[i]
		key, excepted := exceptions[[2]int{r.From, r.To}]
		if !excepted || r.Explicit() || r.Need == NeedsNot || r.Until != Healthy {
			out.add(r)
			continue
		}
		by := Reference{From: r.From, To: r.To, Field: facts.AnnotationField(key), Need: NeedsNot, Until: Healthy,
			Sign: Annotation, Why: "has the " + key + " annotation, so it need not wait for"}
		out.aside = append(out.aside, SetAside{r, by})
		r.Until, r.Fails, r.Because = Exists, Degrades, "no wait, because of annotation "+key
		out.add(r)
	}
	return out
}
