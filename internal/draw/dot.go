package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// dot returns the graph for Graphviz, from bottom to top like mermaid. Invisible edges keep the
// sections in order, and break each of them into rows.
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
			fmt.Fprintf(&b, "    n%d [label=\"%s\\n%s\", tooltip=\"%s\"%s]\n", at, dotText(n.kind), dotLines(n.name), dotText(n.tip), n.dotStyle())
		}
		b.WriteString("  }\n")
	}
	for _, e := range p.edges {
		fmt.Fprintf(&b, "  n%d -> n%d [label=\"%s\", tooltip=\"%s\", labeltooltip=\"%s\"%s]\n", e.from, e.to, dotText(e.why),
			dotText(e.tip()), dotText(e.tip()), e.dotStyle())
	}
	var above []int
	for _, s := range p.sections {
		for _, row := range p.rows(s) {
			for at := range max(len(row), len(above)) {
				if above != nil {
					fmt.Fprintf(&b, "  n%d -> n%d [style=invis]\n", row[min(at, len(row)-1)], above[min(at, len(above)-1)])
				}
			}
			above = row
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// rowLength is the maximum number of objects side by side. Graphviz puts all objects without an
// arrow between them on one line, which is then many screens wide.
const rowLength = 4

// rows returns the objects of a section in rows: each below what it refers to in the section.
func (p *picture) rows(s section) [][]int {
	dependencies := map[int][]int{}
	for _, e := range p.edges {
		if slices.Contains(s.nodes, e.from) && slices.Contains(s.nodes, e.to) {
			dependencies[e.from] = append(dependencies[e.from], e.to)
		}
	}
	levels := map[int]int{}
	var level func(n int) int
	level = func(n int) int {
		if known, ok := levels[n]; ok {
			return known // in a cycle, the level so far
		}
		levels[n] = 0
		for _, to := range dependencies[n] {
			levels[n] = max(levels[n], level(to)+1)
		}
		return levels[n]
	}
	nodes := slices.Clone(s.nodes)
	slices.SortStableFunc(nodes, func(x, y int) int { return cmp.Compare(level(x), level(y)) })
	var rows [][]int
	for _, n := range nodes {
		last := len(rows) - 1
		if last < 0 || len(rows[last]) == rowLength || levels[rows[last][0]] != levels[n] {
			rows = append(rows, nil)
			last++
		}
		rows[last] = append(rows[last], n)
	}
	return rows
}

// lineLength is the number of characters after which a name continues on the next line.
const lineLength = 24

// dotLines returns a name in lines, which end after separators.
func dotLines(name string) string {
	var lines []string
	line := ""
	for part := range strings.SplitAfterSeq(strings.NewReplacer("-", "-\n", ".", ".\n", "/", "/\n", " ", " \n").Replace(name), "\n") {
		part = strings.TrimSuffix(part, "\n")
		if line != "" && len(line)+len(part) > lineLength {
			lines, line = append(lines, dotText(line)), ""
		}
		line += part
	}
	return strings.Join(append(lines, dotText(line)), "\\n")
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
