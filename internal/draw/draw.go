// Package draw turns a plan into a drawing of its ladder.
//
// A table of waves says where an object stands; a drawing says who keeps it
// there. Waves are bands, the first on top; objects stand in them; an arrow
// leads from an object to what it refers to. A bold arrow is a gate: Argo CD
// waits until the object at its head is healthy. A dashed one is inferred. An
// arrow that ends in a dot orders nothing.
//
// Applications of a fleet are drawn in the same way (see Rollout).
//
// What is drawn is decided once (see picture); the formats only write it down.
// The package is pure: a plan in, text out.
package draw

import (
	"github.com/ladder-cmp/ladder/wave"
)

// Format names a language of drawings.
type Format string

const (
	// Mermaid is a flowchart that code hosts and wikis show in Markdown.
	Mermaid Format = "mermaid"
	// Dot is for Graphviz.
	Dot Format = "dot"
	// SVG is a picture that a browser shows as it is.
	SVG Format = "svg"
)

// Formats lists the formats, the default first.
func Formats() []Format { return []Format{Mermaid, Dot, SVG} }

// Options say how much is drawn. The zero value draws every object, and the
// references that order something, without those that are the same for
// everything: to its namespace, and to the definition of its kind.
type Options struct {
	// All draws every reference and each object by itself.
	All bool
	// Around, if not empty, draws only these nodes of the graph, all that they
	// need, and what refers to them.
	Around []int
}

// Ladder draws a plan.
func Ladder(p *wave.Plan, f Format, opt Options) string {
	return newPicture(p, opt).in(f)
}

func (p *picture) in(f Format) string {
	switch f {
	case Dot:
		return p.dot()
	case SVG:
		return p.svg()
	}
	return p.mermaid()
}
