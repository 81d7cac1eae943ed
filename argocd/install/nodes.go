package install

import (
	"slices"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/textedit"
)

// inBlock is a value in block style, with all that it holds.
func inBlock(n *yaml.Node) *yaml.Node {
	all := *n
	all.Style &^= yaml.FlowStyle
	all.Content = nil
	for _, child := range n.Content {
		all.Content = append(all.Content, inBlock(child))
	}
	return &all
}

// withImage is a value whose sidecars have their image.
func (m *merger) withImage(n *yaml.Node) *yaml.Node {
	all := *n
	all.Content = append([]*yaml.Node(nil), n.Content...)
	for i, child := range all.Content {
		all.Content[i] = m.withImage(child)
	}
	if at := textedit.Index(&all, "patch"); at >= 0 {
		all.Content[at+1] = m.patchWithImage(all.Content[at+1])
	}
	if at := textedit.Index(&all, "image"); isSidecar(&all) && at >= 0 {
		image, err := m.image(all.Content[at+1].Value)
		if err != nil {
			m.fail(err)
		}
		if all.Content[at+1].Value != image {
			all.Content[at+1] = scalar(image)
		}
	}
	return &all
}

// patchWithImage is the text of a patch whose sidecar has its image.
func (m *merger) patchWithImage(text *yaml.Node) *yaml.Node {
	patch, err := mapping(text.Value)
	if err != nil {
		m.fail(err)
		return text
	}
	return literal(textedit.MustEncode(m.withImage(patch)))
}

func isSidecar(n *yaml.Node) bool {
	name := lookUp(n, "name")
	return name != nil && name.Value == container
}

// isPatch reports whether an item of a list is an inline patch of a kustomization.
func isPatch(n *yaml.Node) bool { return lookUp(n, "patch") != nil }

// sameItem is the item of a list that has the name of another, or patches the same
// object; nil if there is none.
func sameItem(list, item *yaml.Node) *yaml.Node {
	for _, is := range list.Content {
		if isPatch(item) {
			if isPatch(is) && target(is) == target(item) && target(is) != "" {
				return is
			}
			continue
		}
		if name := itemName(item); name != "" && itemName(is) == name {
			return is
		}
	}
	return nil
}

// itemName names an item of a list, which may be an object; empty if it has no name.
func itemName(n *yaml.Node) string {
	if name := lookUp(n, "name"); name != nil {
		return name.Value
	}
	kind, name := lookUp(n, "kind"), find(n, "metadata", "name")
	if kind == nil || name == nil {
		return ""
	}
	return kind.Value + " " + name.Value
}

// target names the object that an inline patch changes; empty for a JSON patch.
func target(item *yaml.Node) string {
	root, err := mapping(lookUp(item, "patch").Value)
	if err != nil {
		return ""
	}
	kind, name := lookUp(root, "kind"), find(root, "metadata", "name")
	if kind == nil || name == nil {
		return ""
	}
	return kind.Value + " " + name.Value
}

// inherits reports whether a mapping has a key from an anchor ("<<: *defaults").
func inherits(n *yaml.Node, key string) bool {
	from := lookUp(n, "<<")
	if from == nil {
		return false
	}
	all := []*yaml.Node{from}
	if from.Kind == yaml.SequenceNode {
		all = from.Content
	}
	return slices.ContainsFunc(all, func(n *yaml.Node) bool {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		return textedit.Index(n, key) >= 0 || inherits(n, key)
	})
}

// lookUp is the value of a key; nil if there is none.
func lookUp(n *yaml.Node, key string) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return textedit.Value(n, key)
}

// find follows keys.
func find(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		n = lookUp(n, key)
	}
	return n
}

func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// literal is a text of several lines.
func literal(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.LiteralStyle, Value: text}
}

func entry(key string, value *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(key), value}}
}

// decoded is what a node means; nil if it is not valid.
func decoded(n *yaml.Node) any {
	var v any
	if n.Decode(&v) != nil {
		return nil
	}
	return v
}
