package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// OneOperation is the rule for tasks that Helm runs in only one of its operations.
const OneOperation finding.Rule = "one-operation"

// operation is an operation of Helm that runs only some hooks. Argo CD runs them at every
// sync (gitops-engine pkg/sync/hook/helm/type.go).
type operation struct {
	// before and after are its types of hooks.
	before, after string
	// effect says what is different in Argo CD, early what else is for a hook that runs before
	// the chart, and remedy what to do.
	effect, early, remedy string
}

var operations = []operation{
	{"pre-install", "post-install", "Helm runs this hook only when it installs the chart, and Argo CD at every sync", "",
		"make sure that the hook may run again; otherwise, annotate it with " + object.Hook + ": Skip after the first sync"},
	{"pre-upgrade", "post-upgrade",
		"Helm does not run this hook when it installs the chart, and Argo CD runs it at every sync, also the first one",
		", before what it upgrades exists",
		"make sure that the hook succeeds in the first sync; otherwise, annotate it with " + object.Hook + ": Skip until then"},
}

// at says what is different in Argo CD for a hook that runs before the chart, or after it.
func (o operation) at(isBefore bool) string {
	if isBefore {
		return o.effect + o.early
	}
	return o.effect
}

// isOf reports whether all types of a hook are of the operation.
func (o operation) isOf(n *facts.Node) bool {
	types := n.HelmHooks()
	return len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return t != o.before && t != o.after })
}

// oneOperation reports tasks that Helm runs in only one of its operations. It is a warning
// where the other operation has a task of the same program, so that Argo CD runs both, or
// where the command must not be repeated.
func oneOperation(r report) []finding.Finding {
	if r.Joined {
		return nil
	}
	tasks := make([][]int, len(operations))
	for i := range r.Nodes {
		n := &r.Nodes[i]
		for at, o := range operations {
			if n.Kind.Runs == "once" && !n.External && o.isOf(n) {
				tasks[at] = append(tasks[at], i)
			}
		}
	}
	var found []finding.Finding
	paired := map[int]bool{}
	for _, i := range tasks[0] {
		for _, j := range tasks[1] {
			if !paired[i] && !paired[j] && r.Nodes[i].Part == r.Nodes[j].Part && r.areOneTask(i, j) {
				paired[i], paired[j] = true, true
				f := onTask(&r.Nodes[i], finding.Warning,
					fmt.Sprintf("Helm runs this hook only when it installs the chart, and %s only when it upgrades the chart; "+
						"Argo CD runs both at every sync", r.Nodes[j].Key),
					"make them one hook that may run at every sync, or annotate one of them with "+object.Hook+": Skip")
				f.About = r.Nodes[j].Key.String()
				for _, task := range []int{i, j} {
					if command := r.HarmfulAgain(task); command != "" {
						f.Message += fmt.Sprintf("; the command of %s says %q", r.Nodes[task].Key, command)
					}
				}
				found = append(found, f)
			}
		}
	}
	for at, o := range operations {
		var quiet []int
		for _, i := range tasks[at] {
			n := &r.Nodes[i]
			command, isBefore := r.HarmfulAgain(i), slices.Contains(n.HelmHooks(), o.before)
			switch {
			case paired[i]:
			case command != "":
				found = append(found, onTask(n, finding.Warning, fmt.Sprintf("%s: its command says %q", o.at(isBefore), command), o.remedy))
			case isBefore:
				quiet = append(quiet, i)
			}
		}
		if len(quiet) > 0 {
			message := o.at(true)
			if more := r.names(quiet[1:]); len(more) > 0 {
				message += "; the same goes for " + strings.Join(more, ", ")
			}
			found = append(found, onTask(&r.Nodes[quiet[0]], finding.Note, message, o.remedy))
		}
	}
	return found
}

// areOneTask reports whether two Jobs are the same task of a program, done differently at an
// installation and at an upgrade: both run in one phase, or both migrate.
func (r report) areOneTask(i, j int) bool {
	return r.RunOneProgram(i, j) &&
		(slices.Equal(r.Nodes[i].Phases(), r.Nodes[j].Phases()) || r.MigrationWord(i) != "" && r.MigrationWord(j) != "")
}

// onTask returns a finding about a task of one operation.
func onTask(n *facts.Node, severity finding.Severity, message, remedy string) finding.Finding {
	return finding.Finding{Severity: severity, Rule: OneOperation, File: n.File, Line: n.Line, Object: n.Key.String(),
		Message: message, Remedy: remedy}
}

func (r report) names(nodes []int) (names []string) {
	for _, i := range nodes {
		names = append(names, r.Nodes[i].Key.String())
	}
	return names
}
