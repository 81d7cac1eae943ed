package fleet

import (
	"cmp"

	"github.com/ladder-cmp/ladder/fleet/inplace"
)

// Order says when an Application is synced relative to another one.
type Order = inplace.Order

// The orders of two Applications. Unordered means that nothing orders them, or that one of them has
// no step.
const (
	Unordered = inplace.Unordered
	Earlier   = inplace.Earlier
	Same      = inplace.Same
	Later     = inplace.Later
)

// Ordered returns the order of two Applications, by their indices: whether the first one is synced
// earlier or later than the second one. Applications that were read in place are ordered where the
// branches of the tree that they are in are; all others by their steps.
func (f *Fleet) Ordered(x, y int) Order {
	a, b := f.Applications[x], f.Applications[y]
	switch {
	case f.InPlace():
		return f.Tree.Ordered(a.Node, b.Node)
	case !a.Step.Set || !b.Step.Set:
		return Unordered
	}
	switch c := cmp.Compare(a.Step.Number, b.Step.Number); {
	case c < 0:
		return Earlier
	case c > 0:
		return Later
	}
	return Same
}
