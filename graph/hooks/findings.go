package hooks

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// findings says what users should know about the decisions.
func (t Taken) findings() (found []finding.Finding) {
	found = slices.Clone(t.again)
	var syncHooks, data []*Decision
	for i := range t.Decisions {
		d := &t.Decisions[i]
		found = append(found, d.kept()...)
		found = append(found, t.moved(d)...)
		if d.Form == SyncHook && d.runsOnce() {
			syncHooks = append(syncHooks, d)
		}
		if d.Form == Ordinary && d.kind.Recreated.Kept {
			data = append(data, d)
		}
	}
	if len(syncHooks) > 0 {
		found = append(found, syncHooks[0].finding(finding.Note,
			became(syncHooks, "a Sync hook",
				"Sync hooks")+": Argo CD waits for each of them in its wave, also in the last one, and the sync fails if one fails",
			"no action needed"))
	}
	if len(data) > 0 {
		found = append(found, data[0].finding(finding.Note,
			became(data, "an ordinary object",
				"ordinary objects")+"; hooks: keep would undo this, and the next sync would then delete them: "+data[0].kind.Recreated.Why,
			fmt.Sprintf("before you set hooks: keep again, remove the annotation %s with values or a patch", object.HelmHook)))
	}
	return found
}

// without leaves out what the warnings about Jobs that run again say already.
func (t Taken) without(found []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(found, func(f finding.Finding) bool {
		return f.Rule == graph.OneOperation && slices.ContainsFunc(t.again, func(again finding.Finding) bool {
			return f.Object == again.Object || f.Object == again.About
		})
	})
}

// kept reports a hook that stays although its phase may be wrong.
func (d *Decision) kept() []finding.Finding {
	switch {
	case d.Form != Stays:
		return nil
	case d.Cause == Varies:
		return []finding.Finding{d.finding(finding.Warning,
			"it stays a hook, because its content differs on every render: as an ordinary object, Argo CD would replace it whenever it compares",
			"render with a seed (random: derived), or set values that replace the generated ones")}
	case d.Cause == Endless:
		return []finding.Finding{d.finding(finding.Warning,
			"it stays a hook of its phase, because it never ends, and Argo CD waits for each hook",
			fmt.Sprintf("annotate it with %s: Skip, or disable it in the chart's values", object.Hook))}
	}
	return nil
}

// moved reports what changes with a hook that moved.
func (t Taken) moved(d *Decision) (found []finding.Finding) {
	if !d.moves() {
		return nil
	}
	if d.risk != "" {
		found = append(found, d.finding(finding.Warning,
			fmt.Sprintf("it became a Sync hook (was %s), which runs at every sync, also the first one, and its command stops, "+
				"keeps or removes something (%q)", d.Was(), d.risk),
			fmt.Sprintf("make sure that it may run at each sync, or annotate it with %s: Skip", object.Hook)))
	}
	if d.outlives {
		found = append(found, d.finding(finding.Note,
			"it was to be deleted when its hooks had succeeded; ordinary objects may use it, so it stays, with what it grants",
			"give the hooks a ServiceAccount of their own, if the chart allows it"))
	}
	if d.Form == Ordinary && slices.Contains(t.opt.Looked, d.before.File) && d.holdsSecrets() {
		found = append(found, d.finding(finding.Warning,
			"its template calls lookup, which returns nothing here: "+
				"Argo CD now compares the object in the cluster with this rendering, and heals it",
			"compare the two before the first sync, and set in your values what lookup would return"))
	}
	return found
}

func (d *Decision) finding(severity finding.Severity, message, remedy string) finding.Finding {
	return finding.Finding{Severity: severity, Rule: "ordered-hook", File: d.before.File, Line: d.before.Line, Object: d.Key.String(),
		Message: message, Remedy: remedy}
}

// became names at most three hooks, and says what they became.
func became(all []*Decision, one, several string) string {
	var names []string
	for _, d := range all {
		names = append(names, d.Key.String())
	}
	text := finding.Few(names)
	if len(all) == 1 {
		return text + " became " + one
	}
	return text + " became " + several
}
