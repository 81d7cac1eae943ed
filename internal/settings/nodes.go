package settings

import (
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/textedit"
)

// Value returns the value of a key in a mapping with its alias resolved; nil if
// there is none.
func Value(n *yaml.Node, key string) *yaml.Node {
	return resolved(textedit.Value(resolved(n), key))
}

// Items returns the elements of a list.
func Items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	all := make([]*yaml.Node, len(n.Content))
	for i, item := range n.Content {
		all[i] = resolved(item)
	}
	return all
}

func resolved(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}
