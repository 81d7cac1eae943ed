package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	argo "github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
)

// application finds the causes that an Application itself shows. What it waits for is asked next.
func application(s *scene, app object.Object) (all []Cause) {
	op := s.operationOf(app)
	for _, find := range appRules {
		all = append(all, find(s, app, op)...)
	}
	return all
}

// endedOrStuck finds operations that nobody continues, that are being terminated, or that failed
// as a whole.
func endedOrStuck(s *scene, app object.Object, op operation) (all []Cause) {
	since := s.Now - op.started
	terminate := argocd("terminate-op", app.ID)
	state := "operationState.phase: " + op.phase
	if op.message != "" {
		state = said(state+",", "message", op.message)
	}
	if skip, _ := app.Annotation("argocd.argoproj.io/skip-reconcile"); skip == "true" &&
		(op.phase == running || app.Get("status", "sync", "status").Text() != "Synced") {
		all = append(all, Cause{Rule: "skip-reconcile", Text: "is ignored by Argo CD",
			Proof: "annotation argocd.argoproj.io/skip-reconcile: true", Evidence: Refusal, Fix: "remove the annotation",
			Command: kubectl("annotate", app.ID, "argocd.argoproj.io/skip-reconcile-")})
	}
	switch {
	case op.phase == "" && op.isAsked && cmp.Or(s.age(app.Get("status", "reconciledAt").Text()), s.created(app)) > aWhile:
		all = append(all, Cause{Rule: "controller-down", Text: "has an operation that Argo CD does not take up",
			Proof: "operation is set, and there is no status.operationState; status.reconciledAt: " +
				app.Get("status", "reconciledAt").Text(), Evidence: Appearance,
			Fix: "see whether the application controller runs, and handles this cluster and namespace", Command: "kubectl get pods -n argocd"})
	case op.phase == "" && app.ID != s.Application && app.Get("status", "sync", "status").Text() == "OutOfSync" &&
		(!argo.IsAutomated(app.Get("spec"))):
		all = append(all, Cause{Rule: "never-synced", Text: "has never been synced, and does not sync automatically",
			Proof: "no status.operationState, no spec.syncPolicy.automated", Evidence: Condition, IsYoung: s.created(app) < briefly,
			Fix: "sync it, or set spec.syncPolicy.automated", Command: argocd("sync", app.ID)})
	case (op.phase == running || op.phase == terminating) && !op.isAsked && since > briefly:
		all = append(all, Cause{Rule: "no-operation", Text: "has an operation that nobody continues: the field operation is gone",
			Proof: state, Evidence: Refusal,
			Fix: "remove status from the manifest of the Application if it is there, and start a new sync", Command: argocd("sync", app.ID)})
	case op.phase == terminating && since > briefly:
		all = append(all, Cause{Rule: "terminating", Text: "is being terminated: Argo CD deletes the hooks that run",
			Proof: state, Evidence: Appearance, Fix: "see what holds up the deletion of its hooks",
			Command: argocd("get", app.ID, "--show-operation")})
	case op.hasFailed() && strings.HasPrefix(op.message, "Operation terminated"):
		cause := Cause{Rule: "terminated", Text: "was terminated", Proof: state, Evidence: Condition,
			Fix: "sync again when what it waited for is repaired", Command: argocd("sync", app.ID)}
		if strings.Contains(op.message, "timeout") {
			cause.Text, cause.Fix = "was terminated by the sync timeout", "repair what it waited for, or raise controller.sync.timeout.seconds"
		}
		all = append(all, cause)
	case op.hasFailed() && op.message != "" && !slices.ContainsFunc(op.entries, entry.hasFailed):
		cause := s.refused(op.message, app.ID)
		cause.Rule, cause.Proof, cause.Command = "operation", state, argocd("get", app.ID, "--show-operation")
		cause.Text = "failed: " + op.message
		cause.Evidence = Condition
		cause.Because = object.ID{}
		all = append(all, cause)
	}
	if !strings.Contains(op.message, "another operation is already in progress") {
		return all
	}
	return append(all, Cause{Rule: "other-operation", Text: "already has an operation, so another one cannot start", Proof: state,
		Evidence: Condition, Fix: "wait for it, or terminate it", Command: terminate})
}

// syncWindow finds syncs that a sync window holds back.
func syncWindow(_ *scene, app object.Object, op operation) []Cause {
	if !strings.Contains(op.message, "blocked by sync window") {
		return nil
	}
	project := app.Get("spec", "project").Text()
	return []Cause{{Rule: "sync-window", Text: "is held back by a sync window of AppProject " + project,
		Proof: said("operationState.message:", "", op.message), Evidence: Refusal,
		Fix: "wait until the window allows it, or change the window", Command: "argocd proj windows list " + project}}
}

var messageObject = lazyregexp.New(`waiting for (?:deletion|pruning confirmation) of (?:hook )?([^/ ]*)/([^/ ]+)/(\S+?)(?: and|$)`)

