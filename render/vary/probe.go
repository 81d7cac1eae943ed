package vary

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"

	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/random"
)

// lookup reads the cluster, of which a rendering sees none.
const lookup = "lookup"

// world is what functions of templates read besides their arguments.
type world struct {
	// seed decides what functions of chance return.
	seed int
	// later is how much time has passed since the first rendering.
	later time.Duration
}

// probe decides what the volatile functions of templates return: the same in each
// rendering of the same world, for the same arguments. So two renderings differ by
// their worlds alone.
type probe struct {
	world world
	// derived means that volatile functions are not to be replaced, because there is a
	// seed.
	derived bool
	// results are those of all renderings, by what they depend on.
	results map[string][]reflect.Value
	// called are the functions that were reached in any rendering.
	called map[string]bool
	// templates are those that ran in any rendering, by how Helm names them.
	templates map[string]text
	// printed are texts written like an API version that templates put together.
	printed []string
}

func newProbe(derived bool) *probe {
	return &probe{derived: derived, results: map[string][]reflect.Value{}, called: map[string]bool{}, templates: map[string]text{}}
}

// functions are those that the templates of a chart call instead of Helm's.
func (p *probe) functions(templates []helm.TemplateText) template.FuncMap {
	for _, t := range templates {
		p.templates[t.Source] = newText(t)
	}
	funcs := template.FuncMap{
		lookup: func(string, string, string, string) (map[string]any, error) {
			p.called[lookup] = true
			return map[string]any{}, nil
		},
		"print":  func(args ...any) string { return p.watched(fmt.Sprint(args...)) },
		"printf": func(format string, args ...any) string { return p.watched(fmt.Sprintf(format, args...)) },
	}
	if p.derived {
		return funcs // those are the same each time
	}
	own := sprig.TxtFuncMap()
	for _, name := range volatileNames() {
		if own[name] != nil {
			funcs[name] = p.repeatable(name, own[name])
		}
	}
	return funcs
}

// watched keeps a text if it is written like an API version: what templates ask the
// cluster for may be computed.
func (p *probe) watched(text string) string {
	if apiVersionText.MatchString(text) && !slices.Contains(p.printed, text) {
		p.printed = append(p.printed, text)
	}
	return text
}

// repeatable is a volatile function whose result depends on the world.
func (p *probe) repeatable(name string, function any) any {
	f, clock := reflect.ValueOf(function), clockOf(name)
	call := f.Call
	if f.Type().IsVariadic() {
		call = f.CallSlice
	}
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		if clock != nil && !random.ReadsClock(name, args) {
			return call(args)
		}
		p.called[name] = true
		var key strings.Builder
		fmt.Fprint(&key, name)
		if clock == nil {
			fmt.Fprintf(&key, " %d", p.world.seed)
		} else {
			fmt.Fprintf(&key, " %s", p.world.later)
		}
		for _, a := range args {
			fmt.Fprintf(&key, " %#v", a)
		}
		if known, ok := p.results[key.String()]; ok {
			return known
		}
		results := call(args)
		if clock != nil {
			results = clock(call, args, p.world.later)
		}
		p.results[key.String()] = results
		return results
	}).Interface()
}
