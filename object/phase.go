package object

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Annotations for Argo CD's order.
const (
	SyncWave   = "argocd.argoproj.io/sync-wave"
	Hook       = "argocd.argoproj.io/hook"
	HelmHook   = "helm.sh/hook"
	HelmWeight = "helm.sh/hook-weight"
	// HookDelete and HelmHookDelete say when Argo CD deletes a hook.
	HookDelete     = "argocd.argoproj.io/hook-delete-policy"
	HelmHookDelete = "helm.sh/hook-delete-policy"
)

// Phase is a phase of an Argo CD operation. Each phase has its own waves.
type Phase string

const (
	PreSync    Phase = "PreSync"
	Sync       Phase = "Sync"
	PostSync   Phase = "PostSync"
	SyncFail   Phase = "SyncFail"
	PreDelete  Phase = "PreDelete"
	PostDelete Phase = "PostDelete"
)

// phases lists all phases in order.
var phases = []Phase{PreSync, Sync, PostSync, SyncFail, PreDelete, PostDelete}

// Order returns the index of the phase in order.
func (p Phase) Order() int { return slices.Index(phases, p) }

// RunsInSync reports whether the phase is one of those that each sync runs, one after
// the other. SyncFail runs only if one of them fails, the others when the Application is
// deleted.
func (p Phase) RunsInSync() bool { return p == PreSync || p == Sync || p == PostSync }

// syncTypes maps values of Hook to phases of a sync, and helmSyncTypes values of
// HelmHook that Argo CD supports (gitops-engine pkg/sync/common/types.go,
// pkg/sync/hook/helm/type.go). Helm's test and rollback hooks are missing: Argo CD
// never applies them.
var (
	syncTypes     = map[string]Phase{"PreSync": PreSync, "Sync": Sync, "PostSync": PostSync, "SyncFail": SyncFail}
	helmSyncTypes = map[string]Phase{"pre-install": PreSync, "pre-upgrade": PreSync, "post-install": PostSync, "post-upgrade": PostSync}
)

// deleteTypes are the hook types that run when the Application is deleted; both
// annotations support them (controller/hook.go).
var deleteTypes = map[string]Phase{"PreDelete": PreDelete, "PostDelete": PostDelete}
var helmDeleteTypes = map[string]Phase{"pre-delete": PreDelete, "post-delete": PostDelete}

// IsHook reports whether Argo CD treats the object as a hook: it is not compared or
// pruned, and runs in its phases at every sync.
func (o Object) IsHook() bool {
	if _, ok := o.Annotation(Hook); ok {
		return true
	}
	// Helm 2 marked CRDs this way; Argo CD treats them as plain objects.
	value, ok := o.Annotation(HelmHook)
	return ok && value != "crd-install"
}

// Phases returns the phases in which Argo CD applies the object, in order: Sync for
// a plain object; several or none for a hook, since test hooks and hooks of type
// Skip are never applied. (gitops-engine pkg/sync/hook/hook.go and sync_phase.go.)
func (o Object) Phases() []Phase {
	if !o.IsHook() {
		return []Phase{Sync}
	}
	found := append(pick(syncTypes, o.list(Hook)), pick(helmSyncTypes, o.HelmHooks())...)
	found = append(found, pick(deleteTypes, o.list(Hook))...)
	found = append(found, pick(helmDeleteTypes, o.list(HelmHook))...)
	slices.SortFunc(found, func(a, b Phase) int { return a.Order() - b.Order() })
	return slices.Compact(found)
}

// HelmHooks returns the types of a hook of Helm that Argo CD runs in a sync, such as
// pre-install. There are none if the object has a valid type of Argo CD for a sync.
func (o Object) HelmHooks() []string {
	argo := o.list(Hook)
	if pick(syncTypes, argo) != nil || slices.Contains(argo, "Skip") {
		return nil
	}
	return slices.DeleteFunc(o.list(HelmHook), func(t string) bool { return helmSyncTypes[t] == "" })
}

// hookTypes are the values of the two annotations for hooks, also those that are no
// phases: Argo CD never applies such objects, except for Helm 2's CRDs.
var hookTypes = map[string][]string{
	Hook: slices.Concat(slices.Collect(maps.Keys(syncTypes)), slices.Collect(maps.Keys(deleteTypes)), []string{"Skip"}),
	HelmHook: slices.Concat(slices.Collect(maps.Keys(helmSyncTypes)), slices.Collect(maps.Keys(helmDeleteTypes)),
		[]string{"crd-install", "test", "test-success", "test-failure", "pre-rollback", "post-rollback"}),
}

// UnknownHook is a hook type that an annotation does not support, such as one of Helm's
// in the annotation of Argo CD. It is a mistake, since an object with no other type is
// never applied. Type is empty if the annotation is.
type UnknownHook struct{ Annotation, Type string }

// UnknownHooks returns the unknown hook types of an object.
func (o Object) UnknownHooks() []UnknownHook {
	var unknown []UnknownHook
	for _, annotation := range []string{Hook, HelmHook} {
		names := o.list(annotation)
		if _, set := o.Annotation(annotation); set && names == nil && o.Phases() == nil {
			unknown = append(unknown, UnknownHook{annotation, ""})
		}
		for _, name := range names {
			if !slices.Contains(hookTypes[annotation], name) {
				unknown = append(unknown, UnknownHook{annotation, name})
			}
		}
	}
	return unknown
}

// pick returns the meanings of the known names.
func pick[T any](meanings map[string]T, names []string) []T {
	var found []T
	for _, name := range names {
		if m, ok := meanings[name]; ok {
			found = append(found, m)
		}
	}
	return found
}

// IsTest reports whether the object is a test of "helm test".
func (o Object) IsTest() bool {
	return slices.ContainsFunc(o.list(HelmHook), func(t string) bool { return t == "test" || t == "test-success" })
}

// InSync reports whether the object has a wave in the Sync phase.
func (o Object) InSync() bool { return slices.Contains(o.Phases(), Sync) }

// list splits an annotation with a comma-separated list.
func (o Object) list(key string) []string {
	value, _ := o.Annotation(key)
	return SplitList(value)
}

// SplitList splits a comma-separated list.
func SplitList(text string) []string {
	var items []string
	for _, item := range strings.Split(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// Wave returns the wave that Argo CD reads from the object, and whether its author
// set one: the sync-wave annotation, or else the weight of a Helm hook, which Argo
// CD reads from any object, or else 0 (gitops-engine pkg/sync/syncwaves/waves.go).
func (o Object) Wave() (wave int, set bool) {
	for _, key := range []string{SyncWave, HelmWeight} {
		if text, ok := o.Annotation(key); ok {
			if n, err := strconv.Atoi(text); err == nil {
				return n, true
			}
		}
	}
	return 0, false
}