// inMessage returns the object that the message of an operation names. Its namespace is that of an
// object of the same name in the status, or the destination's.
func inMessage(app object.Object, op operation) (id object.ID, ok bool) {
	m := messageObject.FindStringSubmatch(op.message)
	if m == nil {
		return id, false
	}
	id = object.ID{Group: m[1], Kind: m[2], Namespace: app.Get("spec", "destination", "namespace").Text(), Name: m[3]}
	for _, r := range op.resources {
		if r.id.Group == id.Group && r.id.Kind == id.Kind && r.id.Name == id.Name {
			return r.id, true
		}
	}
	for _, e := range op.entries {
		if e.id.Group == id.Group && e.id.Kind == id.Kind && e.id.Name == id.Name {
			return e.id, true
		}
	}
	return id, true
}

// awaitsDeletion finds a sync that waits until an object is gone.
func awaitsDeletion(s *scene, app object.Object, op operation) []Cause {
	if !op.isRunning() || !strings.HasPrefix(op.message, "waiting for deletion of") {
		return nil
	}
	id, ok := inMessage(app, op)
	if !ok {
		return nil
	}
	cause := Cause{Rule: "deletion", Text: "waits until " + id.String() + " is deleted",
		Proof: said("operationState.message:", "", op.message), Evidence: Condition, Because: id, IsYoung: s.Now-op.started < aWhile,
		Fix: "see what holds up the deletion", Command: kubectl("get", id, "-o yaml")}
	if o, exists := s.objects[id]; exists && isTerminating(o) {
		return []Cause{cause}
	}
	if s.isAbsent(id) {
		cause.Text, cause.Because, cause.IsYoung = "waits for the deletion of "+id.String()+", which no longer exists",
			object.ID{}, s.Now-op.started < 2*briefly
		cause.Fix, cause.Command = "terminate the sync and start it again", argocd("terminate-op", app.ID)
	}
	return []Cause{cause}
}

// awaitsConfirmation finds a sync that waits until a person allows a deletion.
func awaitsConfirmation(s *scene, app object.Object, op operation) []Cause {
	if !op.isRunning() || !strings.HasPrefix(op.message, "waiting for pruning confirmation of") {
		return nil
	}
	id, _ := inMessage(app, op)
	return []Cause{{Rule: "confirmation", Text: "waits until somebody allows it to prune " + id.String(),
		Proof: said("operationState.message:", "", op.message), Evidence: Refusal,
		Fix:     "allow it with the annotation argocd.argoproj.io/deletion-approved on the Application, or with Confirm Pruning in the UI",
		Command: argocd("confirm-deletion", app.ID)}}
}

// hookGone finds entries that wait for an object that no longer exists. Since 3.4, Argo CD ends
// such a sync itself.
func hookGone(s *scene, app object.Object, op operation) (all []Cause) {
	if !op.isRunning() {
		return nil
	}
	for _, e := range op.entries {
		if e.state != running || !s.isAbsent(e.id) || e.id.Name == "" {
			continue
		}
		what := e.id.String()
		if e.hook {
			what = "hook " + what
		}
		all = append(all, Cause{Rule: "hook-gone", Text: "waits for the end of " + what + ", which no longer exists",
			Proof: "operationState.syncResult: " + e.id.String() + " is Running", Evidence: Refusal,
			Fix: "terminate the sync and start it again; remove ttlSecondsAfterFinished from the hook", Command: argocd("terminate-op", app.ID)})
	}
	return all
}

// conditions reports conditions that stop a sync before it starts, and what auto-sync says.
func conditions(_ *scene, app object.Object, op operation) (all []Cause) {
	for _, c := range app.Get("status", "conditions").Items() {
		kind, message := c.Get("type").Text(), oneLine(c.Get("message").Text())
		cause := understand("condition", kind+" "+message, app,
			Cause{Rule: "application-condition", Proof: said("condition", kind, message), Evidence: Condition,
				Command: argocd("get", app.ID, "--hard-refresh")})
		if cause.Text == "" || kind == "SyncError" && op.isRunning() { // of an earlier attempt
			continue
		}
		if kind == "SyncError" { // auto-sync does not repeat what has failed: a consequence
			cause.Command = argocd("sync", app.ID)
		}
		if kind == "SyncError" && op.hasFailed() {
			cause.Evidence = Appearance // the operation says why
		}
		all = append(all, cause)
	}
	return all
}

