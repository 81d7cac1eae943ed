package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// misplaced finds components in a step that is for something else, and smoke tests that are too
// early for what they test.
func (l *checker) misplaced() []fault {
	all := l.wrongPlace()
	for _, f := range l.earlySmokes() {
		if !slices.ContainsFunc(all, func(known fault) bool { return known.app == f.app }) {
			all = append(all, f)
		}
	}
	return all
}

// earlySmokes finds smoke tests that run beside or before what they test.
func (l *checker) earlySmokes() []fault {
	var all []fault
	for i, smoke := range l.Applications {
		if smoke.Rung != knowledge.Smokes || !l.anywhere(smoke) {
			continue
		}
		var beside, later []string
		for j, other := range l.Applications {
			if i == j || other.Rung == knowledge.Smokes || !l.together(smoke, other) || !l.isTestedBy(i, j) {
				continue
			}
			switch l.Ordered(i, j) {
			case fleet.Same:
				beside = append(beside, other.Name)
			case fleet.Earlier:
				if l.refersTo(i, j) {
					later = append(later, other.Name)
				}
			}
		}
		what := ""
		switch {
		case beside != nil && later != nil:
			what = fmt.Sprintf("together with %s, and before %s", finding.Few(beside), finding.Few(later))
		case beside != nil:
			what = "together with " + finding.Few(beside)
		case later != nil:
			what = "before " + finding.Few(later)
		default:
			continue
		}
		remedy := "move it to a later step of its own"
		if p := l.correctSteps[i]; !l.InPlace() && p > smoke.Step.Number {
			remedy = l.move(smoke, p, "")
		}
		all = append(all, l.at(finding.Warning, smoke,
			fmt.Sprintf("%s tests others, but it is synced %s: it may run before these are healthy, and while it fails, their step does not end",
				subject(smoke), what), remedy))
	}
	return all
}

// isTestedBy reports whether a smoke test is about another Application: one of its domain, or one
// that it refers to.
func (l *checker) isTestedBy(smoke, other int) bool {
	domain := l.Applications[smoke].Component.DomainOrTier()
	return domain != "" && domain == l.Applications[other].Component.DomainOrTier() || l.refersTo(smoke, other)
}

// refersTo reports whether an Application depends on another one, or calls it.
func (l *checker) refersTo(from, to int) bool {
	return slices.ContainsFunc(l.dependencies[from], func(link fleet.Link) bool {
		return link.To == to && slices.ContainsFunc(link.Reasons, func(r fleet.Reason) bool { return !r.IsNamespace() })
	})
}

// Steps with at least so many Applications for so many purposes are overloaded.
const (
	manyApplications = 8
	manyPurposes     = 3
)

// overloaded finds steps that contain many Applications for several purposes: those that the others
// need, the others, and tests of both.
func (l *checker) overloaded() []fault {
	bySteps := map[string][]*fleet.Application{}
	var order []string
	for _, app := range l.Applications {
		if !app.Step.Set || !l.anywhere(app) || l.InPlace() && !l.isStepOfSet(app.Node) {
			continue
		}
		if bySteps[app.Step.Text] == nil {
			order = append(order, app.Step.Text)
		}
		bySteps[app.Step.Text] = append(bySteps[app.Step.Text], app)
	}
	var all []fault
	for _, text := range order {
		apps := bySteps[text]
		var rungs []string
		members := map[string][]string{}
		for _, app := range apps {
			if app.Rung == "" {
				continue
			}
			if members[app.Rung] == nil {
				rungs = append(rungs, app.Rung)
			}
			members[app.Rung] = append(members[app.Rung], app.Name)
		}
		if len(apps) < manyApplications || len(rungs) < manyPurposes {
			continue
		}
		slices.SortFunc(rungs, func(a, b string) int { return cmp.Compare(l.rungNumber(a), l.rungNumber(b)) })
		var purposes []string
		for _, rung := range rungs {
			purposes = append(purposes, rung+" ("+finding.Few(members[rung])+")")
		}
		name, atOnce := l.step(apps[0].Step.Number), ""
		if l.InPlace() {
			name = l.place(apps[0].Node)
		} else if p, is := l.Profile.Place(apps[0].Step.Number); is && p.MaxUpdate > 0 {
			atOnce = fmt.Sprintf(", %d at once", p.MaxUpdate)
		}
		f := l.at(finding.Warning, apps[0],
			fmt.Sprintf("%s contains %d components for %d purposes%s: %s. "+
				"One that is not healthy holds up all later steps, and nothing orders those of the step",
				name, len(apps), len(rungs), atOnce, strings.Join(purposes, ", ")),
			"divide the step by purpose; cmp fleet steps computes steps")
		if f.About = name; !l.InPlace() && l.Settings.File != "" { // it is about all of them
			f.File, f.Line = l.Settings.File, l.Settings.Line
		}
		all = append(all, f)
	}
	return all
}

