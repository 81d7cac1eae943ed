package crds

import (
	"slices"
	"strings"
	"text/template/parse"

	"github.com/gobwas/glob"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// ChartCRD is a CRD that a chart can render, with its conditions.
type ChartCRD struct {
	// Name is its name; empty if the template computes it.
	Name string
	// File and Line are its place.
	File string
	Line int
	// when are the conditions around it, all of which must hold.
	when []condition
}

// reader finds the CRDs in the templates of charts with their conditions. It runs
// no template.
type reader struct {
	defined map[string]definedTemplate // named templates, by name
	crds    []ChartCRD
	// gates are the values that the templates of each file depend on.
	gates map[string][]Path
	// chart is the current chart.
	chart *Chart
	// including are the named templates that are being included, outermost first.
	including []string
}

type definedTemplate struct {
	tree *parse.Tree
	file File
}

// scope is the meaning of "." and of variables at a place in a template: paths
// below the root, such as Values, crds, enabled; nil if unknown.
type scope struct {
	dot  []string
	vars map[string][]string
}

var root = []string{}

// readChart collects what a chart and its subcharts can render.
func (r *reader) readChart(c *Chart, outer []condition) {
	if c.Conditions != nil || c.Tags != nil {
		outer = append(slices.Clone(outer), condition{op: enables, paths: c.Conditions, tags: c.Tags, text: c.Name})
	}
	for _, f := range c.CRDFiles {
		r.text(f, f.Text, 0, outer)
	}
	for _, f := range c.Templates {
		main := r.parse(f)
		r.chart = c
		if main != nil && !strings.HasPrefix(f.Name[strings.LastIndexByte(f.Name, '/')+1:], "_") {
			r.list(main.Root, f, outer, scope{dot: root, vars: map[string][]string{}})
		}
	}
	for _, sub := range c.Charts {
		r.readChart(sub, outer)
	}
}

// define collects the named templates of all charts, which share them.
func (r *reader) define(c *Chart) {
	for _, f := range c.Templates {
		if !strings.Contains(f.Text, "define") && !strings.Contains(f.Text, "block") {
			continue
		}
		for name, tree := range parseAll(f) {
			if name != f.Name {
				r.defined[name] = definedTemplate{tree, f}
			}
		}
	}
	for _, sub := range c.Charts {
		r.define(sub)
	}
}

func (r *reader) parse(f File) *parse.Tree { return parseAll(f)[f.Name] }

// parseAll parses a template with its named templates. Invalid ones are skipped:
// the rendering reports them.
func parseAll(f File) map[string]*parse.Tree {
	t := parse.New(f.Name)
	t.Mode = parse.SkipFuncCheck
	all := map[string]*parse.Tree{}
	if _, err := t.Parse(f.Text, "", "", all); err != nil {
		return nil
	}
	return all
}

// list reads the nodes of a template below conditions.
func (r *reader) list(l *parse.ListNode, f File, when []condition, s scope) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		r.node(n, f, when, s)
	}
}

func (r *reader) node(n parse.Node, f File, when []condition, s scope) {
	switch n := n.(type) {
	case *parse.TextNode:
		r.text(f, string(n.Text), int(n.Pos), when)
	case *parse.IfNode:
		r.pipe(n.Pipe, f, when, s, false)
		c := r.condition(n.Pipe, s)
		r.gate(f, c)
		r.list(n.List, f, append(slices.Clone(when), c), s)
		r.list(n.ElseList, f, append(slices.Clone(when), condition{op: not, of: []condition{c}}), s)
	case *parse.WithNode:
		r.pipe(n.Pipe, f, when, s, false)
		c := r.condition(n.Pipe, s)
		r.gate(f, c)
		inner := scope{r.ref(n.Pipe, s), s.vars}
		r.list(n.List, f, append(slices.Clone(when), c), inner)
		r.list(n.ElseList, f, append(slices.Clone(when), condition{op: not, of: []condition{c}}), s)
	case *parse.RangeNode:
		r.pipe(n.Pipe, f, when, s, false)
		r.list(n.List, f, when, scope{nil, s.vars})
		r.list(n.ElseList, f, when, s)
	case *parse.TemplateNode:
		r.pipe(n.Pipe, f, when, s, false)
		r.include(n.Name, when, r.ref(n.Pipe, s))
	case *parse.ActionNode:
		r.pipe(n.Pipe, f, when, s, false)
		if len(n.Pipe.Decl) == 1 {
			s.vars[n.Pipe.Decl[0].Ident[0]] = r.ref(n.Pipe, s)
		}
	}
}

// gate records the values that a file depends on.
func (r *reader) gate(f File, c condition) {
	r.gates[f.Shown] = append(r.gates[f.Shown], c.values()...)
}

