package draw

import (
	"fmt"
	"strings"
	"unicode"
)

// mermaid returns a flowchart. It grows from bottom to top, because of Mermaid's
// direction of arrows, and the first wave belongs at the top.
func (p *picture) mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart BT\n")
	for i, band := range p.bands {
		fmt.Fprintf(&b, "  subgraph w%d[\"%s\"]\n", i, mermaidText(band.heading()))
		for _, at := range band.nodes {
			n := p.nodes[at]
			fmt.Fprintf(&b, "    n%d[\"%s<br/>%s\"]\n", at, mermaidText(n.kind), mermaidText(n.name))
		}
		b.WriteString("  end\n")
	}
	for _, e := range p.edges {
		fmt.Fprintf(&b, "  n%d %s|\"%s\"| n%d\n", e.from, e.mermaidArrow(), mermaidText(e.why), e.to)
	}
	// Invisible links keep the bands in order.
	for i := 1; i < len(p.bands); i++ {
		fmt.Fprintf(&b, "  w%d ~~~ w%d\n", i, i-1)
	}
	// Mermaid has no arrow that is both dashed and bold.
	for i, e := range p.edges {
		writeStyle(&b, fmt.Sprint("linkStyle ", i), e.gate && e.inferred, "stroke-width:3.5px", e.against, "stroke:#cf222e")
	}
	for at, n := range p.nodes {
		writeStyle(&b, fmt.Sprint("style n", at), n.chosen, "stroke-width:3.5px", n.off, "stroke-dasharray:2 4")
	}
	return b.String()
}

// writeStyle adds a style to a node that has one or both of two properties.
func writeStyle(b *strings.Builder, of string, is bool, look string, isToo bool, more string) {
	switch {
	case is && isToo:
		look += "," + more
	case isToo:
		look = more
	case !is:
		return
	}
	fmt.Fprintf(b, "  %s %s\n", of, look)
}

func (e edge) mermaidArrow() string {
	switch {
	case e.loose && e.inferred:
		return "-.-o"
	case e.loose:
		return "--o"
	case e.inferred:
		return "-.->"
	case e.gate:
		return "==>"
	}
	return "-->"
}

// mermaidText encodes every character that Mermaid, Markdown or HTML could
// interpret as a numeric entity.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" -./,·×", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
		if r == '\\' {
			b.WriteString(noSpace)
		}
	}
	return b.String()
}

// noSpace is a zero-width space. Mermaid's labels and Graphviz's tooltips unescape
// twice; after a backslash it prevents the second escape.
const noSpace = "\u200b"
