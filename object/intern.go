package object

import (
	"hash/maphash"
	"slices"
	"sync"

	yaml "go.yaml.in/yaml/v3"
)

// nodes keeps equal parts of parsed manifests once: copies of a chart mostly differ in a few names. It is
// safe for concurrent use.
type nodes struct {
	mu   sync.Mutex
	seed maphash.Seed
	// all are nodes by the hash of what they say. Of different nodes with one hash, it has the first.
	all map[uint64]*yaml.Node
}

// intern returns the parsed form of a manifest in which the parts that an earlier one has, too, at the same
// lines, are those of that one. The argument must not be used afterwards.
func (s *nodes) intern(root *yaml.Node) *yaml.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all, s.seed = map[uint64]*yaml.Node{}, maphash.MakeSeed()
	}
	n, _ := s.internNode(root)
	return n
}

// internNode also returns the hash; 0 if the node cannot be shared, because it is part of an alias.
func (s *nodes) internNode(n *yaml.Node) (*yaml.Node, uint64) {
	said := nodeContent{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value,
		Comments: [3]string{n.HeadComment, n.LineComment, n.FootComment}, Line: n.Line, Column: n.Column}
	shareable := n.Anchor == "" && n.Alias == nil
	for i, c := range n.Content {
		known, hash := s.internNode(c)
		n.Content[i] = known
		said.Content = said.Content*31 + hash
		shareable = shareable && hash != 0
	}
	if !shareable {
		return n, 0
	}
	hash := max(maphash.Comparable(s.seed, said), 1)
	known := s.all[hash]
	if known == nil {
		n.Content = slices.Clip(n.Content)
		s.all[hash] = n
		return n, hash
	}
	if known.Kind == n.Kind && known.Style == n.Style && known.Tag == n.Tag && known.Value == n.Value && known.Line == n.Line &&
		known.Column == n.Column && known.HeadComment == n.HeadComment && known.LineComment == n.LineComment &&
		known.FootComment == n.FootComment && slices.Equal(known.Content, n.Content) {
		return known, hash
	}
	return n, hash
}

// nodeContent is what a node says, by which it is found.
type nodeContent struct {
	Kind         yaml.Kind
	Style        yaml.Style
	Tag, Value   string
	Comments     [3]string
	Line, Column int
	Content      uint64
}
