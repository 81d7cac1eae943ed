package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/chart/common"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/object"
)

// minorVersions is how many minor versions of Kubernetes are looked back from the
// one that the component is rendered for: more than clusters of one company have.
const minorVersions = 6

// maxUsesTried bounds how many places that use the version are tried.
const maxUsesTried = 60

// How templates use the version of Kubernetes: they compare it, or name it.
const (
	semverCompare = "semverCompare"
	kubeVersion   = "KubeVersion"
)

// versionsSeen is what templates see of the version of Kubernetes.
type versionsSeen struct {
	// now is what the component is rendered for, before is another version; nil for
	// none.
	now, before *common.KubeVersion
	// uses are the sites that may come to something else with before.
	uses map[int]bool
	// other is the site that sees before, and noUse for none.
	other int
}

const noUse = -1

// see is the function to which a template hands what it names KubeVersion.
func (v *versionsSeen) see(site int) func(any) any {
	return func(named any) any {
		own, ok := named.(common.KubeVersion)
		if p, is := named.(*common.KubeVersion); is && p != nil {
			own, ok = *p, true
		}
		if !ok {
			return named // a value that is called so
		}
		if v.before != nil {
			v.uses[site] = true
			if v.other == site {
				own = *v.before
			}
		}
		return &own
	}
}

// compare is semverCompare.
func (v *versionsSeen) compare(site int, own func(string, string) (bool, error)) func(string, string) (bool, error) {
	return func(constraint, version string) (bool, error) {
		holds, err := own(constraint, version)
		if err != nil || v.before == nil || !sameMinor(version, v.now.Version) {
			return holds, err
		}
		if held, err := own(constraint, v.before.Version); err == nil && held != holds {
			v.uses[site] = true
			if v.other == site {
				return held, nil
			}
		}
		return holds, nil
	}
}

func sameMinor(a, b string) bool {
	x, err := semver.NewVersion(a)
	if err != nil {
		return false
	}
	y, err := semver.NewVersion(b)
	return err == nil && x.Major() == y.Major() && x.Minor() == y.Minor()
}

// kubeVersionIn finds where a template names the version of Kubernetes: the text up
// to there, which becomes the argument of a function.
func (w *walker) kubeVersionIn(n parse.Node) (from int, text string, ok bool) {
	names := fields(n)
	i := slices.Index(names, kubeVersion)
	if i < 0 || slices.Contains(names[:i], "Values") || slices.Contains(names[:i], "Chart") {
		return 0, "", false
	}
	// The position of a chain is that of its second name.
	whole, at := n.String(), int(n.Position())
	for from = min(at, len(w.text)-len(whole)); from >= 0 && from > at-len(whole); from-- {
		if strings.HasPrefix(w.text[from:], whole) {
			text = strings.Join(names[:i+1], ".")
			if n.Type() == parse.NodeField {
				text = "." + text
			}
			return from, text, true
		}
	}
	return 0, "", false
}

// versions finds what changes with the version of Kubernetes: it renders with each
// of the last few, and where two differ, looks for the place in a template that
// makes them differ.
func (v *varying) versions() []finding.Finding {
	own, err := semver.NewVersion(strings.TrimPrefix(v.opt.KubeVersion, "v"))
	if err != nil {
		return nil
	}
	seen := &v.drawn.versions
	defer func() { *seen = versionsSeen{} }()
	// at renders with a minor version, where one site sees the version before it.
	at := func(minor int, other int) ([]object.Object, error) {
		opt := v.opt
		opt.KubeVersion = fmt.Sprintf("%d.%d.0", own.Major(), minor)
		now, err := common.ParseKubeVersion(opt.KubeVersion)
		if err != nil {
			return nil, err
		}
		before, err := common.ParseKubeVersion(fmt.Sprintf("%d.%d.0", own.Major(), minor-1))
		if err != nil {
			return nil, err
		}
		*seen = versionsSeen{now: now, before: before, uses: map[int]bool{}, other: other}
		v.drawn.again()
		return v.render(opt)
	}
	newest := int(own.Minor()) + 1
	first := max(int(own.Minor())-minorVersions, 0)
	found := changes{}
	tried := 0
	before, errBefore := at(first, noUse)
	for minor := first + 1; minor <= newest; minor++ {
		after, err := at(minor, noUse)
		was, wasErr := before, errBefore
		before, errBefore = after, err
		if err != nil || wasErr != nil {
			continue // the chart says that it is not for that version
		}
		changed := differing(was, after)
		if len(changed) == 0 {
			continue
		}
		// What objects come to by each of the places that explain them: two places may
		// be two steps of one thing.
		explained := map[string][]string{}
		for _, use := range v.usesFor(changed, seen.uses) {
			s := v.drawn.survey.sites[use]
			others := !slices.ContainsFunc(slices.Collect(maps.Values(changed)), func(c change) bool { return c.file(v) == s.file })
			if others && len(explained) == len(changed) {
				continue
			}
			if tried++; tried > maxUsesTried {
				break
			}
			otherwise, err := at(minor, use)
			if err != nil {
				continue
			}
			texts := textsOf(otherwise)
			for name := range differing(otherwise, after) {
				c, is := changed[name]
				if is && !slices.Contains(explained[name], texts[name]) && (explained[name] == nil || c.file(v) == s.file) {
					explained[name] = append(explained[name], texts[name])
					found.add(place{s.file, s.line}, minor, c)
				}
			}
		}
		for name, c := range changed {
			if explained[name] == nil {
				found.add(place{file: c.file(v)}, minor, c)
			}
		}
	}
	return found.findings(v, int(own.Major()), newest-first)
}

