package facts

import (
	"reflect"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// duplicateRule is the rule for duplicate objects.
const duplicateRule = "duplicate-object"

// isCopy reports whether two plain objects of a component are equal. Sorting places
// these next to each other, regardless of layout.
func isCopy(a, b Node) bool {
	return a.Key == b.Key && a.Part == b.Part && !a.IsHook() && !b.IsHook() && !a.Generated && !b.Generated &&
		(a.Same(b.Object) || a.Key.Namespace == "" && reflect.DeepEqual(withoutNamespace(a), withoutNamespace(b)))
}

// withoutNamespace returns the content of a cluster-scoped object without the namespace
// that a kustomization writes into it, which the API server ignores.
func withoutNamespace(n Node) any {
	content := n.Root().Plain()
	if fields, ok := content.(map[string]any); ok {
		if metadata, ok := fields["metadata"].(map[string]any); ok {
			delete(metadata, "namespace")
		}
	}
	return content
}

// maxDuplicates is how many duplicates of one identity are reported. A file may
// contain thousands, which would all be compared with each other.
const maxDuplicates = 3

// duplicates compares an object with those before it.
func (f *Facts) duplicates(n Node) []finding.Finding {
	others := f.byKey[n.Key]
	if last := len(others) - 1; last >= 0 && isCopy(f.Nodes[others[last]], n) {
		if last > 0 && isCopy(f.Nodes[others[last-1]], n) {
			return nil // enough are reported
		}
		return []finding.Finding{{Severity: finding.Warning, Rule: duplicateRule, File: n.File, Line: n.Line, Object: n.Key.String(),
			Message: "the same object is also in " + f.Nodes[others[last]].Place() +
				": Argo CD applies it once and warns (RepeatedResourceWarning)", Remedy: "keep one of the two"}}
	}
	var findings []finding.Finding
	wrong := false
	for _, other := range others {
		if f.Nodes[other].Part != n.Part {
			continue
		}
		if len(findings) >= maxDuplicates {
			if wrong || n.IsHook() {
				break
			}
			if f.Nodes[other].IsHook() {
				continue // only another warning; there are enough
			}
		}
		if d, isDuplicate := duplicate(f.Nodes[other], n); isDuplicate {
			findings = append(findings, d)
			wrong = wrong || d.Severity == finding.Error
		}
	}
	return findings
}

// duplicate reports two objects with the same identity for Argo CD, which would
// apply only the last one (controller/state.go, DeduplicateTargetObjects). In some
// Helm charts a hook and a plain object share an identity, which is legal.
func duplicate(a, b Node) (finding.Finding, bool) {
	if a.Generated || b.Generated {
		return finding.Finding{}, false
	}
	d := finding.Finding{Severity: finding.Error, Rule: duplicateRule, File: b.File, Line: b.Line, Object: b.Key.String(),
		Message: "the same object with different content is also in " + a.Place() + ": Argo CD applies only one of them",
		Remedy:  "keep one of the two"}
	if a.IsHook() || b.IsHook() {
		d.Severity = finding.Warning
		d.Message = "the same object is also in " + a.Place() + ", one of them as a hook; Argo CD applies only one"
	}
	return d, true
}
