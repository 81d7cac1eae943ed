package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// fault is a finding with the Applications that it is about, which determine whether the
// owners of the fleet have accepted it.
type fault struct {
	finding.Finding
	// app is an Application, and dependency is the one that it depends on; empty if there is none.
	app, dependency string
	// messageIn returns the message of the finding in the given environments, or the part that
	// is the same in all environments if the list is empty. It is nil if the message does not
	// name environments.
	messageIn func(environments []string) string
}

// with sets the other Application of a finding.
func (f fault) with(other *fleet.Application) fault {
	f.dependency = other.Name
	return f
}

// accept turns a finding that the owners of a fleet accepted into a note with their reason, and
// returns the entry with which they did; -1 if there is none.
func accept(f *fleet.Fleet, found fault) (fault, int) {
	entry := f.AcceptedEntry(found.Rule, found.app, found.dependency)
	if entry < 0 {
		return found, entry
	}
	found.Severity, found.Remedy = finding.Note, ""
	reason := "; accepted: " + strings.TrimSpace(f.Settings.Accepted[entry].Why)
	found.Message += reason
	if messageIn := found.messageIn; messageIn != nil {
		found.messageIn = func(environments []string) string { return messageIn(environments) + reason }
	}
	return found, entry
}

// stale reports accepted findings that do not occur. It ignores those that can occur only in
// other environments, or in components that could not be rendered.
func (l *checker) stale() []fault {
	if !l.whole || !l.last {
		return nil
	}
	var all []fault
	for i, a := range l.Settings.Accepted {
		if l.accepted[i] || l.failed(a.Component) || l.failed(a.Needs) {
			continue
		}
		f := finding.Finding{Message: noFinding(a), Remedy: "remove the entry"}
		if unknown := l.unknownName(a); unknown.Message != "" {
			f = unknown
		}
		f.Severity, f.File, f.Line, f.Field = finding.Warning, l.Settings.File, a.Line, fmt.Sprintf("fleet.accepted[%d]", i)
		f.Message += ", so this entry has no effect"
		all = append(all, fault{messageIn: always(f.Message), Finding: f})
	}
	return all
}

// noFinding returns the finding for an entry without matches.
func noFinding(a profile.Accepted) string {
	switch {
	case a.Component == "" && a.Needs == "":
		return fmt.Sprintf("no finding of rule %s", a.Rule)
	case a.Needs == "":
		return fmt.Sprintf("no finding of rule %s for %s", a.Rule, a.Component)
	case a.Component == "":
		return fmt.Sprintf("no finding of rule %s about a dependency on %s", a.Rule, a.Needs)
	}
	return fmt.Sprintf("no finding of rule %s for %s and %s", a.Rule, a.Component, a.Needs)
}

// unknownName reports the first name in an entry that does not exist; without a message if
// all exist.
func (l *checker) unknownName(a profile.Accepted) finding.Finding {
	if !slices.ContainsFunc(l.rules, func(r Rule) bool { return r.Name == a.Rule }) {
		var names []finding.Rule
		for _, r := range l.rules {
			names = append(names, r.Name)
		}
		return finding.Finding{Message: fmt.Sprintf("unknown rule %q", a.Rule),
			Remedy: "use a rule of cmp fleet lint"}.Asking(finding.Suggest(a.Rule, names))
	}
	for _, name := range []string{a.Component, a.Needs} {
		if slices.ContainsFunc(l.Applications, func(app *fleet.Application) bool { return profile.Named(name, app.Name) }) {
			continue
		}
		if strings.Contains(name, "*") {
			return finding.Finding{Message: fmt.Sprintf("no Application matches %q", name), Remedy: "correct the pattern, or remove the entry"}
		}
		return finding.Finding{Message: fmt.Sprintf("unknown Application %q", name), Remedy: "correct the name, or remove the entry"}
	}
	return finding.Finding{}
}

// failed reports whether an Application that an entry names could not be rendered.
func (l *checker) failed(name string) bool {
	return name != "" && slices.ContainsFunc(l.Applications, func(app *fleet.Application) bool {
		return profile.Named(name, app.Name) && app.Failed
	})
}
