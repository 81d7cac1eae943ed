package draw

import (
	"fmt"
	"math"
	"slices"
)

// Sizes, in pixels.
const (
	margin     = 16
	bandPad    = 16
	bandGap    = 20
	gutter     = 180 // for the names of the bands, without arrows
	gutterText = 23  // characters in it
	nodeHeight = 40
	rowGap     = 40
	columnGap  = 20
	textPad    = 10
	kindBase   = 16 // baselines of a node's two lines, relative to its top
	nameBase   = 32
	charWidth  = 7 // approximate width of a character
	lineHeight = 15
	minText    = 14
	maxText    = 38 // characters; longer names are shortened in the middle
	minWidth   = 1080
	maxColumns = 12
)

type box struct{ x, y, w, h int }

// layout contains the positions in a picture. Bands are stacked with the full
// width; nodes have one size and wrap into rows.
type layout struct {
	width, height int
	bands, nodes  []box
	// curves are the SVG paths of the edges.
	curves []string
	chars  int // maximum number of characters in a node
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

// place positions the bands and their nodes.
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

// columns returns the number of nodes in a row: at least what fits on a screen, and
// more if a band would become too high.
func (l *layout) columns(p *picture, pitch int) int {
	widest := 0
	for _, b := range p.bands {
		widest = max(widest, len(b.nodes))
	}
	wanted := int(math.Ceil(math.Sqrt(float64(widest))))
	screen := (minWidth - 2*margin - gutter - 2*bandPad + columnGap) / pitch
	return max(1, screen, min(wanted, maxColumns))
}

// route draws the edges as curves that leave and enter nodes vertically: out at a
// third of a side, and in at two thirds. For routing around nodes, use Graphviz.
func (l *layout) route(p *picture) {
	for _, e := range p.edges {
		from, to := l.nodes[e.from], l.nodes[e.to]
		x1, y1, out := from.x+from.w/3, from.y, -1
		if to.y > from.y {
			y1, out = from.y+nodeHeight, 1
		}
		x2, y2, in := to.x+to.w*2/3, to.y, -1 // in the same band: both at the top
		if from.y > to.y {
			y2, in = to.y+nodeHeight, 1
		}
		bend := min(max((max(y1, y2)-min(y1, y2))/2, rowGap*3/4), 3*rowGap)
		l.curves = append(l.curves, fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x1, y1, x1, y1+out*bend, x2, y2+in*bend, x2, y2))
	}
}

// textWidth counts characters; East Asian ones count twice.
func textWidth(s string) int {
	w := 0
	for _, r := range s {
		if w++; r >= 0x1100 {
			w++
		}
	}
	return w
}

// fit shortens a long text in the middle: names of a component often differ only at
// their ends.
func fit(s string, chars int) string {
	if textWidth(s) <= chars {
		return s
	}
	left := []rune(s)
	for textWidth(string(left)) >= chars {
		left = slices.Delete(left, len(left)/2, len(left)/2+1)
	}
	half := (len(left) + 1) / 2
	return string(left[:half]) + "…" + string(left[half:])
}
