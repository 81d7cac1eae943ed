package appset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// step is a step of a RollingSync (applicationset/progressivesync). In contrast to a selector, it
// knows only expressions, with two operators; without any, it selects all Applications.
type step struct {
	MatchExpressions []argocd.Expression `json:"matchExpressions"`
	MaxUpdate        any                 `json:"maxUpdate"`
}

func (s step) selects(labels map[string]string) bool {
	for _, x := range s.MatchExpressions {
		if is, err := x.Matches(labels); !is || err != nil || x.Operator != "In" && x.Operator != "NotIn" {
			return false
		}
	}
	return true
}

// String describes what a step selects.
func (s step) String() string {
	var all []string
	for _, x := range s.MatchExpressions {
		all = append(all, fmt.Sprintf("%s %s %s", x.Key, x.Operator, strings.Join(x.Values, ", ")))
	}
	return strings.Join(all, "; ")
}

// isManual reports whether Argo CD syncs none of its Applications.
func (s step) isManual() bool { return fmt.Sprint(s.MaxUpdate) == "0" || s.MaxUpdate == "0%" }

// stepOf returns the first step that selects an Application, counted from 1; 0 if none does.
func stepOf(steps []step, labels map[string]string) int {
	return 1 + slices.IndexFunc(steps, func(s step) bool { return s.selects(labels) })
}

func labelsIn(o object.Object) map[string]string {
	labels := map[string]string{}
	for _, f := range o.Get("metadata", "labels").Fields() {
		labels[f.Key] = f.Value.Text()
	}
	return labels
}

// NoStep is the rule about Applications and components that no step selects, and about steps that
// select none or sync none.
const NoStep finding.Rule = "no-step"

// Of more unselected Applications or empty steps than these, one finding lists a few.
const (
	maxUnselected = 10
	maxEmpty      = 5
)

// unselected checks the steps of a set with its Applications.
func (e expansion) unselected(o object.Object, set Set) []finding.Finding {
	steps := e.Strategy.RollingSync.Steps
	found := func(at int, about, message, remedy string) finding.Finding {
		f := finding.Finding{Severity: finding.Warning, Rule: NoStep, File: o.File, Line: o.Line, Object: o.ID.String(),
			Field: "spec.strategy.rollingSync.steps", About: about, Message: message, Remedy: remedy}
		if at >= 0 {
			f.Field = fmt.Sprintf("%s[%d]", f.Field, at)
		}
		return f
	}
	if len(steps) == 0 {
		return nil
	}
	if set.Steps == 0 {
		f := found(-1, "type", "the steps have no effect, because spec.strategy.type is not RollingSync", "set it to RollingSync")
		return []finding.Finding{f}
	}
	return slices.Concat(e.withoutStep(set, found), e.emptySteps(set, found), e.manualSteps(found))
}

type stepFinding func(at int, about, message, remedy string) finding.Finding

const neverSynced = "so Argo CD never syncs %s: steps switch automated syncs off"

// withoutStep finds Applications that no step selects.
func (e expansion) withoutStep(set Set, found stepFinding) []finding.Finding {
	var all []finding.Finding
	var names []string
	for _, app := range set.Applications {
		if app.Step > 0 {
			continue
		}
		labels, suggestion := labelsIn(app.Object), ""
		var has []string
		for _, key := range e.keys() {
			value, is := labels[key]
			if !is {
				has = append(has, "no label "+key)
				continue
			}
			has = append(has, fmt.Sprintf("label %s: %s", key, value))
			if suggestion == "" {
				suggestion = finding.Suggest(value, e.selectedValues(key))
			}
		}
		message := fmt.Sprintf("no step selects %s, which has %s, "+neverSynced, app.ID, strings.Join(has, " and "), "it")
		all = append(all, found(-1, app.ID.String(), message,
			"give it a label that a step selects, or add a step for it").Asking(suggestion))
		names = append(names, app.ID.String())
	}
	if len(all) > maxUnselected {
		message := fmt.Sprintf("no step selects %d Applications, "+neverSynced+": %s", len(names), "them", finding.Few(names))
		return []finding.Finding{found(-1, "Applications", message, "give them labels that a step selects, or add a step for them")}
	}
	return all
}

