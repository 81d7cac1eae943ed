package draw

import (
	"cmp"
	"math"
	"slices"
)

// rows is a layered layout (Sugiyama): each node is in a row of its section, below its
// dependencies, and an edge that spans several rows passes between the nodes of the
// rows in the middle. Bands consist of whole rows, which general layouts do not
// support.
type rows struct {
	// all are the items of each row, from left to right.
	all [][]int
	// sections are the sections of the rows.
	sections []int
	items    []item
	// chains maps edges to their items from source to target; nil if there is no room
	// for the edge.
	chains [][]int
}

// item is a node or a passage of edges through a row. The items of nodes come first,
// with the indexes of the nodes.
type item struct {
	row       int
	width     float64
	x         float64 // of its center
	isPassage bool
	// near are the items that its edges connect it to in adjacent rows.
	near []int
}

const (
	passageWidth = 6
	passageGap   = 10
	// maxPassages limits the passages of a row, so that nodes still dominate a
	// drawing of hundreds of objects.
	maxPassages = 48
	sweeps      = 8
)

func newRows(p *picture, columns int, nodeWidth float64) *rows {
	r := &rows{items: make([]item, len(p.nodes)), chains: make([][]int, len(p.edges))}
	depths := p.depths()
	connected := make([]bool, len(p.nodes))
	for _, e := range p.edges {
		connected[e.from], connected[e.to] = true, true
	}
	for k, b := range p.sections {
		for _, row := range b.rows(depths, connected, columns) {
			r.sections = append(r.sections, k)
			for _, at := range row {
				r.items[at] = item{row: len(r.all), width: nodeWidth}
			}
			r.all = append(r.all, slices.DeleteFunc(row, func(at int) bool { return !connected[at] }))
		}
	}
	r.connect(p.edges)
	for row := range r.all {
		r.positionRow(row, func(int) float64 { return 0 })
	}
	for sweep := range sweeps {
		r.sweep(sweep)
	}
	r.removeEmptyColumns()
	for k, b := range p.sections {
		for _, at := range b.nodes {
			if !connected[at] {
				r.insert(at, r.rowWithRoom(at, k))
			}
		}
	}
	r.dropEmpty()
	return r
}

// depths returns the length of each node's chain of dependencies within its section.
func (p *picture) depths() []int {
	section := make([]int, len(p.nodes))
	for k, b := range p.sections {
		for _, at := range b.nodes {
			section[at] = k
		}
	}
	targets := make([][]int, len(p.nodes))
	for _, e := range p.edges {
		if section[e.from] == section[e.to] {
			targets[e.from] = append(targets[e.from], e.to)
		}
	}
	depths := make([]int, len(p.nodes))
	visited := make([]bool, len(p.nodes))
	var visit func(int)
	visit = func(at int) {
		visited[at] = true
		for _, to := range targets[at] {
			if !visited[to] {
				visit(to)
			}
			depths[at] = max(depths[at], depths[to]+1) // in a cycle, the depth found so far
		}
	}
	for at := range p.nodes {
		if !visited[at] {
			visit(at)
		}
	}
	return depths
}

// rows distributes a section's nodes by depth, with a maximum number per row. Nodes
// without edges fill the rows.
func (s section) rows(depths []int, connected []bool, columns int) [][]int {
	var lone []int
	layers := map[int][]int{}
	deepest := -1
	for _, at := range s.nodes {
		if !connected[at] {
			lone = append(lone, at)
			continue
		}
		layers[depths[at]] = append(layers[depths[at]], at)
		deepest = max(deepest, depths[at])
	}
	var all [][]int
	for depth := 0; depth <= deepest; depth++ {
		for row := range slices.Chunk(layers[depth], columns) {
			free := min(columns-len(row), len(lone))
			all = append(all, slices.Concat(row, lone[:free]))
			lone = lone[free:]
		}
	}
	return slices.AppendSeq(all, slices.Chunk(lone, columns))
}

// connect creates the chains of all edges, short edges first. Edges with the same
// style and target share their passages.
func (r *rows) connect(edges []edge) {
	type trunk struct {
		to, row int
		class   string
	}
	passages := map[trunk]int{}
	count := make([]int, len(r.all))
	span := func(i int) int {
		from, to := r.items[edges[i].from].row, r.items[edges[i].to].row
		return max(from, to) - min(from, to)
	}
	order := make([]int, len(edges))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(span(a), span(b)) })
	for _, i := range order {
		e := edges[i]
		class, _ := e.svgClasses()
		from, to := r.items[e.from].row, r.items[e.to].row
		step := cmp.Compare(to, from)
		key := func(row int) trunk { return trunk{e.to, row, class} }
		full := false
		for row := from + step; row != to && step != 0; row += step {
			_, shared := passages[key(row)]
			full = full || !shared && count[row] == maxPassages
		}
		if full {
			continue
		}
		chain := []int{e.from}
		for row := from + step; row != to && step != 0; row += step {
			at, shared := passages[key(row)]
			if !shared {
				at = len(r.items)
				passages[key(row)] = at
				count[row]++
				r.items = append(r.items, item{row: row, width: passageWidth, isPassage: true})
				r.all[row] = append(r.all[row], at)
			}
			chain = append(chain, at)
		}
		r.chains[i] = append(chain, e.to)
		r.link(r.chains[i])
	}
}

