package render

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/object"
)

// The rules of Vary.
const (
	ruleAPIVersions = "api-versions"
	ruleKubeVersion = "kube-version-dependent"
	ruleVolatile    = "volatile"
	ruleLookup      = "lookup"
)

// VaryRule says what a rule of Vary finds, for documents.
type VaryRule struct {
	Name     string
	Severity finding.Severity
	Finds    string
}

// VaryRules lists the rules of Vary.
func VaryRules() []VaryRule {
	return []VaryRule{
		{ruleAPIVersions, finding.Warning, "objects that come, go or change with an API version that templates ask the cluster for"},
		{ruleKubeVersion, finding.Note, "objects that change with the version of Kubernetes, of the last few"},
		{ruleVolatile, finding.Warning, "objects that change because a template draws a password, a key, a certificate or an identifier, or prints the time"},
		{ruleLookup, finding.Note, "templates that read the cluster, of which a rendering in Argo CD sees nothing"},
	}
}

// What bounds how often a component is rendered to find what changes it: maxPlaces
// are looked at for each rule, and values are tried in maxTrials renderings, of
// which each place has its share.
const (
	maxPlaces = 200
	maxTrials = 300
)

// variationMemory is how many bytes of text renderings share that are decoded: the
// definitions of the largest charts.
const variationMemory = 32 << 20

// Vary renders a component many times, and finds what makes it come out otherwise
// than before: API versions and the version of the cluster, and functions that draw
// from chance or read the clock. Charts and templated YAML can, also those in
// kustomizations and trees; everything else is the same each time.
//
// The error is that of the component as it is, or of the context.
func Vary(ctx context.Context, fsys fs.FS, dir string, opt Options) ([]finding.Finding, error) {
	pinned := opt.KubeVersion != ""
	if !pinned {
		opt.KubeVersion = DefaultKubeVersion
	}
	// Most documents are the same in each rendering.
	opt.Memory, opt.Ship = NewMemory(variationMemory), false
	s := source{fsys: fsys, dir: path.Clean(dir), opt: opt}
	if err := s.checkDir(); err != nil {
		return nil, err
	}
	kind, err := s.kind()
	if err != nil {
		return nil, err
	}
	if kind == Plain {
		return nil, nil
	}
	v := &varying{ctx: ctx, source: s, kind: kind, drawn: newChance()}
	v.source.chance = v.drawn
	v.drawn.again()
	if v.as, err = v.render(s.opt); err != nil {
		return nil, err
	}
	sites, called := v.drawn.survey.sites, v.drawn.called
	v.survey = *v.drawn.survey // as it is now: other values may bring more charts
	var found []finding.Finding
	if !opt.Pinned {
		found = append(found, v.apis(sites)...)
	}
	if !pinned {
		found = append(found, v.versions()...)
	}
	found = append(found, v.chances(sites, called)...)
	return sortedOnce(found), ctx.Err()
}

// varying is a component that is rendered again and again.
type varying struct {
	source
	ctx    context.Context
	kind   Kind
	drawn  *chance
	survey survey
	// as are the objects as it is.
	as []object.Object
}

func (v *varying) render(opt Options) ([]object.Object, error) {
	s := v.source
	s.opt = opt
	s.opt.Empty = true
	res, err := s.render(v.ctx, v.kind)
	return res.Objects, err
}

// with renders with more API versions and values than the component has.
func (v *varying) with(apis []string, values string, draw ...int) ([]object.Object, error) {
	opt := v.opt
	opt.APIVersions = append(slices.Clone(opt.APIVersions), apis...)
	if values != "" {
		v.drawn.values = []Values{{Inline: []string{values}}}
		defer func() { v.drawn.values = nil }()
	}
	v.drawn.again(draw...)
	return v.render(opt)
}

