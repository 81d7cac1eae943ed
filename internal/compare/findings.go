package compare

import (
	"path"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Findings returns the findings that a change adds and removes. The files of each
// side are relative to a directory, which may differ.
//
// Findings are equal if their identities are. Their messages may differ: they contain
// numbers of waves and lines, which may change indirectly.
func Findings(before []finding.Finding, dirBefore string, after []finding.Finding, dirAfter string) (appeared, fixed []finding.Finding) {
	left := map[identity]int{}
	for _, f := range before {
		left[identityOf(f, dirBefore)]++
	}
	kept := map[identity]int{}
	appeared, fixed = []finding.Finding{}, []finding.Finding{}
	for _, f := range after {
		if id := identityOf(f, dirAfter); left[id] > 0 {
			left[id]--
			kept[id]++
		} else {
			appeared = append(appeared, f.Redacted())
		}
	}
	for _, f := range before {
		if id := identityOf(f, dirBefore); kept[id] > 0 {
			kept[id]--
		} else {
			fixed = append(fixed, f.Redacted())
		}
	}
	return appeared, fixed
}

// identity is what the same finding has in common on both sides.
type identity struct {
	severity finding.Severity
	rule     finding.Rule
	// file is relative to the directory of the side; empty for findings about objects,
	// which move between files.
	file, object, field, missing, about string
}

func identityOf(f finding.Finding, dir string) identity {
	id := identity{severity: f.Severity, rule: f.Rule, object: f.Object, field: f.Field, missing: f.Missing, about: f.About}
	if f.Object == "" {
		id.file = relative(f.File, dir)
	}
	if f.Missing != "" {
		id.object, id.field = "", "" // the first of its users, which may change
	}
	return id
}

// relative returns a file relative to a directory, unchanged if it is not below it.
func relative(file, dir string) string {
	if dir = path.Clean(dir); file == dir {
		return "."
	}
	return strings.TrimPrefix(file, dir+"/")
}