// keys are the labels that steps select by.
func (e expansion) keys() []string {
	var all []string
	for _, s := range e.Strategy.RollingSync.Steps {
		for _, x := range s.MatchExpressions {
			if !slices.Contains(all, x.Key) {
				all = append(all, x.Key)
			}
		}
	}
	return all
}

// selectedValues are the values of a label that steps select.
func (e expansion) selectedValues(key string) []string {
	var all []string
	for _, s := range e.Strategy.RollingSync.Steps {
		for _, x := range s.MatchExpressions {
			if x.Key == key && x.Operator == "In" {
				all = append(all, x.Values...)
			}
		}
	}
	return all
}

// emptySteps finds steps without Applications. If Applications are missing, it is unknown.
func (e expansion) emptySteps(set Set, found stepFinding) []finding.Finding {
	if len(set.Faults) > 0 || len(set.Applications) == 0 {
		return nil
	}
	var all []finding.Finding
	var numbers []string
	for i, s := range e.Strategy.RollingSync.Steps {
		// A last step for all others waits for Applications to come.
		isForOthers := i > 0 && i+1 == len(e.Strategy.RollingSync.Steps) &&
			!slices.ContainsFunc(s.MatchExpressions, func(x argocd.Expression) bool { return x.Operator != "NotIn" })
		if isForOthers || slices.ContainsFunc(set.Applications, func(app Generated) bool { return app.Step == i+1 }) {
			continue
		}
		why, suggestion := "it selects "+s.String(), ""
		if slices.ContainsFunc(set.Applications, func(app Generated) bool { return s.selects(labelsIn(app.Object)) }) {
			why = "earlier steps select all of its Applications"
		} else if x := slices.IndexFunc(s.MatchExpressions,
			func(x argocd.Expression) bool { return x.Operator != "In" && x.Operator != "NotIn" }); x >= 0 {
			why = fmt.Sprintf("Argo CD knows only the operators In and NotIn, not %s", s.MatchExpressions[x].Operator)
		} else {
			suggestion = s.suggestion(set)
		}
		number := fmt.Sprint(i + 1)
		f := found(i, "step "+number, fmt.Sprintf("step %s has no Application: %s", number, why), "correct its labels, or remove the step")
		all, numbers = append(all, f.Asking(suggestion)), append(numbers, number)
	}
	if len(all) > maxEmpty {
		message := fmt.Sprintf("%d steps have no Application: %s", len(numbers), finding.Few(numbers))
		return []finding.Finding{found(-1, "steps", message, "correct their labels, or remove the steps")}
	}
	return all
}

// suggestion is a label or a value that Applications have, similar to one that a step names.
func (s step) suggestion(set Set) string {
	keys, values := map[string]bool{}, map[string]map[string]bool{}
	for _, app := range set.Applications {
		for key, value := range labelsIn(app.Object) {
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			keys[key], values[key][value] = true, true
		}
	}
	for _, x := range s.MatchExpressions {
		if !keys[x.Key] {
			return finding.Suggest(x.Key, slices.Sorted(maps.Keys(keys)))
		}
		for _, value := range x.Values {
			if !values[x.Key][value] {
				return finding.Suggest(value, slices.Sorted(maps.Keys(values[x.Key])))
			}
		}
	}
	return ""
}

// manualSteps finds steps that Argo CD does not sync.
func (e expansion) manualSteps(found stepFinding) []finding.Finding {
	var all []finding.Finding
	steps := e.Strategy.RollingSync.Steps
	for i, s := range steps {
		if !s.isManual() {
			continue
		}
		message := fmt.Sprintf("step %d has maxUpdate: %v, so Argo CD syncs none of its Applications", i+1, s.MaxUpdate)
		if i+1 < len(steps) {
			message += fmt.Sprintf(", and step %d starts only when somebody has synced them", i+2)
		}
		all = append(all, found(i, fmt.Sprintf("maxUpdate %d", i+1), message,
			"remove maxUpdate, or sync these Applications by hand in each rollout"))
	}
	return all
}
