package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Sizes, in pixels.
const (
	margin         = 16
	sectionPad     = 16
	sectionGap     = 20
	gutter         = 180 // for the names of the sections, without arrows
	gutterText     = 23  // characters in it
	nodeHeight     = 40
	rowGap         = 40
	columnGap      = 20
	textPad        = 10
	kindBase       = 16 // baselines of a node's two lines, relative to its top
	nameBase       = 32
	iconTop        = 5 // of a node's icon, which stands before its kind
	iconWidth      = 18
	charWidth      = 7 // approximate width of a character
	smallCharWidth = 6
	lineHeight     = 15
	minText        = 14
	maxText        = 38 // characters; longer names are shortened in the middle
	minWidth       = 1080
	maxColumns     = 12

	maxNumbers    = 60 // maximum number of reasons below a picture
	badgeRadius   = 8
	badgeDistance = 13 // from the side of a node
)

type box struct{ x, y, w, h int }

// layout contains the positions in a picture. Bands are stacked with the full
// width; nodes have one height.
type layout struct {
	width, height   int
	sections, nodes []box
	// curves are the SVG paths of the edges, and badges the positions of their
	// numbers.
	curves []string
	badges []badge
	chars  int // maximum number of characters in a node
}

// badge is the position of an edge's number.
type badge struct{ x, y int }

func newLayout(p *picture) *layout {
	l := &layout{nodes: make([]box, len(p.nodes)), chars: minText}
	for _, n := range p.nodes {
		l.chars = min(max(l.chars, textWidth(n.kind), textWidth(n.name)), maxText)
	}
	nodeWidth := l.chars*charWidth + 2*textPad
	r := newRows(p, l.columns(p, nodeWidth+columnGap), float64(nodeWidth))
	tops := l.stack(p, r)
	l.route(p, r, tops)
	return l
}

// stack positions the sections and their nodes, and returns the top of each row.
func (l *layout) stack(p *picture, r *rows) []int {
	left := margin + gutter + sectionPad
	l.width = max(minWidth, left+r.width()+sectionPad+margin)
	for i := range r.items {
		r.items[i].x += float64(left)
	}
	var tops []int
	y, row := margin, 0
	for k := range p.sections {
		frame := box{margin, y, l.width - 2*margin, 2*sectionPad - rowGap}
		for ; row < len(r.all) && r.sections[row] == k; row++ {
			tops = append(tops, y+frame.h+rowGap-sectionPad)
			frame.h += nodeHeight + rowGap
		}
		l.sections = append(l.sections, frame)
		y += frame.h + sectionGap
	}
	for at := range p.nodes {
		it := r.items[at]
		l.nodes[at] = box{int(it.x - it.width/2), tops[it.row], int(it.width), nodeHeight}
	}
	l.height = y + margin
	return tops
}

// columns returns the number of nodes in a row: at least what fits on a screen, and
// more if a section would become too tall.
func (l *layout) columns(p *picture, pitch int) int {
	widest := 0
	for _, b := range p.sections {
		widest = max(widest, len(b.nodes))
	}
	wanted := int(math.Ceil(math.Sqrt(float64(widest))))
	screen := (minWidth - 2*margin - gutter - 2*sectionPad + columnGap) / pitch
	return max(1, screen, min(wanted, maxColumns))
}

// route draws the edges: vertically where they meet nodes and pass through rows,
// with curves in the space between rows.
func (l *layout) route(p *picture, r *rows, tops []int) {
	ports := r.ports()
	for i, e := range p.edges {
		chain := r.chains[i]
		if chain == nil { // no room: the edge passes behind nodes
			chain = []int{e.from, e.to}
		}
		x, ok := ports[[2]int{e.from, chain[1]}]
		if !ok {
			x = int(r.items[e.from].x)
		}
		up := r.items[chain[1]].row <= r.items[e.from].row
		y := tops[r.items[e.from].row]
		if !up {
			y += nodeHeight
		}
		l.badges = append(l.badges, badge{x, y + sign(up)*badgeDistance})
		path := fmt.Sprintf("M%d %d", x, y)
		for k, at := range chain[1:] {
			it := r.items[at]
			near, far := tops[it.row]+nodeHeight, tops[it.row]
			if !up {
				near, far = far, near
			}
			toX := int(it.x)
			if !it.isPassage {
				if port, ok := ports[[2]int{at, chain[k]}]; ok {
					toX = port
				}
			}
			if it.row == r.items[chain[k]].row { // in the same row: over the top
				path += fmt.Sprintf(" C%d %d %d %d %d %d", x, y-rowGap*3/4, toX, y-rowGap*3/4, toX, y)
				break
			}
			bend := (near - y) / 2
			path += fmt.Sprintf(" C%d %d %d %d %d %d", x, y+bend, toX, near-bend, toX, near)
			if it.isPassage {
				path += fmt.Sprintf(" V%d", far)
			}
			x, y = toX, far
		}
		l.curves = append(l.curves, path)
	}
}

func sign(up bool) int {
	if up {
		return -1
	}
	return 1
}

// ports distributes the ends of the edges along the sides of the nodes, in the
// order of their other ends. The key is a node and the adjacent item.
func (r *rows) ports() map[[2]int]int {
	ports := map[[2]int]int{}
	for at, it := range r.items {
		if it.isPassage {
			continue
		}
		for _, above := range []bool{true, false} {
			near := slices.DeleteFunc(slices.Clone(it.near), func(other int) bool { return (r.items[other].row < it.row) != above })
			slices.SortStableFunc(near, func(a, b int) int { return cmp.Compare(r.items[a].x, r.items[b].x) })
			for k, other := range near {
				ports[[2]int{at, other}] = int(it.x - it.width*0.4 + it.width*0.8*float64(2*k+1)/float64(2*len(near)))
			}
		}
	}
	return ports
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
