// Package random provides the non-deterministic functions of templates: passwords,
// keys, certificates, identifiers, the time. Without a seed they work as in Helm,
// and the templates that call them are recorded. With a seed their results are
// derived from the Seed and from the purpose of the value:
//
//	the Application   its AppProject, name and destination, as set by Argo CD
//	the release       its name and namespace, and its number among releases with the same ones
//	the template      the file that Helm's engine runs, such as shop/templates/secret.yaml
//	the call          the function, its arguments, and the number of identical calls before it
//
// Other values, other templates, another revision and another version of the chart
// change none of these, so a password is stable. No two calls have all of them in
// common.
package random

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// Source configures the functions. The zero value makes them random.
type Source struct {
	// Key is the key of the Application; nil means that results are random, and
	// WhyRandom says why.
	Key       *Key
	WhyRandom WhyRandom
	// Now is the time for renewing certificates.
	Now time.Time
	// Keys caches keys; it may be nil.
	Keys *Keys
	// OnlyCompared means that nothing uses the keys and hashes: those that would be RSA keys, which
	// take as long as the rest of a chart, are on an elliptic curve, and hashes have the least cost.
	OnlyCompared bool
}

// WhyRandom is the reason why nothing is derived.
type WhyRandom int

const (
	// NoSeed means that there is no seed.
	NoSeed WhyRandom = iota
	// NoProject means that Argo CD does not name the AppProject, so a seed cannot
	// be used.
	NoProject
	// Disabled means that the component disables derivation.
	Disabled
)

// Remedy says how to enable derivation.
func (w WhyRandom) Remedy() string {
	switch w {
	case NoProject:
		return "upgrade Argo CD to 3.0 or later, which says the AppProject that a seed needs"
	case Disabled:
		return "set random: derived, with a seed"
	}
	return "render with a seed (--seed-file)"
}

// Rendering is the state of one rendering of a component, also with the zero value
// of Source.
type Rendering struct {
	source Source
	mu     sync.Mutex
	// charts counts charts with the same scope.
	charts   map[string]int
	part     string
	of       *Rendering // the rendering that records calls; itself unless this is a part
	used     bool
	renewals []Renewal
	lookups  []Lookup
	drawn    []string
}

// New starts a rendering.
func New(from Source) *Rendering {
	r := &Rendering{source: from, charts: map[string]int{}}
	r.of = r
	return r
}

// Part returns the rendering of a directory of the component. Its records go to the
// whole.
func (r *Rendering) Part(dir string) *Rendering {
	part := New(r.source)
	part.part, part.of = dir, r.of
	return part
}

// Renewal is a derived certificate and the time when it is replaced.
type Renewal struct {
	Template string
	// Name is the common name.
	Name string
	// Renews is when the next rendering replaces it, and NotAfter when it expires.
	Renews, NotAfter time.Time
}

// WhyRandom returns the reason why nothing is derived.
func (r *Rendering) WhyRandom() WhyRandom {
	if r == nil {
		return NoSeed
	}
	return r.source.WhyRandom
}

// Derived reports whether there is a seed; a nil Rendering has none.
func (r *Rendering) Derived() bool { return r != nil && r.source.Key != nil }

// Used reports whether any of the functions was called.
func (r *Rendering) Used() bool {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	return r.of.used
}

// Renewals returns the derived certificates, sorted by renewal.
func (r *Rendering) Renewals() []Renewal {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	all := slices.Clone(r.of.renewals)
	slices.SortStableFunc(all, func(a, b Renewal) int { return a.Renews.Compare(b.Renews) })
	return all
}

func (r *Rendering) noteRenewal(n Renewal) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if !slices.Contains(r.of.renewals, n) {
		r.of.renewals = append(r.of.renewals, n)
	}
}

// Release is a chart to render.
type Release struct {
	Chart, Name, Namespace string
	// Content identifies the content of chart and values. It is called if a
	// template needs the time.
	Content func() []byte
}

// Chart is the state of a chart being rendered, template by template.
type Chart struct {
	rendering *Rendering
	release   Release
	scope     []string
	template  string
	// calls counts identical calls.
	calls map[string]int
	uses  []Use
}

// Use is a function called by a template.
type Use struct {
	// Template is Helm's name of the file.
	Template string
	Function string
}

// Uses returns the functions that were called, in the order of the first calls.
func (c *Chart) Uses() []Use { return c.uses }

func (c *Chart) note(function string) {
	if u := (Use{c.template, function}); !slices.Contains(c.uses, u) {
		c.uses = append(c.uses, u)
	}
	c.rendering.of.mu.Lock()
	c.rendering.of.used = true
	c.rendering.of.mu.Unlock()
}

// Chart starts the rendering of a chart.
func (r *Rendering) Chart(of Release) *Chart {
	scope := []string{r.part, of.Chart, of.Name, of.Namespace}
	same := fmt.Sprintf("%q", scope)
	r.mu.Lock()
	nth := r.charts[same]
	r.charts[same]++
	r.mu.Unlock()
	return &Chart{rendering: r, release: of, scope: append(scope, strconv.Itoa(nth)), calls: map[string]int{}}
}

// Enter sets the template of the following calls. It returns an empty string, so
// that templates can call it.
func (c *Chart) Enter(template string) string {
	c.template = template
	return ""
}

// Functions returns the functions that replace Helm's.
func (c *Chart) Functions() template.FuncMap {
	if !c.rendering.Derived() {
		return c.recorded()
	}
	derived := c.texts()
	maps.Copy(derived, c.certificates())
	maps.Copy(derived, Clock(c.now))
	return derived
}

// recorded returns Helm's own functions, with calls recorded.
func (c *Chart) recorded() template.FuncMap {
	funcs := Clock(func(name string) time.Time {
		c.note(name)
		return time.Now()
	})
	all := sprig.TxtFuncMap()
	for _, name := range random {
		f := reflect.ValueOf(all[name])
		call := f.Call
		if f.Type().IsVariadic() {
			call = f.CallSlice
		}
		funcs[name] = reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			c.note(name)
			return call(args)
		}).Interface()
	}
	return funcs
}

// stream returns the random stream of a call. Each call has its own.
func (c *Chart) stream(function string, args ...any) *Stream {
	c.note(function)
	return c.rendering.source.Key.Stream(c.identity(function, args...)...)
}

// identity returns what identifies a call.
func (c *Chart) identity(function string, args ...any) []string {
	id := append(slices.Clone(c.scope), c.template, function)
	for _, a := range args {
		id = append(id, argument(a))
	}
	same := fmt.Sprintf("%q", id)
	nth := c.calls[same]
	c.calls[same]++
	return append(id, strconv.Itoa(nth))
}

// argument formats an argument unambiguously.
func argument(a any) string {
	switch a := a.(type) {
	case string:
		return "text " + a
	case int:
		return "number " + strconv.Itoa(a)
	case []any:
		list := "list"
		for _, item := range a {
			list += fmt.Sprintf(" %q", argument(item))
		}
		return list
	}
	return fmt.Sprintf("%T %v", a, a)
}
