package object

import "slices"

// DeletePolicy says when Argo CD deletes a hook. Each deletion is one by key and
// unconditional: the options Delete=false and Prune=false and Helm's resource policy do
// not prevent it (deleteResource in gitops-engine pkg/sync/sync_context.go).
type DeletePolicy struct {
	// BeforeCreation: at the start of its wave, if an object of its name exists, whoever
	// created it; the wave waits until it is gone (runTasks in sync_context.go).
	BeforeCreation bool
	// Succeeded: not after the hook, but when the sync succeeds. If the last wave has no
	// hook, that is the step that applies the last wave (both calls of deleteHooks in Sync,
	// sync_context.go).
	Succeeded bool
	// Failed: when the sync fails, also if the hook itself succeeded (Sync, sync_context.go).
	Failed bool
}

// argoPolicies and helmPolicies are the values of HookDelete and HelmHookDelete
// (gitops-engine pkg/sync/common/types.go, pkg/sync/hook/helm/delete_policy.go).
var (
	argoPolicies = map[string]DeletePolicy{"BeforeHookCreation": {BeforeCreation: true}, "HookSucceeded": {Succeeded: true},
		"HookFailed": {Failed: true}}
	helmPolicies = map[string]DeletePolicy{"before-hook-creation": {BeforeCreation: true}, "hook-succeeded": {Succeeded: true},
		"hook-failed": {Failed: true}}
)

// DeletePolicy returns when Argo CD deletes the object, a hook. It unites both annotations,
// and ignores unknown values: without any other, the policy is BeforeCreation, although
// Helm would never delete such a hook (gitops-engine pkg/sync/hook/delete_policy.go).
func (o Object) DeletePolicy() DeletePolicy {
	if !o.IsHook() {
		return DeletePolicy{}
	}
	var all DeletePolicy
	for _, p := range slices.Concat(pick(argoPolicies, o.list(HookDelete)), pick(helmPolicies, o.list(HelmHookDelete))) {
		all = DeletePolicy{all.BeforeCreation || p.BeforeCreation, all.Succeeded || p.Succeeded, all.Failed || p.Failed}
	}
	if all == (DeletePolicy{}) {
		all.BeforeCreation = true
	}
	return all
}
