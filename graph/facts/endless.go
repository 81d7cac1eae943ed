package facts

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Incompletion says why a Job may never be complete for Argo CD, and what to do; empty if nothing
// shows that.
type Incompletion struct {
	Why, Fix string
	// NeverEnds means that a container of it does not end.
	NeverEnds bool
	// Doubt says what may keep it from being complete if Why is empty: what would end the container
	// is hidden in an image.
	Doubt string
}

// Incompletion returns why a Job or a Pod that runs once may never be complete for Argo CD: a
// container of it does not end, or Kubernetes deletes it at once.
func (f *Facts) Incompletion(i int) Incompletion {
	n := &f.Nodes[i]
	isJob := n.Key.GroupKind() == "Job.batch"
	if policy := n.Get("spec", "restartPolicy").Text(); !isJob && (n.Key.GroupKind() != "Pod" || policy != "Never" && policy != "OnFailure") {
		return Incompletion{}
	}
	const soon = 10 // seconds after which Argo CD has certainly seen the end
	for _, ttl := range n.Kind.Expires.Find(n.Root()) {
		if seconds, ok := ttl.Value.Int(); ok && seconds < soon && !n.IsHook() {
			return Incompletion{Why: fmt.Sprintf("Kubernetes deletes it %d s after it finishes, perhaps before Argo CD sees that", seconds),
				Fix: fmt.Sprintf("remove %s, or make the Job a hook (%s: Sync)", ttl.Field, object.Hook)}
		}
	}
	var doubtful Incompletion
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, list := range []string{"initContainers", "containers"} {
			for at, c := range tmpl.Value.Get("spec", list).Items() {
				if list == "initContainers" && c.Get("restartPolicy").Text() == "Always" {
					continue
				}
				found := f.neverEnds(i, tmpl.Value, c, Join(tmpl.Field, fmt.Sprintf("spec.%s[%d]", list, at)))
				if found.NeverEnds {
					return found
				}
				doubtful = cmp.Or(doubtful, found)
			}
		}
	}
	return doubtful
}

// fixOf says what to do with a container of a Pod that does not end.
func fixOf(pod object.Value) string {
	if len(pod.Get("spec", "containers").Items())+len(pod.Get("spec", "initContainers").Items()) == 1 {
		return "let it end when its work is done, or run it in a Deployment or CronJob"
	}
	return "make this container an init container with restartPolicy: Always, which ends with the others, or end it when they have ended"
}

// neverEnds says why a container does not end by itself, and no other container ends it, or only one
// whose image may; empty if nothing shows that.
func (f *Facts) neverEnds(i int, pod, c object.Value, field string) Incompletion {
	command, arguments := Texts(c.Get("command")), Texts(c.Get("args"))
	if len(command) == 0 && len(arguments) > 0 && text.IsShell(arguments[0]) {
		command, arguments = arguments, nil
	}
	own := f.saidBy(i, pod, c, field)
	found := text.NeverEnds(f.Base, text.Program{Command: command, Arguments: arguments, Files: f.scriptFiles(i, pod, c),
		Variables: f.variablesOf(i, c, field)})
	if by, ok := f.Base.EndlessImage(c.Get("image").Text(), command, arguments); ok && found.Command == "" && !by.EndsWith(own) {
		found.By = by
	}
	if found.By == nil && found.Command == "" {
		return Incompletion{}
	}
	isHidden := false
	by, shares := cmp.Or(found.By, &knowledge.Endless{}), pod.Get("spec", "shareProcessNamespace").True()
	for _, list := range []string{"initContainers", "containers"} {
		for _, other := range pod.Get("spec", list).Items() {
			if other.Get("name").Text() == c.Get("name").Text() {
				continue
			}
			if f.Base.Stops(by, own, f.saidBy(i, pod, other, field), shares) {
				return Incompletion{}
			}
			isHidden = isHidden || list == "containers" && !other.Get("command").Exists()
		}
	}
	container, kind := cmp.Or(c.Get("name").Text(), "?"), f.Nodes[i].Key.Kind
	if isHidden && by.IsStoppable(own) {
		return Incompletion{Fix: fixOf(pod), Doubt: fmt.Sprintf("its container %s %s until another container stops it, "+
			"which no manifest shows; without that, the %s is never complete", container, by.Why, kind)}
	}
	says := "never ends (" + found.Command + ")"
	if by.Why != "" {
		says = by.Why + " until somebody stops it"
	}
	return Incompletion{Fix: fixOf(pod), NeverEnds: true,
		Why: fmt.Sprintf("its container %s %s, so the %s is never complete", container, says, kind)}
}

// saidBy returns what a container runs, with its variables.
func (f *Facts) saidBy(i int, pod, c object.Value, field string) string {
	all := f.scripts(i, pod, c)
	for name, value := range f.variablesOf(i, c, field) {
		all = append(all, name+"="+value)
	}
	return strings.Join(all, "\n")
}
