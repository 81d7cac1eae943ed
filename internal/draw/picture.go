package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// picture is the content of a drawing, independent of the format. Its texts contain
// no control characters; each format escapes its own syntax.
type picture struct {
	// nodes are ordered by section, and within a section in apply order.
	nodes    []node
	sections []section
	edges    []edge
}

// section is a wave of a phase, or a step of a rollout, with its nodes.
type section struct {
	// title names it; about describes its content or time.
	title, about string
	nodes        []int
}

// heading returns the title of a section in one line.
func (s section) heading() string {
	if s.about == "" {
		return s.title
	}
	return s.title + " · " + s.about
}

// node is an object, or a group of indistinguishable ones.
type node struct {
	// kind and name are the two lines of its label.
	kind, name string
	// tip identifies the object, and says what decided its wave.
	tip string
	// isFocus means that the drawing is about this node, and isDisabled that it is not
	// deployed.
	isFocus, isDisabled bool
}

// edge is the set of references between two nodes.
type edge struct {
	from, to int
	// why is a short form of the strongest reason, and reasons are full sentences.
	why     string
	reasons []string
	// gate edges are bold, inferred edges dashed. ignored edges do not affect the order
	// and end with a dot. contradicted edges are red: the order contradicts them.
	gate, inferred, ignored, contradicted bool
}

// tip returns all reasons in one line.
func (e edge) tip() string { return strings.Join(e.reasons, "; ") }

// sketch is a picture being built, with the node numbers of the graph.
type sketch struct {
	plan *wave.Plan
	opt  Options
	// rows explain the nodes.
	rows      []wave.Row
	focus     map[int]bool
	edges     []edge
	connected map[int]bool
	// groupKeys are the keys by which nodes are grouped.
	groupKeys []string
	// defaultNamespace is the default namespace, which is omitted.
	defaultNamespace string
}

func newPicture(p *wave.Plan, opt Options) *picture {
	s := &sketch{plan: p, opt: opt, rows: make([]wave.Row, len(p.Graph.Nodes)), focus: map[int]bool{}, connected: map[int]bool{}}
	for i := range s.rows {
		s.rows[i] = p.Row(i)
	}
	for _, i := range opt.Focus {
		s.focus[i] = true
	}
	s.defaultNamespace = mostCommonNamespace(p.Graph.Nodes)
	s.connect()
	if len(s.focus) > 0 {
		s.narrow()
	}
	for _, e := range s.edges {
		s.connected[e.from], s.connected[e.to] = true, true
	}
	s.computeGroupKeys()
	return s.assignSections()
}

// mostCommonNamespace returns the namespace with the most objects.
func mostCommonNamespace(nodes []graph.Node) string {
	count := map[string]int{}
	for _, n := range nodes {
		if n.Key.Namespace != "" {
			count[n.Key.Namespace]++
		}
	}
	most := ""
	for ns, n := range count {
		if n > count[most] || n == count[most] && ns < most {
			most = ns
		}
	}
	return most
}

// connect converts the references to draw into edges, one for each pair.
func (s *sketch) connect() {
	refs := s.plan.Graph.References // sorted by pair
	for len(refs) > 0 {
		n := 1
		for n < len(refs) && refs[n].From == refs[0].From && refs[n].To == refs[0].To {
			n++
		}
		drawn := slices.DeleteFunc(slices.Clone(refs[:n]), func(r graph.Reference) bool { return !s.isShownEdge(r) })
		if len(drawn) > 0 {
			s.edges = append(s.edges, s.edge(drawn))
		}
		refs = refs[n:]
	}
}

// isShownEdge reports whether a reference is drawn: all references of the objects that the
// drawing is about, and the others that affect the order. Implied references, which
// every object has, are drawn only if they are gates, decide a wave or contradict the
// order. References of external objects are never drawn.
func (s *sketch) isShownEdge(r graph.Reference) bool {
	if s.plan.Graph.Nodes[r.From].External || s.plan.Graph.Nodes[r.To].External {
		return false
	}
	if s.opt.All || s.focus[r.From] || s.focus[r.To] {
		return true
	}
	return s.plan.Orders(r) && (!wave.IsImplied(s.plan.Graph, &r) || s.plan.IsGate(r) || s.decides(r) || s.plan.Contradicts(r))
}

// decides reports whether a reference decided the wave of one of its ends.
func (s *sketch) decides(r graph.Reference) bool {
	from, to := s.plan.Places[r.From].Because, s.plan.Places[r.To].Because
	return from.Cause == wave.ByReference && from.Reference == r || to.Cause == wave.ByConsumer && to.Reference == r
}

// edge combines the references of a pair into an edge with the style of the
// strongest.
func (s *sketch) edge(refs []graph.Reference) edge {
	slices.SortStableFunc(refs, func(a, b graph.Reference) int {
		return cmp.Or(cmp.Compare(s.weight(b), s.weight(a)), compareBools(a.Inferred(), b.Inferred()))
	})
	first := refs[0]
	e := edge{from: first.From, to: first.To, why: finding.Sanitize(first.Why), inferred: first.Inferred()}
	e.ignored, e.gate = !s.plan.Orders(first), s.plan.IsGate(first) && !s.plan.IsBlind(first.To)
	e.contradicted = s.plan.Contradicts(first)
	var tips []string
	for _, r := range refs {
		tips = append(tips, s.sentence(r))
	}
	e.reasons = slices.Compact(tips)
	return e
}

// weight ranks references: 2 for a gate, 1 for one that affects the order, otherwise 0.
func (s *sketch) weight(r graph.Reference) int {
	switch {
	case !s.plan.Orders(r):
		return 0
	case s.plan.IsGate(r):
		return 2
	}
	return 1
}

