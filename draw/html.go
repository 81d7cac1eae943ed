package draw

import (
	_ "embed" // for the looks of the page
	"fmt"
	"strings"
)

//go:embed page.css
var pageLooks string

//go:embed page.js
var pageProgram string

// html writes a page that needs nothing else: the picture, and a list of all
// boxes with every reason, which is complete without the program on the page.
// It is well-formed XML as well.
func (p *picture) html() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"/>
<title>%[1]s</title>
<style>
%[2]s</style>
</head>
<body>
<header><h1>%[1]s</h1><input id="find" type="search" placeholder="Find by name" aria-label="Find by name"/><span class="note">Choose a box to see what it needs and what needs it; Escape shows all.</span></header>
<main>
<div id="picture">
`, xmlText(p.label), pageLooks)
	b.WriteString(p.drawing(fmt.Sprintf))
	b.WriteString("</div>\n<div id=\"list\">\n")
	for _, band := range p.bands {
		fmt.Fprintf(&b, "<h2>%s</h2>\n", xmlText(band.heading()))
		for _, at := range band.nodes {
			p.entry(&b, at)
		}
	}
	fmt.Fprintf(&b, "</div>\n</main>\n<script>\n%s</script>\n</body>\n</html>\n", pageProgram)
	return b.String()
}

// entry writes what the list says about a box.
func (p *picture) entry(b *strings.Builder, at int) {
	n := p.nodes[at]
	note := n.kind
	if n.off {
		note += ", not deployed"
	}
	fmt.Fprintf(b, "<details data-about=\"%d\"><summary>%s <span class=\"note\">%s</span></summary>\n<p>%s</p>\n", at, xmlText(n.name), xmlText(note), xmlText(n.tip))
	p.ends(b, "Needs", func(e edge) (int, bool) { return e.to, e.from == at })
	p.ends(b, "Is needed by", func(e edge) (int, bool) { return e.from, e.to == at })
	b.WriteString("</details>\n")
}

// ends lists the arrows of a box that pick picks, with the other end.
func (p *picture) ends(b *strings.Builder, title string, pick func(edge) (int, bool)) {
	first := true
	for _, e := range p.listed {
		other, ok := pick(e)
		if !ok {
			continue
		}
		if first {
			fmt.Fprintf(b, "<h3>%s</h3>\n<ul>\n", title)
			first = false
		}
		fmt.Fprintf(b, "<li><button type=\"button\" data-go=\"%d\">%s</button>%s\n<ul>\n", other, xmlText(p.nodes[other].name), e.marks())
		for _, r := range e.reasons {
			fmt.Fprintf(b, "<li>%s</li>\n", xmlText(r))
		}
		b.WriteString("</ul></li>\n")
	}
	if !first {
		b.WriteString("</ul>\n")
	}
}

// marks says in words what an arrow looks like.
func (e edge) marks() string {
	var words []string
	if e.gate {
		words = append(words, "healthy first")
	}
	if e.inferred {
		words = append(words, "inferred")
	}
	if e.loose {
		words = append(words, "orders nothing")
	}
	text := ""
	if words != nil {
		text = " <span class=\"note\">" + strings.Join(words, ", ") + "</span>"
	}
	if e.against {
		text += " <strong class=\"red\">against the phases</strong>"
	}
	return text
}
