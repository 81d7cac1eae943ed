package render

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/ladder-cmp/ladder/crds"
)

// lookup reads the cluster, of which a rendering sees none.
const lookup = "lookup"

// site is a place in a template that calls one of these functions, or asks for an
// API version or the version of Kubernetes.
type site struct {
	// function is what is called; empty for questions about the cluster.
	function string
	// api is what Capabilities.APIVersions is asked for; anyAPI means that a template
	// asks for something that is computed.
	api    string
	anyAPI bool
	// file is how messages call the template, and line where it is in it.
	file string
	line int
	// values are the paths of values that decide whether the place is reached, or
	// stand in the same action.
	values []crds.Path
}

// survey is what the templates of the charts of a component hold.
type survey struct {
	// texts are templates as they run, by what was looked at: each is looked at once,
	// so that a place has the same number in all renderings.
	texts map[templateText]string
	sites []*site
	// literals are texts that are written like an API version.
	literals []string
	// paths are values that each template names, by the file.
	paths map[string][]crds.Path
	// templated are the values that call volatile functions where a template runs them.
	templated []templatedValue
}

// look reads the templates of a chart, and makes each place that calls a volatile
// function call one of its own, by the number of the site. key is where the values
// of the chart stand.
func (v *survey) look(s source, ch *chart.Chart, key crds.Path) {
	for _, t := range ch.Templates {
		v.template(s.chartFile(ch, t.Name), t, key)
	}
	seen := map[*chart.Chart]bool{}
	eachDependency(ch, func(dep *chart.Dependency, sub *chart.Chart) {
		if seen[sub] {
			return // under another alias
		}
		seen[sub] = true
		name := sub.Name()
		if dep != nil && dep.Alias != "" {
			name = dep.Alias
		}
		v.look(s, sub, join(key, crds.Path{name}))
	})
}

func (v *survey) template(file string, t *common.File, key crds.Path) {
	tree := parse.New(t.Name)
	tree.Mode = parse.SkipFuncCheck
	all := map[string]*parse.Tree{}
	text := string(t.Data)
	as := templateText{file, strings.Join(key, "."), text}
	if known, seen := v.texts[as]; seen {
		t.Data = []byte(known)
		return
	}
	if _, err := tree.Parse(text, "", "", all); err != nil {
		return // the rendering says so
	}
	w := walker{survey: v, file: file, text: text, key: key}
	for _, tree := range all {
		w.node(tree.Root)
	}
	// From behind, so that offsets hold.
	slices.SortFunc(w.calls, func(a, b call) int { return b.at - a.at })
	for _, c := range w.calls {
		end := c.at + len(c.name)
		if text[c.at:min(end, len(text))] != c.name {
			continue
		}
		own := fmt.Sprintf("%s_%d", c.name, c.site)
		if c.argument {
			own = fmt.Sprintf("(%s_%d %s)", kubeVersion, c.site, c.name)
		}
		text = text[:c.at] + own + text[end:]
	}
	v.texts[as] = text
	t.Data = []byte(text)
}

// templateText is a template: where it is, and where the values of its chart are.
type templateText struct{ file, key, text string }

// call is a place in a text that calls a function, or that is to become the argument
// of one.
type call struct {
	at       int
	name     string
	site     int
	argument bool
}

// walker walks through a template.
type walker struct {
	*survey
	file, text string
	key        crds.Path
	// above are the values of the conditions around a node.
	above []crds.Path
	// holding are the variables that were given Capabilities.APIVersions.
	holding []string
	calls   []call
}

func (w *walker) line(pos parse.Pos) int { return 1 + strings.Count(w.text[:pos], "\n") }

func (w *walker) node(n parse.Node) {
	if n == nil || reflect.ValueOf(n).IsNil() {
		return
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, inner := range n.Nodes {
			w.node(inner)
		}
	case *parse.ActionNode:
		w.pipe(n.Pipe)
	case *parse.TemplateNode:
		w.pipe(n.Pipe)
	case *parse.IfNode:
		w.branch(&n.BranchNode)
	case *parse.RangeNode:
		w.branch(&n.BranchNode)
	case *parse.WithNode:
		w.branch(&n.BranchNode)
	}
}

func (w *walker) branch(n *parse.BranchNode) {
	w.pipe(n.Pipe)
	before := w.above
	w.above = append(slices.Clone(before), w.valuesIn(n.Pipe)...)
	w.node(n.List)
	w.node(n.ElseList)
	w.above = before
}

// pipe looks at an action: at each function in it, and each question.
func (w *walker) pipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	values := append(w.valuesIn(p), w.above...)
	w.paths[w.file] = append(w.paths[w.file], values...)
	w.inside(p, values)
}