// link makes adjacent items of a chain neighbors.
func (r *rows) link(chain []int) {
	for k, at := range chain[1:] {
		before := chain[k]
		if r.items[before].row != r.items[at].row && !slices.Contains(r.items[before].near, at) {
			r.items[before].near = append(r.items[before].near, at)
			r.items[at].near = append(r.items[at].near, before)
		}
	}
}

// sweep moves the items of each row toward their neighbors: to those above on the
// way down, to those below on the way up, and to all in the last sweeps.
func (r *rows) sweep(sweep int) {
	last := sweep >= sweeps-2
	for k := range r.all {
		row := k
		if sweep%2 == 1 {
			row = len(r.all) - 1 - k
		}
		r.positionRow(row, func(at int) float64 {
			sum, n := 0.0, 0
			for _, other := range r.items[at].near {
				if last || (r.items[other].row < row) == (sweep%2 == 0) {
					sum += r.items[other].x
					n++
				}
			}
			if n == 0 {
				return r.items[at].x
			}
			return sum / float64(n)
		})
	}
}

// positionRow places the items of a row as close as possible to their wanted positions,
// in order and without overlap: an isotonic regression by pooling adjacent
// violators.
func (r *rows) positionRow(row int, wanted func(item int) float64) {
	at := r.all[row]
	want := map[int]float64{}
	for _, i := range at {
		want[i] = math.Round(wanted(i))
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(want[a], want[b]) })
	type pool struct {
		sum, weight float64
		n           int
	}
	var pools []pool
	offsets := make([]float64, len(at))
	for k, i := range at {
		if k > 0 {
			offsets[k] = offsets[k-1] + r.distance(at[k-1], i)
		}
		weight := 1.0
		if r.items[i].isPassage {
			weight = 4 // prefer straight edges to centered nodes
		}
		next := pool{(want[i] - offsets[k]) * weight, weight, 1}
		for len(pools) > 0 && pools[len(pools)-1].sum/pools[len(pools)-1].weight >= next.sum/next.weight {
			before := pools[len(pools)-1]
			next = pool{next.sum + before.sum, next.weight + before.weight, next.n + before.n}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, next)
	}
	k := 0
	for _, p := range pools {
		for range p.n {
			r.items[at[k]].x = math.Round(p.sum/p.weight) + offsets[k]
			k++
		}
	}
}

// removeEmptyColumns removes the columns that are empty in all rows, and moves the
// first column to 0.
func (r *rows) removeEmptyColumns() {
	var order []int
	for _, row := range r.all {
		order = append(order, row...)
	}
	left := func(at int) float64 { return r.items[at].x - r.items[at].width/2 }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(left(a), left(b)) })
	right, shift := 0.0, 0.0 // before columns are removed
	for k, at := range order {
		if k == 0 {
			right, shift = left(at), left(at)
		} else if gap := left(at) - right; gap > columnGap {
			shift += gap - columnGap
		}
		right = max(right, left(at)+r.items[at].width)
		r.items[at].x -= shift
	}
}

// rowWithRoom returns the first row of a section where a node fits without making the
// picture wider, or else its current row.
func (r *rows) rowWithRoom(at, section int) int {
	width := r.width()
	for row, of := range r.sections {
		if of != section {
			continue
		}
		if _, x := r.room(at, row); int(x+r.items[at].width/2) <= width {
			return row
		}
	}
	return r.items[at].row
}

// room returns the first position in a row where a node fits: its index, and the
// center of the node.
func (r *rows) room(at, row int) (int, float64) {
	x := r.items[at].width / 2
	for k, other := range r.all[row] {
		if x+r.distance(at, other) <= r.items[other].x {
			return k, x
		}
		x = max(x, r.items[other].x+r.distance(other, at))
	}
	return len(r.all[row]), x
}

// insert adds a node without edges to a row.
func (r *rows) insert(at, row int) {
	k, x := r.room(at, row)
	r.items[at].row, r.items[at].x = row, x
	r.all[row] = slices.Insert(r.all[row], k, at)
}

// dropEmpty removes rows whose nodes were all moved to other rows.
func (r *rows) dropEmpty() {
	kept := 0
	for row, items := range r.all {
		if len(items) == 0 {
			continue
		}
		for _, at := range items {
			r.items[at].row = kept
		}
		r.all[kept], r.sections[kept] = items, r.sections[row]
		kept++
	}
	r.all, r.sections = r.all[:kept], r.sections[:kept]
}

// distance returns the minimum distance between the centers of two adjacent items.
func (r *rows) distance(a, b int) float64 {
	gap := float64(columnGap)
	if r.items[a].isPassage || r.items[b].isPassage {
		gap = passageGap
	}
	return math.Ceil((r.items[a].width+r.items[b].width)/2 + gap)
}

// width returns the width of all rows, from 0.
func (r *rows) width() int {
	right := 0.0
	for _, row := range r.all {
		for _, at := range row {
			right = max(right, r.items[at].x+r.items[at].width/2)
		}
	}
	return int(right)
}
