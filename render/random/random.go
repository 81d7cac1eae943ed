// Package random holds the functions of templates that return something else each time:
// passwords, keys, certificates, identifiers, the time. Without a seed they do what they
// do in Helm, and it is noted which templates called them. With one they return what
// follows from the seed (package seed) and from what the value is for:
//
//	the Application   its AppProject, name and destination, as Argo CD says
//	the release       its name and namespace, and which of several with the same
//	the template      the file that Helm's engine runs, such as shop/templates/secret.yaml
//	the call          the function, its arguments, and how many like it came before
//
// Other values, other templates, another revision and another version of the chart change
// none of these, so a password stays. Two calls have never all of them in common.
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

	"github.com/ladder-cmp/ladder/internal/seed"
)

// Source is where the functions get what they return. The zero value is chance.
type Source struct {
	// Key is that of the Application; nil means that all is new each time, and Without
	// says why there is none.
	Key     *seed.Key
	Without Without
	// Now is the time, by which certificates are renewed.
	Now time.Time
	// Keys remembers keys; it may be nil.
	Keys *Keys
}

// Without is why nothing is derived.
type Without int

const (
	// NoSeed means that nobody gave one.
	NoSeed Without = iota
	// NoProject means that Argo CD does not say the AppProject, so that a seed is of no use.
	NoProject
	// Unwanted means that the component is not to be derived.
	Unwanted
)

// Remedy is how to have values derived.
func (w Without) Remedy() string {
	switch w {
	case NoProject:
		return "upgrade Argo CD to 3.0 or later, which says the AppProject that a seed needs"
	case Unwanted:
		return "set random: derived, with a seed"
	}
	return "render with a seed (--seed-file)"
}

// Rendering is one rendering of a component. The zero value of Source makes one, too.
type Rendering struct {
	source Source
	mu     sync.Mutex
	// charts counts those with the same scope.
	charts   map[string]int
	part     string
	of       *Rendering // with what is noted; itself, unless this is a part
	used     bool
	renewals []Renewal
	lookups  []Lookup
}

// New begins a rendering.
func New(from Source) *Rendering {
	r := &Rendering{source: from, charts: map[string]int{}}
	r.of = r
	return r
}

// Part is the rendering of a part of the component, which is a directory in it. What it
// notes is noted in the whole.
func (r *Rendering) Part(dir string) *Rendering {
	part := New(r.source)
	part.part, part.of = dir, r.of
	return part
}

// Renewal is a certificate, which is derived from a seed, and when another one is made.
type Renewal struct {
	Template string
	// Name is the common name.
	Name string
	// Renews is when the next rendering makes another one, and NotAfter when this one is
	// no longer valid.
	Renews, NotAfter time.Time
}

// Without says why nothing is derived.
func (r *Rendering) Without() Without {
	if r == nil {
		return NoSeed
	}
	return r.source.Without
}

// Derived reports whether there is a seed; a nil Rendering has none.
func (r *Rendering) Derived() bool { return r != nil && r.source.Key != nil }

// Used reports whether any of the functions was called.
func (r *Rendering) Used() bool {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	return r.of.used
}

// Renewals are the certificates that were derived, those that renew first before the
// others.
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

// Release is a chart that is rendered.
type Release struct {
	Chart, Name, Namespace string
	// Content tells what is rendered apart from what it was before somebody changed it.
	// It is asked for if a template wants to know the time.
	Content func() []byte
}

// Chart is a chart that is being rendered, template by template.
type Chart struct {
	rendering *Rendering
	release   Release
	scope     []string
	template  string
	// calls counts those that are alike.
	calls map[string]int
	uses  []Use
}

// Use is a function that a template called.
type Use struct {
	// Template is how Helm names the file.
	Template string
	Function string
}

// Uses are the functions that were called, in the order of the first calls.
func (c *Chart) Uses() []Use { return c.uses }

func (c *Chart) note(function string) {
	if u := (Use{c.template, function}); !slices.Contains(c.uses, u) {
		c.uses = append(c.uses, u)
	}
	c.rendering.of.mu.Lock()
	c.rendering.of.used = true
	c.rendering.of.mu.Unlock()
}

// Chart begins to render a chart.
func (r *Rendering) Chart(of Release) *Chart {
	scope := []string{r.part, of.Chart, of.Name, of.Namespace}
	same := fmt.Sprintf("%q", scope)
	r.mu.Lock()
	nth := r.charts[same]
	r.charts[same]++
	r.mu.Unlock()
	return &Chart{rendering: r, release: of, scope: append(scope, strconv.Itoa(nth)), calls: map[string]int{}}
}

// Enter says which template the calls from now on are from. The result is nothing, so
// that templates can call it.
func (c *Chart) Enter(template string) string {
	c.template = template
	return ""
}

// Functions are those that templates are to call instead of Helm's.
func (c *Chart) Functions() template.FuncMap {
	if !c.rendering.Derived() {
		return c.noted()
	}
	derived := c.texts()
	maps.Copy(derived, c.certificates())
	maps.Copy(derived, c.clock())
	return derived
}

// noted are Helm's own functions, whose calls are noted.
func (c *Chart) noted() template.FuncMap {
	funcs := template.FuncMap{}
	for name, own := range sprig.TxtFuncMap() {
		if !IsRandom(name) && !IsClock(name) {
			continue
		}
		f := reflect.ValueOf(own)
		call := f.Call
		if f.Type().IsVariadic() {
			call = f.CallSlice
		}
		funcs[name] = reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			if !IsClock(name) || ReadsClock(name, args) {
				c.note(name)
			}
			return call(args)
		}).Interface()
	}
	return funcs
}

// stream is what the value of a call is read from. Each call has its own.
func (c *Chart) stream(function string, args ...any) *seed.Stream {
	c.note(function)
	return c.rendering.source.Key.Stream(c.identity(function, args...)...)
}

// identity is what the value of a call is for.
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

// argument writes an argument so that two which differ are written differently.
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
