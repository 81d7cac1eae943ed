package object

import "slices"

// HelmEvents is what the annotations of Helm make of an object in a sync.
type HelmEvents struct {
	// Sync are the types for which Argo CD applies the object in a sync, such as
	// "post-install", and Delete those for which it does when the Application is deleted.
	Sync, Delete []string
}

// HelmEvents returns what makes the object a hook of a sync, if only Helm's annotations do.
// A known type of Argo CD is the wish of an author who knows Argo CD.
func (o Object) HelmEvents() (HelmEvents, bool) {
	isOfArgo := func(t string) bool { return slices.Contains(hookTypes[Hook], t) }
	if slices.ContainsFunc(o.list(Hook), isOfArgo) {
		return HelmEvents{}, false
	}
	var h HelmEvents
	for _, t := range o.list(HelmHook) {
		if _, ok := helmSyncTypes[t]; ok {
			h.Sync = append(h.Sync, t)
		} else if _, ok := helmDeleteTypes[t]; ok {
			h.Delete = append(h.Delete, t)
		}
	}
	return h, len(h.Sync) > 0
}

// IsBefore reports whether Helm runs the hook only before it applies ordinary objects.
func (h HelmEvents) IsBefore() bool { return h.only(PreSync) }

// IsAfter reports whether Helm runs the hook only after it has applied ordinary objects.
func (h HelmEvents) IsAfter() bool { return h.only(PostSync) }

// IsUpgradeOnly reports whether Helm never runs the hook at an installation.
func (h HelmEvents) IsUpgradeOnly() bool {
	return !slices.ContainsFunc(h.Sync, func(t string) bool { return t != "pre-upgrade" && t != "post-upgrade" })
}

// IsInstallOnly reports whether Helm runs the hook only at an installation.
func (h HelmEvents) IsInstallOnly() bool {
	return len(h.Sync) > 0 && !slices.ContainsFunc(h.Sync, func(hook string) bool { return hook != "pre-install" && hook != "post-install" })
}

func (h HelmEvents) only(p Phase) bool {
	return !slices.ContainsFunc(h.Sync, func(t string) bool { return helmSyncTypes[t] != p })
}

// DeletePolicies returns the known deletion policies of a hook in the words of Argo CD, which
// unites those of both annotations (gitops-engine pkg/sync/hook/delete_policy.go).
func (o Object) DeletePolicies() []string {
	words := append(o.list(HookDelete), o.list(HelmHookDelete)...)
	var all []string
	for _, p := range deletePolicies {
		if slices.Contains(words, p.argo) || slices.Contains(words, p.helm) {
			all = append(all, p.argo)
		}
	}
	return all
}

// The deletion policies of Argo CD.
const (
	BeforeHookCreation = "BeforeHookCreation"
	HookSucceeded      = "HookSucceeded"
	HookFailed         = "HookFailed"
)

var deletePolicies = []struct{ argo, helm string }{
	{BeforeHookCreation, "before-hook-creation"},
	{HookSucceeded, "hook-succeeded"},
	{HookFailed, "hook-failed"},
}
