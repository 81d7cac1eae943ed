package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// unusedExpects reports what is expected outside of the component although the component
// contains or creates it, or does not mention it.
func unusedExpects(in report) (found []finding.Finding) {
	if in.Joined {
		return nil
	}
	for _, e := range in.Expected() {
		mentioned := slices.ContainsFunc(in.Nodes, func(n facts.Node) bool { return knowledge.ContainsWord(n.Text(), e.Name(), text.IsHostByte) })
		if f, unused := unusedEntry(in, e, mentioned); unused {
			f.Field = "expects"
			found = append(found, f)
		}
	}
	for i := range in.Nodes {
		n := &in.Nodes[i]
		for _, e := range in.ExpectedBy(i) {
			written, _ := n.Annotation(Expects)
			isMentioned := strings.Count(n.Text(), e.Name()) > strings.Count(written, e.Name())
			if f, unused := unusedEntry(in, e, isMentioned); unused {
				f.File, f.Line, f.Object, f.Field = n.File, n.Line, n.Key.String(), facts.AnnotationField(Expects)
				found = append(found, f)
			}
		}
	}
	return found
}

// controllerOf returns a workload that reconciles or serves kinds of an API group which the
// component defines.
func controllerOf(in report, group string) (int, bool) {
	for i := range in.Nodes {
		if n := &in.Nodes[i]; group == "" || n.Kind.Defines == nil || n.Get("spec", "group").Text() != group {
			continue
		}
		for w := range in.Nodes {
			if in.Nodes[w].Serves() && in.Roles.Of(w) == knowledge.Controllers && slices.Contains(reconciledGroups(in.Facts, w), group) {
				return w, true
			}
		}
	}
	return 0, false
}

func unusedEntry(in report, e facts.Expected, mentioned bool) (f finding.Finding, unused bool) {
	f = finding.Finding{Severity: finding.Note, Rule: finding.BadSettings, About: e.Entry, Message: "nothing refers to " + e.Entry,
		Remedy: "correct or remove the entry"}
	node, created, found := in.WhoHas(e)
	if controller, ok := controllerOf(in, e.Group); ok {
		node, found = controller, true
	}
	switch by := in.Nodes[node].Key.String(); {
	case created:
		f.Message, f.Remedy = fmt.Sprintf("%s is not outside of the component: %s creates it", e.Entry, by), "remove the entry"
	case found:
		f.Message, f.Remedy = fmt.Sprintf("%s is not outside of the component, which contains %s", e.Entry, by), "remove the entry"
	}
	return f, found || !mentioned
}
