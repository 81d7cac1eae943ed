package helm

import (
	"strings"
	"text/template/parse"
)

// branch is the text between if, with, range or else and the action that ends it, with an action
// in it.
type branch struct {
	start, end int
	trim       string // how the action before it ends: " -" if it trims what follows
}

// branchesOf returns the branches of a template, by their start; nil if it defines templates, which
// also counts where it does not run. It may be wrong about unusual texts: see isPruned.
func branchesOf(text string) []branch {
	var all []branch
	var actions []int // before each; afterwards in it
	var open []int    // numbers
	n := 0            // actions so far
	begin := func(at int, action string) {
		trim := ""
		if strings.HasSuffix(action, "-") {
			trim = " -"
		}
		all, actions, open = append(all, branch{at, at, trim}), append(actions, n), append(open, len(all))
	}
	end := func(at int) bool {
		if len(open) == 0 {
			return false
		}
		last := open[len(open)-1]
		all[last].end, actions[last], open = at, n-actions[last], open[:len(open)-1]
		return true
	}
	for at := 0; ; {
		start := strings.Index(text[at:], "{{")
		if start < 0 {
			break
		}
		start += at
		after := endOfAction(text, start+2)
		if after < 0 {
			return nil
		}
		action := strings.TrimSuffix(text[start+2:after], "}}")
		at = after
		n++
		words := strings.TrimLeft(strings.TrimPrefix(action, "-"), " \t\r\n")
		word := words[:len(words)-len(strings.TrimLeft(words, "abcdefghijklmnopqrstuvwxyz"))]
		switch word {
		case "define", "block":
			return nil
		case "if", "with", "range":
			begin(after, action)
		case "else":
			if !end(start) {
				return nil
			}
			begin(after, action)
		case "end":
			if !end(start) {
				return nil
			}
		}
	}
	var withActions []branch
	for i, br := range all {
		if actions[i] > 1 { // besides the one that ends it
			withActions = append(withActions, br)
		}
	}
	return withActions
}

// endOfAction returns the position after an action whose text starts at a position; -1 if it does
// not end.
func endOfAction(text string, at int) int {
	if comment := strings.TrimPrefix(text[at:], "- "); strings.HasPrefix(comment, "/*") {
		end := strings.Index(text[at:], "*/")
		if end < 0 {
			return -1
		}
		at += end
	}
	for ; at < len(text); at++ {
		switch c := text[at]; c {
		case '}':
			if strings.HasPrefix(text[at:], "}}") {
				return at + 2
			}
		case '"', '\'', '`':
			for at++; at < len(text) && text[at] != c; at++ {
				if c != '`' && text[at] == '\\' {
					at++
				}
			}
		}
	}
	return -1
}

// isPruned reports whether a template is another one but for calls of noteRan at the start of
// branches, and of notePruned instead of branches.
func isPruned(whole, text string) bool {
	parsed := func(text string) *parse.ListNode {
		t := parse.New("")
		t.Mode = parse.SkipFuncCheck
		all := map[string]*parse.Tree{}
		if _, err := t.Parse(text, "", "", all); err != nil || len(all) != 1 || all[""] == nil {
			return nil
		}
		return all[""].Root
	}
	w, t := parsed(whole), parsed(text)
	return w != nil && t != nil && samePruned(w, t)
}

func samePruned(whole, short *parse.ListNode) bool {
	if whole == nil || short == nil {
		return whole == nil && short == nil
	}
	nodes := short.Nodes
	switch {
	case len(nodes) == 1 && calls(nodes[0], notePruned):
		return true
	case len(nodes) > 0 && calls(nodes[0], noteRan):
		nodes = nodes[1:]
	}
	if len(nodes) != len(whole.Nodes) {
		return false
	}
	for i, node := range nodes {
		a, b := branchOf(whole.Nodes[i]), branchOf(node)
		switch {
		case node.Type() != whole.Nodes[i].Type():
			return false
		case a != nil && b != nil:
			if a.Pipe.String() != b.Pipe.String() || !samePruned(a.List, b.List) || !samePruned(a.ElseList, b.ElseList) {
				return false
			}
		case node.String() != whole.Nodes[i].String():
			return false
		}
	}
	return true
}

func branchOf(node parse.Node) *parse.BranchNode {
	switch n := node.(type) {
	case *parse.IfNode:
		return &n.BranchNode
	case *parse.WithNode:
		return &n.BranchNode
	case *parse.RangeNode:
		return &n.BranchNode
	}
	return nil
}

// calls reports whether a node only calls a function that prune defines.
func calls(node parse.Node, function string) bool {
	a, ok := node.(*parse.ActionNode)
	return ok && strings.HasPrefix(a.String(), "{{"+function+" ")
}
