package graph

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// about returns a finding about a node.
func (r *report) about(i int, severity finding.Severity, rule finding.Rule, message, remedy string) finding.Finding {
	n := &r.Nodes[i]
	return finding.Finding{Severity: severity, Rule: rule, File: n.File, Line: n.Line, Object: n.Key.String(),
		Message: message, Remedy: remedy}
}

// operatorGroups reports operators that OLM installs too slowly for Argo CD's retries, and
// namespaces without an OperatorGroup or with several, where OLM installs nothing.
func operatorGroups(r report) (found []finding.Finding) {
	if r.Joined {
		return nil
	}
	isNoted := map[int]bool{}
	for _, in := range installations(r.Facts) {
		first := &r.Nodes[in.nodes[0]]
		if op := first.Kind.Operator; !isNoted[in.part] && op.Retry != "" {
			isNoted[in.part] = true
			found = append(found, r.about(in.nodes[0], finding.Note, OLMRetry,
				"Argo CD retries a sync five times within 155 seconds, which may be too short: "+op.RetryWhy,
				"set syncPolicy.retry of the Application to "+op.Retry))
		}
		for _, gk := range first.Kind.Operator.Group {
			groups := in.groups(r.Facts, gk)
			isCreated := len(r.ByKey(object.ID{Kind: "Namespace", Name: first.Key.Namespace})) > 0
			switch {
			case len(groups) == 0 && isCreated:
				found = append(found, r.about(in.nodes[0], finding.Warning, "olm-namespace",
					fmt.Sprintf("the component creates namespace %s without an %s: OLM installs nothing there, "+
						"which only the log of the catalog operator shows (\"found 0 operatorGroups, expected 1\")", first.Key.Namespace, gk.Kind),
					"add one "+gk.Kind+" to the namespace"))
			case len(groups) > 1:
				found = append(found, r.about(groups[1], finding.Warning, "olm-namespace",
					fmt.Sprintf("%s is in the same namespace: OLM installs nothing there, "+
						"which only the log of the catalog operator shows (\"found %d operatorGroups, expected 1\")", r.Nodes[groups[0]].Key, len(groups)),
					"keep one "+gk.Kind+" per namespace"))
			}
		}
	}
	return found
}

// operatorApprovals reports operators that wait for an approval because of another one in
// their namespace.
func operatorApprovals(r report) (found []finding.Finding) {
	for _, in := range installations(r.Facts) {
		by := in.manual(r.Facts)
		if by < 0 || r.Joined {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(in.nodes), func(i int) bool { return r.Nodes[i].Kind.Operator.IsManual(r.Nodes[i].Object) })
		if len(others) > 0 {
			found = append(found, r.about(by, finding.Warning, "olm-namespace",
				fmt.Sprintf("manual approval applies to the whole namespace: %s waits for an approval, too", r.Nodes[others[0]].Key),
				"move it to a separate namespace, or use the same approval everywhere"))
		}
	}
	return found
}