// rungNumber is the place of a rung in the order of all rungs.
func (l *checker) rungNumber(name string) int {
	return slices.IndexFunc(l.Base.Rungs(), func(r knowledge.Rung) bool { return r.Name == name })
}

// isStepOfSet reports whether an ApplicationSet with steps generates an Application.
func (l *checker) isStepOfSet(node int) bool {
	n := l.Tree.Nodes[node]
	return n.Parent != inplace.None && l.Tree.Nodes[n.Parent].Steps > 0 && n.Step > 0
}

// endlessHooks finds hooks and smoke tests that may run forever: one finding for all.
func (l *checker) endlessHooks() []fault {
	var users []*fleet.Application
	var first fault
	for _, app := range l.Applications {
		if !l.anywhere(app) {
			continue
		}
		for _, o := range app.Objects {
			kind, _ := l.Base.Kind(o.ID.Group, o.ID.Kind)
			if kind.Runs != "once" || kind.Pod.IsZero() || !l.Base.Builtin(o.ID.Group) || !o.IsHook() && app.Rung != knowledge.Smokes ||
				o.Get("spec", "activeDeadlineSeconds").Exists() || o.ID.Group == "" {
				continue
			}
			if users == nil {
				first = l.at(finding.Note, app, "", "set spec.activeDeadlineSeconds")
				first.Object, first.Field, first.About = o.ID.String(), "spec", "deadline"
			}
			if !slices.Contains(users, app) {
				users = append(users, app)
			}
		}
	}
	if users == nil {
		return nil
	}
	also := ""
	if len(users) > 1 {
		also = fmt.Sprintf(" (hooks and smoke tests of %d components: %s)", len(users), finding.Several(namesOf(users)))
	}
	first.Message = "it has no deadline, so if its Pod cannot start or does not end, the sync does not end either, nor does the step" + also
	return []fault{first}
}

// unorderedBands finds bands whose ApplicationSets are independent of each other although their
// Applications are not.
func (l *checker) unorderedBands() []fault {
	if l.Profile.Sets != profile.Independent {
		return nil
	}
	type crossing struct {
		texts []string
		to    []string
		first *fleet.Application
		why   string
	}
	var order []string
	bands := map[string]*crossing{}
	for from, app := range l.Applications {
		own, in := l.Profile.Band(app.Step.Number)
		for _, link := range l.dependencies[from] {
			to := l.Applications[link.To]
			other, there := l.Profile.Band(to.Step.Number)
			i := slices.IndexFunc(link.Reasons, func(r fleet.Reason) bool {
				return !isUncertain(r) && !r.IsNamespace() &&
					r.Strength.NeedsEarlierStep()
			})
			if i < 0 || !in || !there || own.Name == other.Name || !l.together(app, to) {
				continue
			}
			if bands[own.Name] == nil {
				order = append(order, own.Name)
				bands[own.Name] = &crossing{first: app, why: link.Reasons[i].Located()}
			}
			c := bands[own.Name]
			c.texts = append(c.texts, app.Name+" on "+to.Name)
			if !slices.Contains(c.to, other.Name) {
				c.to = append(c.to, other.Name)
			}
		}
	}
	var all []fault
	for _, name := range order {
		c := bands[name]
		f := l.at(finding.Warning, c.first,
			fmt.Sprintf(
				"each band has an ApplicationSet of its own, and nothing orders these, but components of band %s depend on %s: %s, because %s",
				name, finding.Few(c.to), finding.Several(c.texts), c.why),
			"give the ApplicationSets sync waves below one parent, or use one for all bands (sets: together)")
		f.About = "band " + name
		all = append(all, f)
	}
	return all
}
