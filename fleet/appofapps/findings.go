package appofapps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
)

func (f *follower) name(i int) string { return f.graph.Nodes[f.nodes[i]].Key.String() }

// reportUnordered reports children that could not be ordered by their content.
func (f *follower) reportUnordered(all []contents) []finding.Finding {
	var found []finding.Finding
	var unknown []string
	kind := ""
	reported := map[*renderedSource]bool{}
	for i, c := range all {
		node := f.graph.Nodes[f.nodes[i]]
		for _, r := range c.failed {
			if reported[r] {
				continue
			}
			reported[r] = true
			fault := finding.Of(r.err)[0]
			found = append(found, finding.Finding{Severity: finding.Warning, Rule: "child-not-rendered", File: node.File,
				Line: node.Line, Object: node.Key.String(), About: string(fault.Rule),
				Message: r.source.Place + " cannot be rendered, so Ladder cannot order it by its contents: " + withoutRemedy(fault),
				Remedy:  cmp.Or(fault.Remedy, "check it with cmp render "+r.source.Place), Question: fault.Question})
		}
		if len(c.unknown) > 0 && len(c.parts)+len(c.charts) == 0 {
			kind = node.Kind.Kind
			unknown = append(unknown, fmt.Sprintf("%s (%s)", node.Key, strings.Join(c.unknown, ", ")))
		}
	}
	return append(found, unknownChildren(unknown, kind, "Applications, so it does not know what they depend on",
		"add the "+graph.After+" annotation to those that must come later")...)
}

// unknownChildren reports the children of a parent that Ladder knows nothing of.
func unknownChildren(unknown []string, kind, what, remedy string) []finding.Finding {
	n := len(unknown)
	if n == 0 {
		return nil
	}
	if n > maxMentioned {
		unknown = append(unknown[:maxMentioned], fmt.Sprintf("and %d more", n-maxMentioned))
	}
	names := strings.Join(unknown, ", ")
	return []finding.Finding{{Severity: finding.Note, Rule: "child-not-rendered", Object: kind, About: names,
		Message: "Ladder cannot render these " + what + ": " + names, Remedy: remedy}}
}

func withoutRemedy(f finding.Finding) string {
	f.Remedy = ""
	return f.Error()
}

// withoutHealth reports once that Argo CD only waits for children with a health
// check.
func (f *follower) withoutHealth(g *graph.Graph) []finding.Finding {
	waits := 0
	for _, r := range g.References {
		if to := g.Nodes[r.To]; r.Until == graph.Healthy && r.Need == graph.Needs && slices.Contains(f.nodes, r.To) && !to.HasHealth {
			waits++
		}
	}
	if waits == 0 {
		return nil
	}
	kind := f.graph.Nodes[f.nodes[0]].Key.GroupKind()
	return []finding.Finding{{Severity: finding.Note, Rule: "blind-gate", Object: kind,
		Message: "some children wait until others are healthy, but without a health check for " + kind +
			", Argo CD continues as soon as the Applications exist",
		Remedy: "add the check that cmp health prints for this component to argocd-cm, if it is missing"}}
}
