package draw

import (
	"fmt"
	"strings"
	"unicode"
)

// mermaid returns a flowchart. Its direction is bottom to top, because Mermaid's arrows
// point in that direction, and dependencies, which have earlier waves, belong at the
// top.
func (p *picture) mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart BT\n")
	for i, s := range p.sections {
		fmt.Fprintf(&b, "  subgraph w%d[\"%s\"]\n", i, mermaidText(s.heading()))
		for _, at := range s.nodes {
			n := p.nodes[at]
			fmt.Fprintf(&b, "    n%d[\"%s<br/>%s\"]\n", at, mermaidText(n.kind), mermaidText(n.name))
		}
		b.WriteString("  end\n")
	}
	for _, e := range p.edges {
		fmt.Fprintf(&b, "  n%d %s|\"%s\"| n%d\n", e.from, e.mermaidEdge(), mermaidText(e.why), e.to)
	}
	// Invisible links keep the sections in order.
	for i := 1; i < len(p.sections); i++ {
		fmt.Fprintf(&b, "  w%d ~~~ w%d\n", i, i-1)
	}
	// Mermaid has no arrow that is both dashed and bold.
	for i, e := range p.edges {
		writeStyle(&b, fmt.Sprint("linkStyle ", i), e.gate && e.inferred, "stroke-width:3.5px", e.contradicted, "stroke:#cf222e")
	}
	for at, n := range p.nodes {
		writeStyle(&b, fmt.Sprint("style n", at), n.isFocus, "stroke-width:3.5px", n.isDisabled, "stroke-dasharray:2 4")
	}
	return b.String()
}

// writeStyle writes a Mermaid style statement for a node or an edge, with the styles
// whose conditions are true.
func writeStyle(b *strings.Builder, statement string, isFirst bool, first string, isSecond bool, second string) {
	switch {
	case isFirst && isSecond:
		first += "," + second
	case isSecond:
		first = second
	case !isFirst:
		return
	}
	fmt.Fprintf(b, "  %s %s\n", statement, first)
}

func (e edge) mermaidEdge() string {
	switch {
	case e.ignored && e.inferred:
		return "-.-o"
	case e.ignored:
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
			b.WriteString(zeroWidthSpace)
		}
	}
	return b.String()
}

// zeroWidthSpace prevents the second escape after a backslash: Mermaid's labels and
// Graphviz's tooltips unescape twice.
const zeroWidthSpace = "\u200b"
