package repeat

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/helm"
)

// text is a template with its actions.
type text struct {
	helm.TemplateText
	actions []action
}

// action is the content between braces in a template, with string literals blanked.
type action struct {
	code string
	line int
}

var (
	actionText     = lazyregexp.New(`(?s)\{\{.*?\}\}`)
	commentText    = lazyregexp.New(`^\{\{-?\s*/\*`)
	quotedText     = lazyregexp.New("\"(?:[^\"\\\\\n]|\\\\.)*\"|`[^`]*`")
	identifierText = lazyregexp.New(`[A-Za-z_]\w*`)
	apiVersionText = lazyregexp.New(`^[a-z0-9.-]+/v\d\w*(/[A-Z]\w*)?$`)
)

func newText(t helm.TemplateText) text {
	all := text{TemplateText: t}
	for _, at := range actionText.FindAllStringIndex(t.Text, -1) {
		code := t.Text[at[0]:at[1]]
		if commentText.MatchString(code) {
			continue
		}
		code = quotedText.ReplaceAllStringFunc(code, func(s string) string { return strings.Repeat(" ", len(s)) })
		all.actions = append(all.actions, action{code, lineAt(t.Text, at[0])})
	}
	return all
}

func lineAt(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }

// use is a place where a template uses a word.
type use struct {
	word string
	line int
	// values are the values in the same action.
	values []string
}

// uses returns the places in a template that use one of the words: a function, or a
// field of .Capabilities.
func (t text) uses(words []string) []use {
	var all []use
	for _, a := range t.actions {
		for _, at := range identifierText.FindAllStringIndex(a.code, -1) {
			word := a.code[at[0]:at[1]]
			isField := at[0] > 0 && a.code[at[0]-1] == '.'
			if slices.Contains(words, word) && isField == (word == "KubeVersion") {
				all = append(all, use{word, a.line + strings.Count(a.code[:at[0]], "\n"), helm.ValuesIn(a.code)})
			}
		}
	}
	return all
}

// isHelper reports whether a text contains definitions or values, which other
// templates run.
func (t text) isHelper() bool {
	return strings.HasPrefix(path.Base(t.Source), "_") || path.Base(t.Source) == "values.yaml"
}

// sorted returns the templates sorted by name.
func (p *probe) sorted() []text {
	return slices.SortedFunc(maps.Values(p.templates), func(a, b text) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Source, b.Source))
	})
}

// apiVersion is an API version that templates may check: group and version, the
// spellings used, and the first place.
type apiVersion struct {
	names []string
	file  string
	line  int
}

// apiVersions returns all texts in templates that look like an API version, by
// group and version, if any template checks for one.
func (p *probe) apiVersions() map[string]apiVersion {
	all := map[string]apiVersion{}
	add := func(name, file string, line int) {
		parts := strings.Split(name, "/")
		group := strings.Join(parts[:min(2, len(parts))], "/")
		a, known := all[group]
		if !known {
			a = apiVersion{[]string{group}, file, line}
		}
		if !slices.Contains(a.names, name) {
			a.names = append(a.names, name)
		}
		all[group] = a
	}
	templates := p.sorted()
	if !slices.ContainsFunc(templates, func(t text) bool { return strings.Contains(t.Text, "APIVersions") }) {
		return nil
	}
	for _, t := range templates {
		for _, at := range actionText.FindAllStringIndex(t.Text, -1) {
			for _, in := range quotedText.FindAllStringIndex(t.Text[at[0]:at[1]], -1) {
				from, to := at[0]+in[0], at[0]+in[1]
				if name := t.Text[from+1 : to-1]; apiVersionText.MatchString(name) {
					add(name, t.File, lineAt(t.Text, from))
				}
			}
		}
	}
	for _, name := range p.printed {
		add(name, "", 0)
	}
	return all
}

// place is the source of a difference, as far as known; line 0 means unknown. words
// and values are those used there.
type place struct {
	file          string
	line          int
	words, values string
}

// byPlace summarizes changes by their place. words are possible reasons.
func (c *component) byPlace(changes []change, words []string) map[place]string {
	at := map[place][]change{}
	for _, ch := range changes {
		p := c.place(ch.object, words)
		at[p] = append(at[p], ch)
	}
	all := map[place]string{}
	for p, some := range at {
		all[p] = summary(some)
	}
	return all
}

// place looks for words in the template of an object, and then in helpers, or in
// all templates if the object's is unknown; there they must be in one line.
func (c *component) place(o object.Object, words []string) place {
	own, known := c.template(o)
	if known {
		if uses := own.uses(words); len(uses) > 0 {
			return placed(own, uses)
		}
	}
	var in []text
	for _, t := range c.probe.sorted() {
		if (!known || t.isHelper()) && len(t.uses(words)) > 0 {
			in = append(in, t)
		}
	}
	if len(in) == 1 {
		if uses := in[0].uses(words); uses[0].line == uses[len(uses)-1].line {
			return placed(in[0], uses)
		}
	}
	if known {
		return place{file: own.File}
	}
	return place{file: c.show()}
}

// template returns the template of an object from its source comment.
func (c *component) template(o object.Object) (text, bool) {
	source, ok := strings.CutPrefix(o.Text(), "# Source: ")
	if !ok {
		return text{}, false
	}
	name, _, _ := strings.Cut(source, "\n")
	t, known := c.probe.templates[name]
	return t, known
}

func placed(t text, uses []use) place {
	var words, values []string
	for _, u := range uses {
		if !slices.Contains(words, u.word) {
			words = append(words, u.word)
		}
		for _, v := range u.values {
			if !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
	}
	return place{t.File, uses[0].line, strings.Join(words, ", "), strings.Join(values, " or ")}
}

// change is an object that differs between two renderings, or that only one
// contains.
type change struct {
	object object.Object
	how    how
}

type how int

const (
	added how = iota
	removed
	changed
)

// compare finds the differences between two renderings.
func compare(before, after []object.Object) []change {
	old, now := byIdentity(before), byIdentity(after)
	var all []change
	for _, o := range before {
		if _, there := now[o.ID.Qualified()]; !there {
			all = append(all, change{o, removed})
		}
	}
	seen := map[string]int{}
	for _, o := range after {
		id := o.ID.Qualified()
		former, at := old[id], seen[id]
		seen[id]++
		if former == nil {
			all = append(all, change{o, added})
		} else if at >= len(former) || former[at].Text() != o.Text() {
			all = append(all, change{o, changed})
		}
	}
	return all
}

// byIdentity groups objects by identity. A component may contain several objects with the same
// one.
func byIdentity(objs []object.Object) map[string][]object.Object {
	all := map[string][]object.Object{}
	for _, o := range objs {
		all[o.ID.Qualified()] = append(all[o.ID.Qualified()], o)
	}
	return all
}

// summary says what changes do, with a few examples each.
func summary(changes []change) string {
	const most = 4
	verbs := map[how]string{added: "adds ", removed: "removes ", changed: "changes "}
	var parts []string
	for _, h := range []how{added, removed, changed} {
		var names []string
		for _, c := range changes {
			if c.how == h && !slices.Contains(names, c.object.ID.String()) {
				names = append(names, c.object.ID.String())
			}
		}
		if len(names) > most {
			names = append(names[:most], "…")
		}
		if len(names) > 0 {
			parts = append(parts, verbs[h]+strings.Join(names, ", "))
		}
	}
	return strings.Join(parts, " and ")
}
