package draw

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
)

// svgHead contains the styles, for light and dark pages.
const svgHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-label="%[3]s">
<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.page { fill: #ffffff; }
.band { fill: #f3f5f8; stroke: #d0d7de; }
.title { font-weight: 600; }
.node rect { fill: #ffffff; stroke: #6e7781; }
.chosen rect { stroke-width: 3; }
.kind { font-size: 11px; fill: #57606a; }
.icon { fill: #57606a; fill-rule: evenodd; }
.edge { fill: none; stroke: #57606a; stroke-width: 1.2; }
.gate { stroke-width: 3; }
.inferred { stroke-dasharray: 6 4; }
.loose { stroke: #8c959f; }
.against { stroke: #cf222e; }
.off rect { stroke-dasharray: 2 4; }
.off text { fill: #6e7781; }
.edge:hover { stroke: #0969da; stroke-width: 4; }
.head { fill: #57606a; }
.dot { fill: #8c959f; }
.wrong { fill: #cf222e; }
.badge { fill: #57606a; }
.number { font-size: 10px; text-anchor: middle; fill: #ffffff; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .page { fill: #0d1117; }
  .band { fill: #161b22; stroke: #30363d; }
  .node rect { fill: #21262d; stroke: #8b949e; }
  .kind, .icon { fill: #9da7b3; }
  .edge { stroke: #9da7b3; }
  .loose { stroke: #6e7681; }
  .against { stroke: #ff7b72; }
  .off text { fill: #8b949e; }
  .edge:hover { stroke: #58a6ff; }
  .head { fill: #9da7b3; }
  .dot { fill: #6e7681; }
  .wrong { fill: #ff7b72; }
  .badge { fill: #9da7b3; }
  .number { fill: #0d1117; }
}
</style>
<defs>
<marker id="head" markerUnits="userSpaceOnUse" markerWidth="10" markerHeight="10" refX="9" refY="5" orient="auto"><path class="head" d="M0 1 L10 5 L0 9 z"/></marker>
<marker id="dot" markerUnits="userSpaceOnUse" markerWidth="8" markerHeight="8" refX="4" refY="4"><circle class="dot" cx="4" cy="4" r="3"/></marker>
<marker id="wrong" markerUnits="userSpaceOnUse" markerWidth="10" markerHeight="10" refX="9" refY="5" orient="auto"><path class="wrong" d="M0 1 L10 5 L0 9 z"/></marker>
</defs>
<rect class="page" width="%[1]d" height="%[2]d"/>
`

// svg returns a self-contained image. Arrows are above the sections and below the
// nodes, so that they do not cover names. Gates and violations are numbered, with
// their reasons below the picture.
func (p *picture) svg() string {
	l := newLayout(p)
	numbered := l.numberedEdges(p)
	legend := wrap(p.legend, (l.width-2*margin)/smallCharWidth)
	var b strings.Builder
	fmt.Fprintf(&b, svgHead, l.width, l.height+lineHeight*(len(numbered)+len(legend)), xmlText(p.label))
	for i, s := range p.sections {
		s.svg(&b, l.sections[i])
	}
	for i, e := range p.edges {
		class, head := e.svgClasses()
		fmt.Fprintf(&b, "<path class=\"%s\" d=\"%s\" marker-end=\"url(#%s)\"><title>%s</title></path>\n", class, l.curves[i], head, xmlText(e.tip()))
	}
	for i, n := range p.nodes {
		box := l.nodes[i]
		fmt.Fprintf(&b, "<g class=\"%s\"><title>%s</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>", n.svgClasses(), xmlText(n.tip), box.x, box.y, box.w, box.h)
		kindAt := box.x + textPad
		if n.icon != "" {
			fmt.Fprintf(&b, "<path class=\"icon\" transform=\"translate(%d %d)\" d=\"%s\"/>", kindAt, box.y+iconTop, n.icon)
			kindAt += iconWidth
		}
		fmt.Fprintf(&b, "<text class=\"kind\" x=\"%d\" y=\"%d\">%s</text>", kindAt, box.y+kindBase, xmlText(fit(n.kind, l.chars)))
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%s</text></g>\n", box.x+textPad, box.y+nameBase, xmlText(fit(n.name, l.chars)))
	}
	y := l.height - lineHeight
	for _, line := range legend {
		y += lineHeight
		fmt.Fprintf(&b, "<text class=\"kind\" x=\"%d\" y=\"%d\">%s</text>\n", margin, y, xmlText(line))
	}
	for k, i := range numbered {
		class, at := "badge", l.badges[i]
		if p.edges[i].contradicted {
			class = "wrong"
		}
		y += lineHeight
		fmt.Fprintf(&b, "<circle class=\"%s\" cx=\"%d\" cy=\"%d\" r=\"%d\"/><text class=\"number\" x=\"%[2]d\" y=\"%[5]d\">%[6]d</text>\n", class, at.x, at.y, badgeRadius, at.y+4, k+1)
		fmt.Fprintf(&b, "<text class=\"kind\" x=\"%d\" y=\"%d\">%s</text>\n", margin, y, xmlText(fit(fmt.Sprintf("%d: %s", k+1, p.edges[i].brief()), (l.width-2*margin)/smallCharWidth)))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// wrap breaks a text between words into lines of at most some characters, unless a
// word is longer.
func wrap(text string, chars int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if last := len(lines) - 1; last >= 0 && textWidth(lines[last])+1+textWidth(word) <= chars {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

// numberedEdges returns the edges whose reasons are listed below the picture, violations
// first.
func (l *layout) numberedEdges(p *picture) []int {
	var contradicted, gates []int
	for i, e := range p.edges {
		switch {
		case e.contradicted:
			contradicted = append(contradicted, i)
		case e.gate:
			gates = append(gates, i)
		}
	}
	all := slices.Concat(contradicted, gates)
	return all[:min(len(all), maxNumbers)]
}

// svg writes a section, with its names in the gutter.
func (s section) svg(b *strings.Builder, at box) {
	fmt.Fprintf(b, "<g><title>%s</title><rect class=\"band\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"8\"/>", xmlText(s.heading()), at.x, at.y, at.w, at.h)
	x, y := at.x+sectionPad, at.y+sectionPad+kindBase
	fmt.Fprintf(b, "<text class=\"title\" x=\"%d\" y=\"%d\">%s</text>", x, y, xmlText(fit(s.title, gutterText)))
	lines := strings.Split(s.about, ", ")
	if y+lineHeight*len(lines) > at.y+at.h {
		lines = []string{s.about}
	}
	for _, line := range lines {
		y += lineHeight
		fmt.Fprintf(b, "<text class=\"kind\" x=\"%d\" y=\"%d\">%s</text>", x, y, xmlText(fit(line, gutterText)))
	}
	b.WriteString("</g>\n")
}

func (n node) svgClasses() string {
	class := "node"
	if n.isFocus {
		class += " chosen"
	}
	if n.isDisabled {
		class += " off"
	}
	return class
}

func (e edge) svgClasses() (class, head string) {
	class, head = "edge", "head"
	if e.gate {
		class += " gate"
	}
	if e.inferred {
		class += " inferred"
	}
	if e.ignored {
		class, head = class+" loose", "dot"
	}
	if e.contradicted {
		class, head = class+" against", "wrong"
	}
	return class, head
}

func xmlText(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // writing to memory does not fail
	return b.String()
}
