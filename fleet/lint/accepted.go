package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/profile"
)

// fault is a finding with the Applications that it is about, which determine whether the
// owners of the fleet have accepted it.
type fault struct {
	finding.Finding
	// of is an Application, and needs the other one; empty if there is none.
	of, needs string
	// in returns the message for some environments if it names them; nil means that it is the
	// same in all. Without environments, it returns what such messages have in common.
	in func(environments []string) string
}

// with sets the other Application of a finding.
func (f fault) with(other *fleet.Application) fault {
	f.needs = other.Name
	return f
}

// accept turns a finding that the owners of a fleet accepted into a note with their reason, and
// returns the entry with which they did; -1 if there is none.
func accept(f *fleet.Fleet, found fault) (fault, int) {
	entry := f.Accepted(found.Rule, found.of, found.needs)
	if entry < 0 {
		return found, entry
	}
	found.Severity, found.Remedy = finding.Note, ""
	reason := "; accepted: " + strings.TrimSpace(f.Settings.Accepted[entry].Why)
	found.Message += reason
	if in := found.in; in != nil {
		found.in = func(environments []string) string { return in(environments) + reason }
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
		message, remedy := noFinding(a), "remove the entry"
		if unknown, known := l.unknownNames(a); unknown != "" {
			message, remedy = unknown, known
		}
		message += ", so this entry has no effect"
		all = append(all, fault{in: always(message), Finding: finding.Finding{Severity: finding.Warning, File: l.Settings.File, Line: a.Line, Field: fmt.Sprintf("fleet.accepted[%d]", i),
			Message: message, Remedy: remedy}})
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

// unknownNames reports names in an entry that do not exist.
func (l *checker) unknownNames(a profile.Accepted) (message, remedy string) {
	if !slices.ContainsFunc(l.rules, func(r Rule) bool { return r.Name == a.Rule }) {
		var names []string
		for _, r := range l.rules {
			names = append(names, r.Name)
		}
		return fmt.Sprintf("unknown rule %q", a.Rule), "use one of " + strings.Join(names, ", ")
	}
	for _, name := range []string{a.Component, a.Needs} {
		if slices.ContainsFunc(l.Applications, func(app *fleet.Application) bool { return profile.Named(name, app.Name) }) {
			continue
		}
		if strings.Contains(name, "*") {
			return fmt.Sprintf("no Application matches %q", name), "correct the pattern, or remove the entry"
		}
		return fmt.Sprintf("unknown Application %q", name), "correct the name, or remove the entry"
	}
	return "", ""
}

// failed reports whether an Application that an entry names could not be rendered.
func (l *checker) failed(name string) bool {
	return name != "" && slices.ContainsFunc(l.Applications, func(app *fleet.Application) bool { return profile.Named(name, app.Name) && app.Failed })
}