func (w *walker) inside(n parse.Node, values []crds.Path) {
	at := func(pos parse.Pos) *site {
		s := &site{file: w.file, line: w.line(pos), values: values}
		w.sites = append(w.sites, s)
		return s
	}
	switch n := n.(type) {
	case *parse.PipeNode:
		// {{ $apis := .Values.apis | default .Capabilities.APIVersions }}
		if len(n.Decl) == 1 && slices.ContainsFunc(n.Cmds, func(c *parse.CommandNode) bool { return slices.ContainsFunc(c.Args, w.apiVersions) }) {
			w.holding = append(w.holding, n.Decl[0].Ident[0])
		}
		for i, c := range n.Cmds {
			w.inside(c, values)
			// {{ "x" | .Capabilities.APIVersions.Has }}
			if i > 0 && len(c.Args) == 1 && asksAPI(c.Args[0]) {
				at(c.Pos).asks(n.Cmds[i-1].Args[0])
			}
			// {{ .Capabilities.APIVersions | has "x" }}
			if i > 0 && len(c.Args) == 2 && calls(c, "has") && w.apiVersions(n.Cmds[i-1].Args[0]) {
				at(c.Pos).asks(c.Args[1])
			}
		}
	case *parse.CommandNode:
		for _, arg := range n.Args {
			w.inside(arg, values)
		}
		w.question(n, at)
	case *parse.ChainNode:
		w.inside(n.Node, values)
	case *parse.FieldNode, *parse.VariableNode:
		if from, text, ok := w.kubeVersionIn(n); ok {
			at(n.Position()).function = kubeVersion
			w.calls = append(w.calls, call{from, text, len(w.sites) - 1, true})
		}
	case *parse.StringNode:
		if apiLiteral(n.Text) {
			w.literals = append(w.literals, n.Text)
		}
		if strings.Contains(n.Text, ".") && valuePath.MatchString(n.Text) {
			w.paths[w.file] = append(w.paths[w.file], join(w.key, strings.Split(n.Text, ".")))
		}
	case *parse.IdentifierNode:
		if !isVolatile(n.Ident) && n.Ident != lookup && n.Ident != semverCompare {
			return
		}
		at(n.Pos).function = n.Ident
		w.calls = append(w.calls, call{at: int(n.Pos), name: n.Ident, site: len(w.sites) - 1})
	}
}

// question looks for what a call asks about the cluster.
func (w *walker) question(n *parse.CommandNode, at func(parse.Pos) *site) {
	switch {
	case asksAPI(n.Args[0]) && len(n.Args) > 1:
		at(n.Pos).asks(n.Args[1])
	case calls(n, "has") && len(n.Args) == 3 && w.apiVersions(n.Args[2]):
		at(n.Pos).asks(n.Args[1])
	}
}

// apiVersions reports whether a node is Capabilities.APIVersions, or a variable that
// was given them.
func (w *walker) apiVersions(n parse.Node) bool {
	if v, ok := n.(*parse.VariableNode); ok && len(v.Ident) == 1 {
		return slices.Contains(w.holding, v.Ident[0])
	}
	if p, ok := n.(*parse.PipeNode); ok && len(p.Cmds) == 1 && len(p.Cmds[0].Args) == 1 {
		return w.apiVersions(p.Cmds[0].Args[0])
	}
	return endsIn(n, "APIVersions")
}

// asks notes what API version a place asks for: a text, or what is computed.
func (s *site) asks(n parse.Node) {
	if text, ok := n.(*parse.StringNode); ok {
		s.api = text.Text
	} else {
		s.anyAPI = true
	}
}

// calls reports whether a command calls a function.
func calls(c *parse.CommandNode, name string) bool {
	function, ok := c.Args[0].(*parse.IdentifierNode)
	return ok && function.Ident == name
}

// asksAPI reports whether a node is the method of Capabilities.APIVersions, which
// may as well be "." or a variable. Nothing else that templates see has one of
// that name.
func asksAPI(n parse.Node) bool { return endsIn(n, "Has") }

// endsIn reports whether a node is a chain of fields with that end.
func endsIn(n parse.Node, end ...string) bool {
	names := fields(n)
	return len(names) >= len(end) && slices.Equal(names[len(names)-len(end):], end)
}

func fields(n parse.Node) []string {
	switch n := n.(type) {
	case *parse.FieldNode:
		return n.Ident
	case *parse.VariableNode:
		return n.Ident
	case *parse.ChainNode:
		return append(slices.Clone(fields(n.Node)), n.Field...)
	}
	return nil
}

// valuesIn are the values that an action names, by their paths in those of the
// whole chart.
func (w *walker) valuesIn(n parse.Node) []crds.Path {
	var all []crds.Path
	switch n := n.(type) {
	case *parse.PipeNode:
		if n == nil {
			return nil
		}
		for _, c := range n.Cmds {
			all = append(all, w.valuesIn(c)...)
		}
	case *parse.CommandNode:
		for _, arg := range n.Args {
			all = append(all, w.valuesIn(arg)...)
		}
	case *parse.ChainNode:
		all = w.valuesIn(n.Node)
	}
	names := fields(n)
	if i := slices.Index(names, "Values"); i >= 0 && i+1 < len(names) {
		own := crds.Path(names[i+1:])
		if own[0] != "global" {
			own = join(w.key, own)
		}
		all = append(all, own)
	}
	return all
}