// apis finds what API versions of the cluster change.
func (v *varying) apis(sites []*site) []finding.Finding {
	type asked struct {
		site *site
		apis []string
	}
	groups := map[string]*asked{}
	known := common.DefaultCapabilities.APIVersions
	ask := func(s *site, api string) {
		group := groupVersion(api)
		// Versions of groups that Kubernetes has itself come with its version.
		own := slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, strings.SplitN(api, "/", 2)[0]+"/") })
		if own || known.Has(api) || slices.Contains(v.opt.APIVersions, api) || !apiLiteral(api) && strings.Contains(api, "{") {
			return
		}
		if groups[group] == nil {
			groups[group] = &asked{site: s}
		}
		for _, a := range []string{group, api} {
			if !slices.Contains(groups[group].apis, a) {
				groups[group].apis = append(groups[group].apis, a)
			}
		}
	}
	for _, s := range sites {
		if s.api != "" {
			ask(s, s.api)
		}
		if s.anyAPI {
			for _, api := range v.survey.literals {
				ask(s, api)
			}
		}
	}
	var found []finding.Finding
	for i, group := range slices.Sorted(maps.Keys(groups)) {
		a := groups[group]
		if i == maxPlaces {
			return append(found, v.unseen(ruleAPIVersions, "API versions that templates ask for"))
		}
		f := finding.Finding{Severity: finding.Warning, Rule: ruleAPIVersions, File: a.site.file, Line: a.site.line}
		objs, err := v.with(a.apis, "")
		switch {
		case err != nil && v.ctx.Err() == nil:
			f.Message = "with the API version " + group + " in the cluster it does not render: " + finding.Of(err)[0].Message
			f.Remedy = "correct the template"
			found = append(found, f)
		case err == nil:
			changed := differences(v.as, objs)
			if changed == "" {
				continue
			}
			f.Message = "with the API version " + group + " in the cluster " + changed + ", and so a first rollout and a later one differ"
			f.Remedy = "write apiVersions: [" + strings.Join(a.apis, ", ") + "] into component.yaml if the cluster has it by then, and capabilities: pinned if it must not matter"
			if off := v.decides(a.site.values, share(len(groups)), func(values string) bool {
				without, err := v.with(nil, values)
				if err != nil {
					return false
				}
				with, err := v.with(a.apis, values)
				return err == nil && differences(without, with) == ""
			}); len(off) > 0 {
				f.Remedy += "; or decide by " + strings.Join(off, " or ") + v.where()
			}
			found = append(found, f)
		}
	}
	return found
}

// chances finds what differs from one rendering to the next.
func (v *varying) chances(sites []*site, called []int) []finding.Finding {
	var found []finding.Finding
	for n, i := range called {
		if n == maxPlaces {
			return append(found, v.unseen(ruleVolatile, "functions of chance or time"))
		}
		s := v.siteOf(i, sites)
		f := finding.Finding{Severity: finding.Warning, Rule: ruleVolatile, File: s.file, Line: s.line}
		if f.File == "" && len(s.values) == 0 {
			name := "values.yaml"
			if !exists(v.fsys, path.Join(v.dir, name)) {
				name = ""
			}
			f = v.fault(ruleVolatile, name, "", "")
			f.Severity = finding.Warning
		}
		if s.function == lookup {
			f.Severity, f.Rule = finding.Note, ruleLookup
			f.Message = "lookup finds nothing here, since a rendering sees no cluster, and so what it would keep is made anew"
			f.Remedy = "give by values what it would find"
			found = append(found, f)
			continue
		}
		objs, err := v.with(nil, "", i)
		if err != nil {
			continue
		}
		changed := differences(v.as, objs)
		if changed == "" {
			continue // it is drawn, and not used
		}
		f.Message = s.function + " draws anew at each rendering, and " + changed
		if isClock(s.function) {
			f.Message = "it prints the time of the rendering, and each time " + changed
		}
		f.Remedy = "find the value that takes its place; none was found by trying"
		candidates := append(slices.Clone(s.values), v.likely(v.as, objs)...)
		var without []string // values with which what differs is not there at all
		pins := v.decides(candidates, share(len(called)), func(values string) bool {
			as, err := v.with(nil, values)
			if err != nil {
				return false
			}
			again, err := v.with(nil, values, i)
			if err != nil || differences(as, again) != "" {
				return false
			}
			if !holdsAll(as, v.as, objs) {
				without = append(without, values)
			}
			return true
		})
		switch {
		case len(pins) > 0 && len(without) == 0:
			f.Remedy = "set " + strings.Join(pins, " or ") + v.where()
		case len(pins) > 0:
			f.Remedy = "set " + strings.Join(pins, " or ") + v.where() + ", which may leave objects out"
		}
		found = append(found, f)
	}
	return found
}

// siteOf is the place with a number. One without a template is in the values that
// name its function, if there are such.
func (v *varying) siteOf(i int, sites []*site) *site {
	if i >= 0 {
		return sites[i]
	}
	s := &site{function: inValues[-1-i]}
	for _, t := range v.survey.templated {
		if slices.Contains(t.functions, s.function) {
			if len(s.values) == 0 {
				s.file, s.line = t.file, t.line
			}
			s.values = append(s.values, t.path)
		}
	}
	return s
}

// where says whose values decide, unless there is only one chart that they can be
// of.
func (v *varying) where() string {
	if v.kind == Kustomize || v.kind == Tree {
		return " in the values of that chart"
	}
	return ""
}

// holdsAll reports whether a rendering holds all objects that differ between two
// others.
func holdsAll(objs, before, after []object.Object) bool {
	texts, there := textsOf(before), textsOf(objs)
	return !slices.ContainsFunc(after, func(o object.Object) bool {
		_, held := there[o.ID.Qualified()]
		return texts[o.ID.Qualified()] != o.Text() && !held
	})
}