// failedEntries reports the objects at which an attempt failed. They are also followed.
func failedEntries(s *scene, app object.Object, op operation) (all []Cause) {
	for _, e := range op.awaited() {
		if !e.hasFailed() {
			continue
		}
		var cause Cause
		switch {
		case e.status == "SyncFailed":
			message := e.message
			if strings.Contains(message, "is installed on the destination cluster") && strings.Contains(op.message, "failed calling webhook") {
				message = op.message // Argo CD takes the 404 of a webhook for that of the API server
			}
			cause = s.refused(message, e.id)
			cause.Proof = said(e.id.String()+":", "SyncFailed", message)
			if cause.Rule == "unknown-kind" {
				cause.Because = s.failedInstaller(app)
			}
			if cause.Rule == "unknown-kind" && e.version != "" && !strings.Contains(cause.Text, e.version) {
				cause.Text += ", version " + e.version
			}
		case strings.Contains(e.message, "is missing, it might have been deleted"):
			cause = Cause{Rule: "hook-gone", Text: "was deleted while the sync waited for it",
				Proof: said(e.id.String()+":", e.state, e.message), Evidence: Refusal,
				Fix: "see who deletes it, and sync again; remove ttlSecondsAfterFinished from a hook", Command: argocd("sync", app.ID)}
		default:
			text := "is Degraded, which fails the sync"
			if e.hook {
				text = "has failed"
			}
			cause = Cause{Rule: "degraded", Text: text, Proof: said(e.id.String()+":", e.state, e.message), Evidence: Appearance,
				Fix: "see why it is not healthy", Command: kubectl("describe", e.id)}
			if e.message != "" {
				cause.Text += ": " + e.message
			}
		}
		cause.Object = e.id
		all = append(all, cause)
	}
	return all
}

// failedInstaller returns the Subscription of an Application that installs nothing, and so no CRD.
func (s *scene) failedInstaller(app object.Object) object.ID {
	for _, r := range s.resourcesOf(app) {
		if _, ok := s.objects[r.id]; ok && isInstaller(r.id) &&
			slices.ContainsFunc(customResource(s, s.objects[r.id]), func(c Cause) bool { return c.Evidence == Condition && !c.IsYoung }) {
			return r.id
		}
	}
	return object.ID{}
}

func isInstaller(id object.ID) bool { return id.GroupKind() == "Subscription.operators.coreos.com" }

// blockedFix finds a newer commit that waits behind a sync, or a retry, of an older one.
func (s *scene) blockedFix(app object.Object, op operation, state State) (none Cause) {
	if op.phase != running || op.newest == "" || op.revision == "" || op.newest == op.revision || state != Hangs && state != Failed {
		return none
	}
	fix := "terminate the operation, and sync again; controller.sync.timeout.seconds does so by itself"
	if app.Get("status", "operationState", "operation", "retry", "refresh").True() && op.isRetrying() {
		return none // the next attempt takes the newest commit
	}
	return Cause{Rule: "blocked-fix", Object: app.ID,
		Text: fmt.Sprintf("syncs commit %s; the newer commit %s waits until this operation ends, even if it is the fix",
			short(op.revision), short(op.newest)),
		Proof: "operationState and status.sync have different revisions", Evidence: Condition, Fix: fix, Command: argocd("terminate-op", app.ID)}
}

func short(revision string) string {
	var all []string
	for one := range strings.SplitSeq(revision, ",") {
		all = append(all, one[:min(len(one), 7)])
	}
	return strings.Join(all, ",")
}

// rollingSync finds an Application of an ApplicationSet that waits for the Applications of an
// earlier step (argo-cd, applicationset/progressivesync).
func rollingSync(s *scene, app object.Object) (all []Cause) {
	for _, owner := range app.Get("metadata", "ownerReferences").Items() {
		set, ok := s.objects[object.ID{Group: argo.Group, Kind: "ApplicationSet", Namespace: app.ID.Namespace, Name: owner.Get("name").Text()}]
		if !ok || owner.Get("kind").Text() != "ApplicationSet" || set.Get("spec", "strategy", "type").Text() != "RollingSync" {
			continue
		}
		states := set.Get("status", "applicationStatus").Items()
		own := slices.IndexFunc(states, func(v object.Value) bool { return v.Get("application").Text() == app.ID.Name })
		if own < 0 || states[own].Get("status").Text() == "Healthy" {
			continue
		}
		step := states[own].Get("step").Text()
		proof := said("status.applicationStatus of "+set.ID.String()+":", states[own].Get("status").Text(), states[own].Get("message").Text())
		if step == "-1" {
			all = append(all, Cause{Rule: "rolling-sync",
				Text: "matches no step of " + set.ID.String() + ", so RollingSync never syncs it", Proof: proof,
				Evidence: Refusal, Fix: "add its labels to a step of spec.strategy.rollingSync", Command: kubectl("get", set.ID, "-o yaml")})
			continue
		}
		if states[own].Get("status").Text() != "Waiting" {
			continue
		}
		for _, v := range states {
			if earlier := v.Get("step").Text(); stepNumber(earlier) < stepNumber(step) && earlier != "-1" && v.Get("status").Text() != "Healthy" {
				by := object.ID{Group: argo.Group, Kind: "Application", Namespace: app.ID.Namespace, Name: v.Get("application").Text()}
				all = append(all, Cause{Rule: "rolling-sync",
					Text: fmt.Sprintf("waits in step %s of %s, because %s of step %s is %s", step, set.ID, by, earlier,
						v.Get("status").Text()), Proof: proof, Evidence: Condition, Because: by,
					Fix: "see why " + by.String() + " is not Healthy", Command: argocd("get", by)})
			}
		}
	}
	return all
}

func stepNumber(text string) int {
	n := 0
	for _, r := range text {
		if r < '0' || r > '9' {
			return 0
		}
		n = n*10 + int(r-'0')
	}
	return n
}