func compareBools(a, b bool) int {
	if a == b {
		return 0
	}
	if b {
		return -1
	}
	return 1
}

// sentence describes a reference, with its field.
func (s *sketch) sentence(r graph.Reference) string {
	nodes := s.plan.Graph.Nodes
	text := fmt.Sprintf("%s %s %s (%s: %s", nodes[r.From].Key, r.Why, nodes[r.To].Key, r.Answer(), r.Field)
	if r.Inferred() {
		text += ", inferred"
	}
	return finding.Sanitize(text + ")" + r.Detail())
}

// narrow restricts the drawing to the selected objects, their dependencies, and the
// objects that refer to them.
func (s *sketch) narrow() {
	dependencies := map[int][]int{}
	for _, e := range s.edges {
		if !e.ignored {
			dependencies[e.from] = append(dependencies[e.from], e.to)
		}
	}
	chain := digraph.Reachable(s.opt.Focus, func(node int) []int { return dependencies[node] })
	s.edges = slices.DeleteFunc(s.edges, func(e edge) bool {
		return !s.focus[e.from] && !s.focus[e.to] && !(chain[e.from] && chain[e.to])
	})
}

// isShown reports whether a node is drawn.
func (s *sketch) isShown(i int) bool { return len(s.focus) == 0 || s.focus[i] || s.connected[i] }

// assignSections assigns nodes to sections, and numbers them.
func (s *sketch) assignSections() *picture {
	pic := &picture{}
	number := make([]int, len(s.rows))
	groups := s.plan.WaveGroups(s.isShown)
	for _, in := range groups {
		b := section{title: in.Title, about: in.About}
		for _, group := range s.fold(in.Nodes) {
			at := len(pic.nodes)
			for _, i := range group {
				number[i] = at
			}
			b.nodes = append(b.nodes, at)
			pic.nodes = append(pic.nodes, s.node(group))
		}
		pic.sections = append(pic.sections, b)
	}
	pic.edges = s.renumber(number)
	return pic
}

// renumber converts the edges to the numbers of the picture, where grouped objects
// have the same number.
func (s *sketch) renumber(number []int) []edge {
	slices.SortStableFunc(s.edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(number[a.from], number[b.from]), cmp.Compare(number[a.to], number[b.to]))
	})
	var edges []edge
	for at := 0; at < len(s.edges); {
		e := s.edges[at]
		e.from, e.to = number[e.from], number[e.to]
		same := 1
		for at+same < len(s.edges) && number[s.edges[at+same].from] == e.from && number[s.edges[at+same].to] == e.to {
			same++
		}
		if same > 1 {
			e.reasons = append(slices.Clone(e.reasons), fmt.Sprintf("and %d more like it", same-1))
		}
		edges = append(edges, e)
		at += same
	}
	return edges
}

// minFold is the minimum size of a group of indistinguishable objects. Fewer are
// as easy to read with their names.
const minFold = 4

// fold groups the nodes of a section: objects of one kind with the same edges.
func (s *sketch) fold(nodes []int) [][]int {
	alike := map[string][]int{}
	for _, i := range nodes {
		alike[s.groupKeys[i]] = append(alike[s.groupKeys[i]], i)
	}
	var groups [][]int
	for _, i := range nodes {
		group := alike[s.groupKeys[i]]
		switch {
		case s.opt.All || s.focus[i] || len(group) < minFold || len(s.opt.ApplicationNames[i]) > 0:
			groups = append(groups, []int{i})
		case group[0] == i:
			groups = append(groups, group)
		}
	}
	return groups
}

// computeGroupKeys computes the key of each node: everything visible except its name, that is
// its kind and its edges.
func (s *sketch) computeGroupKeys() {
	s.groupKeys = make([]string, len(s.rows))
	edgeKeys := make([][]string, len(s.rows))
	for _, e := range s.edges { // in sorted order
		edgeKey := fmt.Sprint(e.gate, e.inferred, e.ignored, e.why)
		edgeKeys[e.from] = append(edgeKeys[e.from], fmt.Sprint("to ", e.to, edgeKey))
		edgeKeys[e.to] = append(edgeKeys[e.to], fmt.Sprint("from ", e.from, edgeKey))
	}
	for i, row := range s.rows {
		s.groupKeys[i] = fmt.Sprintf("%s %t %t %q", row.Object.GroupKind(), s.focus[i], len(s.opt.ApplicationNames[i]) > 0, edgeKeys[i])
	}
}

// node describes an object or a group.
func (s *sketch) node(group []int) node {
	first := s.rows[group[0]]
	n := node{kind: first.Object.Kind, name: s.name(first.Object), isFocus: s.focus[group[0]]}
	tips := []string{first.Object.Qualified() + ": " + first.Why}
	if len(group) > 1 {
		n.kind = fmt.Sprintf("%d × %s", len(group), n.kind)
		n.name += fmt.Sprintf(" and %d more", len(group)-1)
		tips = nil
		for _, i := range group {
			tips = append(tips, s.rows[i].Object.Qualified())
		}
	}
	if names := s.opt.ApplicationNames[group[0]]; len(group) == 1 && len(names) > 0 {
		n.name += fmt.Sprintf(", generates %d", len(names))
		tips = append(tips, "generates "+strings.Join(names, ", "))
	}
	n.kind, n.name, n.tip = finding.Sanitize(n.kind), finding.Sanitize(n.name), finding.Sanitize(strings.Join(tips, "; "))
	return n
}

func (s *sketch) name(id object.ID) string {
	if id.Namespace == "" || id.Namespace == s.defaultNamespace {
		return id.Name
	}
	return id.Namespace + "/" + id.Name
}