// usesFor are the sites that may have changed objects, the likeliest first: those in
// the templates of these objects, comparisons before others.
func (v *varying) usesFor(changed map[string]change, uses map[int]bool) []int {
	own := map[string]bool{}
	for _, c := range changed {
		own[c.file(v)] = true
	}
	rank := func(i int) int {
		s, r := v.drawn.survey.sites[i], 0
		if !own[s.file] {
			r += 2
		}
		if s.function != semverCompare {
			r++
		}
		return r
	}
	return slices.SortedFunc(maps.Keys(uses), func(a, b int) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return a - b
	})
}

// change is an object that is another one in one rendering than in the one before.
type change struct {
	object object.Object
	how    string // comes, goes or changes
}

// file is the template that the object is from, or else what the component is
// described by.
func (c change) file(v *varying) string {
	if source, ok := strings.CutPrefix(c.object.Text(), "# Source: "); ok {
		name, _, _ := strings.Cut(source, "\n")
		return v.sourceFile(name)
	}
	if v.kind == Kustomize {
		return v.fault("", v.kustomizationFile(v.dir), "", "").File
	}
	return v.fault("", "", "", "").File
}

// differing are the objects that differ between two renderings, by their identity.
func differing(before, after []object.Object) map[string]change {
	old, now := textsOf(before), textsOf(after)
	all := map[string]change{}
	for _, o := range before {
		if _, there := now[o.ID.Qualified()]; !there {
			all[o.ID.Qualified()] = change{o, "goes"}
		}
	}
	for _, o := range after {
		name := o.ID.Qualified()
		if text, there := old[name]; !there {
			all[name] = change{o, "comes"}
		} else if text != o.Text() {
			all[name] = change{o, "changes"}
		}
	}
	return all
}

// place is a line of a file, 0 if it is not known.
type place struct {
	file string
	line int
}

// changes are the objects that differ for one place, by the minor version from which
// on they do.
type changes map[place]map[int][]change

func (c changes) add(at place, minor int, changed change) {
	if c[at] == nil {
		c[at] = map[int][]change{}
	}
	if !slices.ContainsFunc(c[at][minor], func(have change) bool { return have.object.ID == changed.object.ID }) {
		c[at][minor] = append(c[at][minor], changed)
	}
}

// findings are one for each place. of is how many versions were compared with the one
// before them.
func (c changes) findings(v *varying, major, of int) []finding.Finding {
	var found []finding.Finding
	for at, minors := range c {
		var said []string
		from := map[string][]string{}
		for _, minor := range slices.Sorted(maps.Keys(minors)) {
			text := inWords(minors[minor])
			if from[text] == nil {
				said = append(said, text)
			}
			from[text] = append(from[text], fmt.Sprintf("%d.%d", major, minor))
		}
		for i, text := range said {
			if versions := from[text]; len(versions) == of {
				said[i] = "with each version of Kubernetes " + text
			} else {
				said[i] = "from Kubernetes " + listed(versions) + " on " + text
			}
		}
		found = append(found, finding.Finding{Severity: finding.Note, Rule: ruleKubeVersion, File: at.file, Line: at.line,
			Message: strings.Join(said, ", "),
			Remedy:  "write kubeVersion: " + v.opt.KubeVersion + " into component.yaml to decide it there, or know it when clusters are upgraded"})
	}
	return found
}

// inWords says what changes.
func inWords(all []change) string {
	names := map[string][]string{}
	for _, c := range all {
		names[c.how] = append(names[c.how], c.object.ID.String())
	}
	for _, some := range names {
		slices.Sort(some)
	}
	return changing(names["comes"], names["goes"], names["changes"])
}
