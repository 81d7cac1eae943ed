package remote

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Change is a difference between two locks. One of the two is zero for an added or
// removed entry.
type Change struct{ Old, New Entry }

// Changes compares a lock with its predecessor.
func (l Lock) Changes(before Lock) []Change {
	var all []Change
	for _, is := range l.sorted() {
		switch was, found := before.Has(is); {
		case !found:
			was, _ = before.replaced(is, l)
			all = append(all, Change{was, is})
		case was.Digest != is.Digest || was.File != is.File:
			all = append(all, Change{was, is})
		}
	}
	for _, was := range before.sorted() {
		_, kept := l.Has(was)
		if !kept && !slices.ContainsFunc(all, func(c Change) bool { return c.Old.sameRef(was) }) {
			all = append(all, Change{Old: was})
		}
	}
	return all
}

// replaced returns the entry for the same source in another version that the other lock
// no longer contains.
func (l Lock) replaced(e Entry, now Lock) (Entry, bool) {
	for _, was := range l.sorted() {
		if _, kept := now.Has(was); !kept && was.sameThing(e) {
			return was, true
		}
	}
	return Entry{}, false
}

// String formats the change in a line that starts with "+", "-" or "~".
func (c Change) String() string {
	switch {
	case c.Old.Kind == "":
		return "+ " + c.New.line(c.New.requested())
	case c.New.Kind == "":
		return "- " + c.Old.line("no longer needed")
	case c.Old.Digest == c.New.Digest && c.Old.Version != c.New.Version:
		return "~ " + c.New.line("same content; requested before: "+cmp.Or(c.Old.Version, "the newest"))
	case c.Old.Digest == c.New.Digest:
		return "~ " + c.New.line("same content, in another file")
	case c.Old.Resolved == c.New.Resolved:
		return "~ " + c.New.line("different content; was "+short(c.Old.Digest))
	}
	return "~ " + c.New.line("was "+shortVersion(c.Old.Resolved)+", "+short(c.Old.Digest))
}

// line describes an entry with its version.
func (e Entry) line(more string) string {
	words := []string{string(e.Kind), e.Name(), shortVersion(e.Resolved), "of", finding.Sanitize(e.URL), short(e.Digest)}
	if e.Kind == File {
		words = []string{string(e.Kind), finding.Sanitize(e.URL), short(e.Digest)}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if more != "" {
		more = " (" + more + ")"
	}
	return strings.Join(words, " ") + more
}

// requested returns the requested version, if it differs from the resolved one.
func (e Entry) requested() string {
	if e.Kind == File || e.Version == e.Resolved {
		return ""
	}
	return "requested: " + cmp.Or(e.Version, "the newest")
}

// short shortens a digest for messages.
func short(digest string) string {
	const prefix = len("sha256:") + 12
	return digest[:min(len(digest), prefix)]
}

// shortVersion shortens a commit for messages.
func shortVersion(version string) string {
	if len(version) == 40 && strings.Trim(version, "0123456789abcdef") == "" {
		return version[:12]
	}
	return version
}

// Stale reports entries of a lock that the component does not need. name is the
// name of the lock in messages, dir that of the component.
func (l Lock) Stale(requested Lock, name, dir string) []finding.Finding {
	var all []finding.Finding
	for _, e := range l.Entries {
		if _, needed := requested.Has(e); !needed {
			all = append(all, finding.Finding{Severity: finding.Error, Rule: badLock, File: name, Line: e.Line, Object: e.String(),
				Message: fmt.Sprintf("%s no longer needs it", dir), Remedy: "run cmp vendor " + dir})
		}
	}
	return all
}