// likely are values that are named as secrets are, in the templates of objects
// that differ, and everywhere else in case a helper draws.
func (v *varying) likely(before, after []object.Object) []crds.Path {
	var first, rest []crds.Path
	differ := map[string]bool{}
	texts := textsOf(before)
	for _, o := range after {
		if texts[o.ID.Qualified()] != o.Text() {
			if source, ok := strings.CutPrefix(o.Text(), "# Source: "); ok {
				name, _, _ := strings.Cut(source, "\n")
				differ[v.sourceFile(name)] = true
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(v.survey.paths)) {
		for _, p := range v.survey.paths[file] {
			switch {
			case !secretive.MatchString(p[len(p)-1]):
			case differ[file]:
				first = append(first, p)
			default:
				rest = append(rest, p)
			}
		}
	}
	return append(first, rest...)
}

// secretive are names of values that take the place of what a template draws, or
// name an object that has it. It is a guess, which trying confirms.
var secretive = regexp.MustCompile(`(?i)pass|secret|token|key|cert|tls|crt|^ca|salt|seed|existing|uuid|id$|cookie|credential|checksum|timestamp|date`)

// unseen says that not all places were looked at.
func (v *varying) unseen(rule, places string) finding.Finding {
	f := v.fault(rule, "", fmt.Sprintf("there are more than %d %s, and the others were not looked at", maxPlaces, places), "look at a part of the component by itself")
	f.Severity = finding.Note
	return f
}

// maxTried and maxNamed bound the values that are tried for a place, and those that
// are named. A value is tried with three others, in two renderings each.
const (
	maxTried = 12
	maxNamed = 2
	perValue = 6
)

// share is how many values are tried for each of some places.
func share(places int) int { return max(1, min(maxTried, maxTrials/perValue/max(1, places))) }

// decides tries values, most of them at the most: each is set to another than it has,
// and holds reports whether that settles the matter. What comes back names them as
// people would set them.
func (v *varying) decides(candidates []crds.Path, most int, holds func(values string) bool) []string {
	var named []string
	seen := map[string]bool{}
	for _, p := range candidates {
		shown := strings.Join(p, ".")
		if seen[shown] || len(seen) >= most || len(named) >= maxNamed {
			continue
		}
		seen[shown] = true
		for _, other := range []any{"pinned", true, false} {
			var tree any = other
			for _, step := range slices.Backward(p) {
				tree = map[string]any{step: tree}
			}
			text, err := yaml.Marshal(tree)
			if err == nil && holds(string(text)) {
				if _, isText := other.(string); isText {
					named = append(named, shown)
				} else {
					named = append(named, fmt.Sprintf("%s: %v", shown, other))
				}
				break
			}
		}
	}
	return named
}

// differences says in words what changes between two renderings; empty if nothing
// does.
func differences(before, after []object.Object) string {
	old, now := textsOf(before), textsOf(after)
	var gone, come, changed []string
	for _, o := range before {
		switch text, there := now[o.ID.Qualified()]; {
		case !there:
			gone = append(gone, o.ID.String())
		case text != old[o.ID.Qualified()]:
			changed = append(changed, o.ID.String())
		}
	}
	for _, o := range after {
		if _, there := old[o.ID.Qualified()]; !there {
			come = append(come, o.ID.String())
		}
	}
	return changing(come, gone, changed)
}

// changing says in words which objects come, go and change.
func changing(come, gone, changed []string) string {
	var parts []string
	for _, p := range []struct {
		names     []string
		one, more string
	}{{come, "comes", "come"}, {gone, "goes", "go"}, {changed, "changes", "change"}} {
		if len(p.names) == 0 {
			continue
		}
		verb := p.more
		if len(p.names) == 1 {
			verb = p.one
		}
		parts = append(parts, someOf(p.names)+" "+verb)
	}
	return strings.Join(parts, ", ")
}

// someOf lists a few names.
func someOf(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return listed(names)
}

func listed(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func textsOf(objs []object.Object) map[string]string {
	texts := map[string]string{}
	for _, o := range objs {
		texts[o.ID.Qualified()] = o.Text()
	}
	return texts
}

var (
	valuePath = regexp.MustCompile(`^[a-zA-Z_][\w-]*(\.[a-zA-Z_][\w-]*)+$`)
	apiText   = regexp.MustCompile(`^[a-z0-9.-]+/v\d\w*(/[A-Z]\w*)?$`)
)

// apiLiteral reports whether a text is written like an API version of a group.
func apiLiteral(text string) bool { return apiText.MatchString(text) }

// groupVersion is an API version without a kind.
func groupVersion(api string) string {
	parts := strings.Split(api, "/")
	return strings.Join(parts[:min(2, len(parts))], "/")
}