// include reads a named template where it is included.
func (r *reader) include(name string, when []condition, dot []string) {
	d, ok := r.defined[name]
	if !ok || slices.Contains(r.including, name) || len(r.including) > 20 {
		return
	}
	r.including = append(r.including, name)
	r.list(d.tree.Root, d.file, when, scope{dot, map[string][]string{}})
	r.including = r.including[:len(r.including)-1]
}

// pipe finds the includes and file reads of a pipeline. expands means that their
// content is a template itself.
func (r *reader) pipe(p *parse.PipeNode, f File, when []condition, s scope, expands bool) {
	if p == nil {
		return
	}
	for at, cmd := range p.Cmds {
		expands := expands || at+1 < len(p.Cmds) && calls(p.Cmds[at+1], "tpl") || calls(cmd, "tpl")
		for i, arg := range cmd.Args {
			if inner, ok := arg.(*parse.PipeNode); ok {
				r.pipe(inner, f, when, s, expands)
			}
			if chain, ok := arg.(*parse.ChainNode); ok {
				if inner, ok := chain.Node.(*parse.PipeNode); ok {
					r.pipe(inner, f, when, s, expands)
				}
			}
			if i > 0 {
				continue
			}
			if id, ok := arg.(*parse.IdentifierNode); ok && id.Ident == "include" && len(cmd.Args) > 2 {
				if name, ok := cmd.Args[1].(*parse.StringNode); ok {
					r.include(name.Text, when, r.ref(cmd.Args[2], s))
				}
			}
			if ref := r.ref(arg, s); len(ref) == 2 && ref[0] == "Files" && len(cmd.Args) > 1 {
				r.files(cmd.Args[1], when, expands)
			}
		}
	}
}

// calls reports whether a command is a call of a function.
func calls(cmd *parse.CommandNode, function string) bool {
	id, ok := cmd.Args[0].(*parse.IdentifierNode)
	return ok && id.Ident == function
}

// files reads the chart files that a template reads.
func (r *reader) files(name parse.Node, when []condition, expands bool) {
	pattern := ""
	switch name := name.(type) {
	case *parse.StringNode:
		pattern = name.Text
	case *parse.PipeNode: // printf "crds/%s.yaml" x
		if len(name.Cmds) != 1 || len(name.Cmds[0].Args) < 2 {
			return
		}
		format, ok := name.Cmds[0].Args[1].(*parse.StringNode)
		if id, isID := name.Cmds[0].Args[0].(*parse.IdentifierNode); !ok || !isID || id.Ident != "printf" {
			return
		}
		pattern = strings.NewReplacer("%s", "*", "%v", "*", "%d", "*").Replace(format.Text)
	default:
		return
	}
	matches, err := glob.Compile(pattern, '/') // as Helm does
	if err != nil {
		return
	}
	for _, f := range r.chart.Files {
		if !matches.Match(f.Name) {
			continue
		}
		if main := r.parse(f); expands && main != nil {
			r.list(main.Root, f, when, scope{dot: root, vars: map[string][]string{}})
		} else {
			r.text(f, f.Text, 0, when)
		}
	}
}

// nameLine matches the name in the metadata of a manifest.
var nameLine = lazyregexp.New(`(?m)^ {1,4}name: *["']?([a-z0-9-]+(?:\.[a-z0-9-]+)+)["']? *(?:#.*)?\r?$`)

// text finds CRDs in a piece of a file that starts at an offset.
func (r *reader) text(f File, piece string, offset int, when []condition) {
	for _, at := range crdLines(piece) {
		at += offset
		name := ""
		if m := nameLine.FindStringSubmatch(head(f.Text[at:])); m != nil {
			name = m[1]
		}
		r.crds = append(r.crds, ChartCRD{Name: name, File: f.Shown, Line: 1 + strings.Count(f.Text[:at], "\n"), when: when})
	}
}

// crdLines returns the offsets of lines that identify a manifest as a CRD.
// Schemas are megabytes, so this searches for the word and then for the line.
func crdLines(text string) []int {
	var all []int
	for from := 0; ; {
		at := strings.Index(text[from:], kind)
		if at < 0 {
			return all
		}
		at += from
		from = at + len(kind)
		start := strings.LastIndexByte(text[:at], '\n') + 1
		end := strings.IndexByte(text[from:], '\n')
		if end < 0 {
			end = len(text) - from
		}
		before, after := strings.TrimRight(text[start:at], ` "'`), strings.Trim(text[from:from+end], ` "'`+"\r")
		if before == "kind:" && (after == "" || after[0] == '#') {
			all = append(all, start)
		}
	}
}

