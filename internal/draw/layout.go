package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// Sizes, in pixels.
const (
	margin     = 16
	bandPad    = 16
	bandGap    = 20
	gutter     = 180 // for the names of the bands, where no arrow goes
	gutterText = 23  // characters in it
	nodeHeight = 40
	rowGap     = 40
	columnGap  = 20
	textPad    = 10
	kindBase   = 16 // baselines of a node's two lines, from its top
	nameBase   = 32
	charWidth  = 7 // about, of the font at its size
	lineHeight = 15
	minText    = 14
	maxText    = 38 // characters; longer names are cut in the middle
	minWidth   = 1080
	maxColumns = 12
)

type box struct{ x, y, w, h int }

// layout says where everything of a picture is. Bands are stacked and as wide
// as the picture; nodes are of one size, in rows that wrap.
type layout struct {
	width, height int
	bands, nodes  []box
	// curves are the paths of the edges.
	curves []string
	chars  int // that fit into a node
}

func newLayout(p *picture) *layout {
	l := &layout{nodes: make([]box, len(p.nodes)), chars: minText}
	for _, n := range p.nodes {
		l.chars = min(max(l.chars, textWidth(n.kind), textWidth(n.name)), maxText)
	}
	l.place(p)
	l.route(p)
	return l
}

// place stacks the bands and fills them.
func (l *layout) place(p *picture) {
	nodeWidth := l.chars*charWidth + 2*textPad
	columns := l.columns(p, nodeWidth+columnGap)
	inner := columns*(nodeWidth+columnGap) - columnGap
	l.width = max(minWidth, gutter+inner+2*bandPad+2*margin)
	y := margin
	for _, b := range p.bands {
		rows := (len(b.nodes) + columns - 1) / columns
		frame := box{margin, y, l.width - 2*margin, 2*bandPad + rows*(nodeHeight+rowGap) - rowGap}
		for k, at := range b.nodes {
			l.nodes[at] = box{frame.x + gutter + bandPad + k%columns*(nodeWidth+columnGap), y + bandPad + k/columns*(nodeHeight+rowGap), nodeWidth, nodeHeight}
		}
		l.bands = append(l.bands, frame)
		y += frame.h + bandGap
	}
	l.height = y + margin
}

// columns is how many nodes stand in a row: at least what a screen holds, and
// more where a band would otherwise become a tower.
func (l *layout) columns(p *picture, pitch int) int {
	widest := 0
	for _, b := range p.bands {
		widest = max(widest, len(b.nodes))
	}
	wanted := int(math.Ceil(math.Sqrt(float64(widest))))
	screen := (minWidth - 2*margin - gutter - 2*bandPad + columnGap) / pitch
	return max(1, screen, min(wanted, maxColumns))
}

// end is where an edge meets a node: at the top or the bottom of its box.
type end struct {
	node int
	top  bool
}

// port is an end of an edge that shares its side of a node with others.
type port struct {
	edge int
	// toward is where the other end is, so that arrows leave a side in the
	// order in which they part.
	toward int
	head   bool
}

// route draws the edges as curves that leave and enter boxes upright.
func (l *layout) route(p *picture) {
	sides := map[end][]port{}
	tails, heads := make([]end, len(p.edges)), make([]end, len(p.edges))
	for i, e := range p.edges {
		from, to := l.nodes[e.from], l.nodes[e.to]
		tails[i] = end{e.from, to.y <= from.y}
		heads[i] = end{e.to, from.y <= to.y} // beside each other: both on top
		sides[tails[i]] = append(sides[tails[i]], port{i, to.x, false})
		sides[heads[i]] = append(sides[heads[i]], port{i, from.x, true})
	}
	tailX, headX := make([]int, len(p.edges)), make([]int, len(p.edges))
	for side, ports := range sides {
		slices.SortFunc(ports, func(a, b port) int {
			return cmp.Or(cmp.Compare(a.toward, b.toward), cmp.Compare(a.edge, b.edge))
		})
		at := l.nodes[side.node]
		for k, port := range ports {
			x := at.x + at.w*(k+1)/(len(ports)+1)
			if port.head {
				headX[port.edge] = x
			} else {
				tailX[port.edge] = x
			}
		}
	}
	for i := range p.edges {
		l.curves = append(l.curves, l.curve(tailX[i], tails[i], headX[i], heads[i]))
	}
}

func (l *layout) curve(x1 int, tail end, x2 int, head end) string {
	y1, out := l.edgeOf(tail)
	y2, in := l.edgeOf(head)
	bend := min(max((max(y1, y2)-min(y1, y2))/2, rowGap*3/4), 3*rowGap)
	return fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x1, y1, x1, y1+out*bend, x2, y2+in*bend, x2, y2)
}

// edgeOf returns the height of a side of a box, and which way is out.
func (l *layout) edgeOf(e end) (y, out int) {
	if e.top {
		return l.nodes[e.node].y, -1
	}
	return l.nodes[e.node].y + nodeHeight, 1
}

// textWidth counts characters; those of East Asian scripts take two places.
func textWidth(s string) int {
	w := 0
	for _, r := range s {
		w += runeWidth(r)
	}
	return w
}

func runeWidth(r rune) int {
	if r >= 0x1100 {
		return 2
	}
	return 1
}

// fit cuts the middle out of a text that is too long: names of a component
// begin alike, and often only their ends tell them apart.
func fit(s string, chars int) string {
	if textWidth(s) <= chars {
		return s
	}
	half := (chars - 1) / 2
	return cut(s, half, forward) + "…" + cut(s, half, backward)
}

type direction bool

const (
	forward  direction = false
	backward direction = true
)

// cut takes as much of an end of a text as fits.
func cut(s string, width int, d direction) string {
	at := 0
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		if d == backward {
			r, size = utf8.DecodeLastRuneInString(s[:len(s)-at])
		}
		if width -= runeWidth(r); width < 0 {
			break
		}
		at += size
	}
	if d == backward {
		return s[len(s)-at:]
	}
	return s[:at]
}
