package object

import "testing"

// TestDeletePolicy is the table of what Argo CD does with delete policies
// (gitops-engine pkg/sync/hook/delete_policy.go, v3.5.1).
func TestDeletePolicy(t *testing.T) {
	before, succeeded, failed := DeletePolicy{BeforeCreation: true}, DeletePolicy{Succeeded: true}, DeletePolicy{Failed: true}
	tests := []struct {
		annotations string
		want        DeletePolicy
	}{
		{``, DeletePolicy{}},
		{`argocd.argoproj.io/hook-delete-policy: HookSucceeded`, DeletePolicy{}}, // not a hook
		{`helm.sh/hook: pre-install`, before},
		{`{helm.sh/hook: pre-install, helm.sh/hook-delete-policy: never}`, before},
		{`{helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded}`, succeeded},
		{`{helm.sh/hook: pre-install, helm.sh/hook-delete-policy: "hook-succeeded, nonsense"}`, succeeded},
		{`{helm.sh/hook: pre-install, helm.sh/hook-delete-policy: HookSucceeded}`, before},
		{`{argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: HookFailed}`, failed},
		{`{argocd.argoproj.io/hook: Sync, argocd.argoproj.io/hook-delete-policy: HookFailed, ` +
			`helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}`, DeletePolicy{true, true, true}},
	}
	for _, tt := range tests {
		if got := withAnnotations(t, tt.annotations).DeletePolicy(); got != tt.want {
			t.Errorf("%s: DeletePolicy = %+v, want %+v", tt.annotations, got, tt.want)
		}
	}
}

func TestHelmHooks(t *testing.T) {
	for annotations, want := range map[string]int{
		`helm.sh/hook: "pre-install,post-delete,test"`:                     1,
		`helm.sh/hook: "pre-install,pre-upgrade"`:                          2,
		`{helm.sh/hook: pre-install, argocd.argoproj.io/hook: Sync}`:       0,
		`{helm.sh/hook: pre-install, argocd.argoproj.io/hook: Skip}`:       0,
		`{helm.sh/hook: pre-install, argocd.argoproj.io/hook: PostDelete}`: 1,
		`{argocd.argoproj.io/hook: PreSync}`:                               0,
	} {
		if got := withAnnotations(t, annotations).HelmHooks(); len(got) != want {
			t.Errorf("%s: HelmHooks = %v, want %d", annotations, got, want)
		}
	}
}
