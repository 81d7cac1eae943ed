// Package draw draws the ladder of a plan.
//
// A table of waves shows where an object is; a drawing also shows why. Waves are
// sections, the first at the top, with their objects; an arrow leads from an object to
// the target of its reference. A bold arrow is a gate: Argo CD waits until the
// target is healthy. A dashed arrow is inferred. An arrow that ends with a dot does
// not affect the order.
//
// Applications of a fleet are drawn in the same way (see Rollout).
//
// The content is determined once (see picture); the formats only encode it. The
// package is pure: a plan in, text out.
package draw

import (
	"github.com/ladder-cmp/ladder/wave"
)

// Format is an output format.
type Format string

const (
	// Mermaid is a flowchart for Markdown on code hosts and wikis.
	Mermaid Format = "mermaid"
	// Dot is a graph for Graphviz.
	Dot Format = "dot"
)

// Formats lists the formats, the default first.
func Formats() []Format { return []Format{Mermaid, Dot} }

// Options limit what is drawn. The zero value draws every object, and the
// references that affect the order, except those of every object: to its namespace,
// and to the CRD of its kind.
type Options struct {
	// All draws every reference, and does not group objects.
	All bool
	// ApplicationNames maps the node of an ApplicationSet to the names of the
	// Applications that it generates.
	ApplicationNames map[int][]string
	// Focus, if not empty, draws only these nodes, their transitive dependencies,
	// and the objects that refer to them.
	Focus []int
}

// Ladder draws a plan.
func Ladder(p *wave.Plan, f Format, opt Options) string {
	return newPicture(p, opt).encode(f)
}

// encode returns the picture in a format.
func (p *picture) encode(f Format) string {
	if f == Dot {
		return p.dot()
	}
	return p.mermaid()
}
