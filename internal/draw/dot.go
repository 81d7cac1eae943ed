package draw

import (
	"fmt"
	"strings"
)

// dot returns the graph for Graphviz, from bottom to top like mermaid. Invisible
// edges between sections keep them in order.
func (p *picture) dot() string {
	var b strings.Builder
	b.WriteString(`digraph ladder {
  rankdir=BT
  graph [fontname="sans-serif", fontsize=12, style=rounded, color="#9aa0a6", labelloc=b, labeljust=l]
  node [fontname="sans-serif", fontsize=11, shape=box, style=rounded]
  edge [fontname="sans-serif", fontsize=9]
`)
	for i, s := range p.sections {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=\"%s\"\n", i, dotText(s.heading()))
		for _, at := range s.nodes {
			n := p.nodes[at]
			fmt.Fprintf(&b, "    n%d [label=\"%s\\n%s\", tooltip=\"%s\"%s]\n", at, dotText(n.kind), dotText(n.name), dotText(n.tip), n.dotStyle())
		}
		b.WriteString("  }\n")
	}
	for _, e := range p.edges {
		fmt.Fprintf(&b, "  n%d -> n%d [label=\"%s\", tooltip=\"%s\", labeltooltip=\"%s\"%s]\n", e.from, e.to, dotText(e.why), dotText(e.tip()), dotText(e.tip()), e.dotStyle())
	}
	for i := 1; i < len(p.sections); i++ {
		fmt.Fprintf(&b, "  rail%d [shape=point, style=invis]\n", i)
		fmt.Fprintf(&b, "  {%s} -> rail%d -> {%s} [style=invis]\n", dotNodes(p.sections[i]), i, dotNodes(p.sections[i-1]))
	}
	b.WriteString("}\n")
	return b.String()
}

func dotNodes(b section) string {
	var names []string
	for _, at := range b.nodes {
		names = append(names, fmt.Sprintf("n%d", at))
	}
	return strings.Join(names, " ")
}

func (n node) dotStyle() string {
	text := ""
	if n.isFocus {
		text += ", penwidth=2.5"
	}
	if n.isDisabled {
		text += ", style=\"rounded,dotted\""
	}
	return text
}

func (e edge) dotStyle() string {
	var styles []string
	if e.inferred {
		styles = append(styles, "dashed")
	}
	if e.gate {
		styles = append(styles, "bold")
	}
	text := ""
	if styles != nil {
		text = fmt.Sprintf(", style=\"%s\"", strings.Join(styles, ","))
	}
	if e.ignored {
		text += ", arrowhead=odot"
	}
	switch {
	case e.contradicted:
		text += ", color=\"#cf222e\""
	case e.ignored:
		text += ", color=\"#9aa0a6\""
	}
	return text
}

// dotText escapes characters with a meaning in quoted strings, and the ampersand,
// since Graphviz interprets HTML entities in any text.
var dotText = strings.NewReplacer(`\`, `\\`+zeroWidthSpace, `"`, `\"`, "&", "&amp;").Replace