// head returns the part of a manifest with its metadata.
func head(text string) string {
	text, _, _ = strings.Cut(text, "\nspec:")
	text, _, _ = strings.Cut(text, "\n---")
	return text
}

// condition parses the condition of "if" or "with".
func (r *reader) condition(p *parse.PipeNode, s scope) condition {
	c := r.command(p.Cmds[0], s)
	for _, then := range p.Cmds[1:] {
		id, ok := then.Args[0].(*parse.IdentifierNode)
		switch {
		case ok && id.Ident == "not":
			c = condition{op: not, of: []condition{c}}
		case ok && id.Ident == "default" && len(then.Args) == 2 && isFalse(then.Args[1]):
		default:
			return condition{}
		}
	}
	return c
}

func isFalse(n parse.Node) bool {
	b, ok := n.(*parse.BoolNode)
	return ok && !b.True
}

func (r *reader) command(cmd *parse.CommandNode, s scope) condition {
	id, ok := cmd.Args[0].(*parse.IdentifierNode)
	if !ok {
		if len(cmd.Args) == 1 {
			return r.operand(cmd.Args[0], s)
		}
		return condition{}
	}
	args := cmd.Args[1:]
	switch id.Ident {
	case "not", "empty":
		if len(args) == 1 {
			return condition{op: not, of: []condition{r.operand(args[0], s)}}
		}
	case "and", "or":
		c := condition{op: map[string]condOp{"and": and, "or": or}[id.Ident]}
		for _, a := range args {
			c.of = append(c.of, r.operand(a, s))
		}
		return c
	case "default":
		if len(args) == 2 && isFalse(args[0]) {
			return r.operand(args[1], s)
		}
	case "eq", "ne":
		if len(args) == 2 {
			c := r.equals(args[0], args[1], s)
			if id.Ident == "ne" {
				c = condition{op: not, of: []condition{c}}
			}
			return c
		}
	case "index", "get":
		if path, ok := r.value(r.index(args, s)); ok {
			return condition{op: isTrue, path: path}
		}
	}
	return condition{}
}

func (r *reader) operand(n parse.Node, s scope) condition {
	if p, ok := n.(*parse.PipeNode); ok {
		return r.condition(p, s)
	}
	if path, ok := r.value(r.ref(n, s)); ok {
		return condition{op: isTrue, path: path}
	}
	return condition{}
}

func (r *reader) equals(a, b parse.Node, s scope) condition {
	if _, ok := a.(*parse.StringNode); ok {
		a, b = b, a
	}
	if bool, ok := a.(*parse.BoolNode); ok {
		a, b = b, bool
	}
	path, ok := r.value(r.ref(a, s))
	if !ok {
		return condition{}
	}
	switch b := b.(type) {
	case *parse.StringNode:
		return condition{op: isText, path: path, text: b.Text}
	case *parse.BoolNode:
		c := condition{op: isTrue, path: path}
		if !b.True {
			c = condition{op: not, of: []condition{c}}
		}
		return c
	}
	return condition{}
}

// value converts a reference to the path of a value of the root chart.
func (r *reader) value(ref []string) (Path, bool) {
	switch {
	case len(ref) < 2 || ref[0] != "Values":
		return nil, false
	case ref[1] == "global":
		return slices.Clone(ref[1:]), true
	}
	return r.chart.below(ref[1:]), true
}

// ref returns the path that a node refers to, below the root of the template; nil
// if unknown.
func (r *reader) ref(n parse.Node, s scope) []string {
	switch n := n.(type) {
	case *parse.DotNode:
		return s.dot
	case *parse.FieldNode:
		return join(s.dot, n.Ident)
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return join(root, n.Ident[1:])
		}
		return join(s.vars[n.Ident[0]], n.Ident[1:])
	case *parse.ChainNode:
		return join(r.ref(n.Node, s), n.Field)
	case *parse.PipeNode:
		if n == nil || len(n.Cmds) != 1 {
			return nil
		}
		args := n.Cmds[0].Args
		if id, ok := args[0].(*parse.IdentifierNode); ok && (id.Ident == "index" || id.Ident == "get") {
			return r.index(args[1:], s)
		}
		if len(args) == 1 {
			return r.ref(args[0], s)
		}
	}
	return nil
}

func (r *reader) index(args []parse.Node, s scope) []string {
	if len(args) == 0 {
		return nil
	}
	ref := r.ref(args[0], s)
	for _, a := range args[1:] {
		key, ok := a.(*parse.StringNode)
		if !ok {
			return nil
		}
		ref = join(ref, []string{key.Text})
	}
	return ref
}

// join extends a reference; an unknown one remains unknown.
func join(ref, steps []string) []string {
	if ref == nil {
		return nil
	}
	return append(slices.Clone(ref), steps...)
}
