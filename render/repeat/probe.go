package repeat

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"

	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/random"
)

// world is the state that template functions read besides their arguments.
type world struct {
	// seed determines the results of random functions.
	seed int
	// later is the time that has passed since the first rendering.
	later time.Duration
}

// probe replaces the non-deterministic functions of templates: in the same world,
// the same arguments give the same result. Two renderings then differ only because
// of their worlds.
type probe struct {
	world world
	// start is the time of the first rendering.
	start time.Time
	// derived means that the functions must not be replaced, because there is a
	// seed.
	derived bool
	// results caches the results of all renderings, by what they depend on.
	results map[string][]reflect.Value
	// called are the functions that were called in any rendering.
	called map[string]bool
	// templates are those that ran in any rendering, by Helm's names.
	templates map[string]text
	// printed are computed texts that look like an API version.
	printed []string
}

func newProbe(derived bool) *probe {
	return &probe{start: time.Now(), derived: derived, results: map[string][]reflect.Value{}, called: map[string]bool{},
		templates: map[string]text{}}
}

// functions returns the functions that replace Helm's in a chart.
func (p *probe) functions(templates []helm.TemplateText) template.FuncMap {
	for _, t := range templates {
		p.templates[t.Source] = newText(t)
	}
	funcs := template.FuncMap{
		"print":  func(args ...any) string { return p.recordAPIVersion(fmt.Sprint(args...)) },
		"printf": func(format string, args ...any) string { return p.recordAPIVersion(fmt.Sprintf(format, args...)) },
	}
	if p.derived {
		return funcs // derived results are deterministic
	}
	maps.Copy(funcs, random.Clock(func(name string) time.Time {
		p.called[name] = true
		return p.start.Add(p.world.later)
	}))
	all := sprig.TxtFuncMap()
	for name, own := range all {
		if random.IsRandom(name) {
			funcs[name] = p.deterministic(name, withFastKey(all, name, own))
		}
	}
	return funcs
}

// withFastKey returns a function of sprig, or one that makes the same with a key on an elliptic curve:
// an RSA key takes as long as the rest of a chart, and it is only compared with another one.
func withFastKey(all template.FuncMap, name string, own any) any {
	newKey := all["genPrivateKey"].(func(string) string)
	if name == "genPrivateKey" {
		return func(kind string) string {
			if kind == "" || kind == "rsa" || kind == "dsa" {
				kind = "ecdsa"
			}
			return newKey(kind) // of an unknown kind, a text that does not differ
		}
	}
	withKey, takesKey := all[name+"WithKey"]
	if !takesKey {
		return own
	}
	return reflect.MakeFunc(reflect.TypeOf(own), func(args []reflect.Value) []reflect.Value {
		return reflect.ValueOf(withKey).Call(append(args, reflect.ValueOf(newKey("ecdsa"))))
	}).Interface()
}

// recordAPIVersion records a text that looks like an API version: templates may compute the
// name that they check.
func (p *probe) recordAPIVersion(text string) string {
	if apiVersionText.MatchString(text) && !slices.Contains(p.printed, text) {
		p.printed = append(p.printed, text)
	}
	return text
}

// deterministic wraps a random function so that its result depends on the world.
func (p *probe) deterministic(name string, function any) any {
	f := reflect.ValueOf(function)
	call := f.Call
	if f.Type().IsVariadic() {
		call = f.CallSlice
	}
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		p.called[name] = true
		var key strings.Builder
		fmt.Fprint(&key, name, " ", p.world.seed)
		for _, a := range args {
			fmt.Fprintf(&key, " %#v", a)
		}
		if _, known := p.results[key.String()]; !known {
			p.results[key.String()] = call(args)
		}
		return p.results[key.String()]
	}).Interface()
}