// prepare looks at a chart, and returns the functions that its templates call
// from then on; none without a chance.
func (c *chance) prepare(s source, ch *chart.Chart) template.FuncMap {
	if c == nil {
		return nil
	}
	c.survey.look(s, ch, nil)
	c.survey.lookAtValues(s, ch)
	return c.functions()
}

// chance is what the volatile functions of a rendering return: the same in each
// rendering, but where another draw is asked for.
type chance struct {
	survey *survey
	// drawn are the results of all renderings, by site, draw and arguments.
	drawn map[string]drawn
	// draws are the draws that sites make; 0 for those that are not in it.
	draws map[int]int
	// called are the sites that were reached, in order; nth counts the calls.
	called []int
	nth    map[string]int
	// values are laid over those of all charts.
	values []Values
	// versions is what templates see of the version of Kubernetes.
	versions versionsSeen
}

func newChance() *chance {
	return &chance{survey: &survey{texts: map[templateText]string{}, paths: map[string][]crds.Path{}}, drawn: map[string]drawn{}}
}

// overrides are values that win over a chart's own; none without a chance.
func (c *chance) overrides() []Values {
	if c == nil {
		return nil
	}
	return c.values
}

// drawn is what a function returned.
type drawn []reflect.Value

// inValues are the functions whose calls may stand in no template, but in values that
// templates run: the site of the nth is -1-n.
var inValues = append(volatileNames(), lookup)

func siteInValues(function string) int { return -1 - slices.Index(inValues, function) }

// functions are those that templates call, once look has renamed the calls.
func (c *chance) functions() template.FuncMap {
	own := sprig.TxtFuncMap()
	funcs := template.FuncMap{lookup: c.lookup(siteInValues(lookup))}
	funcs["print"] = func(args ...any) string { return c.watched(fmt.Sprint(args...)) }
	funcs["printf"] = func(format string, args ...any) string { return c.watched(fmt.Sprintf(format, args...)) }
	for _, name := range volatileNames() {
		if own[name] != nil {
			funcs[name] = c.volatile(siteInValues(name), name, own[name])
		}
	}
	for i, s := range c.survey.sites {
		switch {
		case s.function == lookup:
			funcs[fmt.Sprintf("%s_%d", lookup, i)] = c.lookup(i)
		case s.function == semverCompare:
			funcs[fmt.Sprintf("%s_%d", semverCompare, i)] = c.versions.compare(i, own[semverCompare].(func(string, string) (bool, error)))
		case s.function == kubeVersion:
			funcs[fmt.Sprintf("%s_%d", kubeVersion, i)] = c.versions.see(i)
		case s.function != "" && own[s.function] != nil:
			funcs[fmt.Sprintf("%s_%d", s.function, i)] = c.volatile(i, s.function, own[s.function])
		}
	}
	return funcs
}

func (c *chance) lookup(site int) any {
	return func(string, string, string, string) (map[string]any, error) {
		c.reached(site)
		return map[string]any{}, nil
	}
}

// watched keeps a text if it is written like an API version: what templates ask the
// cluster for may be computed.
func (c *chance) watched(text string) string {
	if apiLiteral(text) && !slices.Contains(c.survey.literals, text) {
		c.survey.literals = append(c.survey.literals, text)
	}
	return text
}

func (c *chance) reached(site int) {
	if !slices.Contains(c.called, site) {
		c.called = append(c.called, site)
	}
}

// volatile is a function of the same type that returns what was drawn before.
func (c *chance) volatile(site int, name string, function any) any {
	f, clock := reflect.ValueOf(function), clockOf(name)
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		call := f.Call
		if f.Type().IsVariadic() {
			call = f.CallSlice
		}
		if clock != nil && !clock.reads(args) {
			return call(args)
		}
		c.reached(site)
		key := fmt.Sprintf("%d %s %d", site, name, c.draws[site])
		for _, a := range args {
			key += fmt.Sprintf(" %#v", a)
		}
		c.nth[key]++
		key += fmt.Sprintf(" %d", c.nth[key])
		if drawn, known := c.drawn[key]; known {
			return drawn
		}
		drawn := call(args)
		if clock != nil {
			// Renderings follow each other in less than a second.
			drawn = clock.later(call, args, time.Duration(c.draws[site])*1000*time.Hour)
		}
		c.drawn[key] = drawn
		return drawn
	}).Interface()
}

// again begins another rendering, in which some sites draw anew.
func (c *chance) again(sites ...int) {
	c.draws, c.nth, c.called = map[int]int{}, map[string]int{}, nil
	for _, s := range sites {
		c.draws[s] = 1
	}
}

// sourceFile is the template that an object says it is from, for messages.
func (s source) sourceFile(source string) string {
	_, below, _ := strings.Cut(source, "/")
	return s.show(path.Join(s.dir, below))
}
