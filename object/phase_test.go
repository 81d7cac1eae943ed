package object

import (
	"fmt"
	"strings"
	"testing"
)

// TestPhases is the table of what Argo CD does with hook annotations
// (gitops-engine pkg/sync/hook, v3.5.7).
func TestPhases(t *testing.T) {
	tests := []struct {
		annotations string
		hook        bool
		phases      string
	}{
		{``, false, "Sync"},
		{`argocd.argoproj.io/hook: PreSync`, true, "PreSync"},
		{`argocd.argoproj.io/hook: "PostSync, PreSync,PreSync"`, true, "PreSync PostSync"},
		{`argocd.argoproj.io/hook: Sync`, true, "Sync"},
		{`argocd.argoproj.io/hook: Skip`, true, ""},
		{`argocd.argoproj.io/hook: "Skip,Sync"`, true, "Sync"},
		{`argocd.argoproj.io/hook: PreDelete`, true, "PreDelete"},
		{`argocd.argoproj.io/hook: nonsense`, true, ""},
		{`helm.sh/hook: "pre-install,pre-upgrade"`, true, "PreSync"},
		{`helm.sh/hook: "pre-install,post-install,post-upgrade"`, true, "PreSync PostSync"},
		{`helm.sh/hook: test`, true, ""},
		{`helm.sh/hook: "pre-rollback,pre-upgrade"`, true, "PreSync"},
		{`helm.sh/hook: "pre-delete"`, true, "PreDelete"},
		{`helm.sh/hook: "post-delete,post-install"`, true, "PostSync PostDelete"},
		{`helm.sh/hook: crd-install`, false, "Sync"},
		{`{helm.sh/hook: pre-install, argocd.argoproj.io/hook: Sync}`, true, "Sync"},
		{`{helm.sh/hook: pre-install, argocd.argoproj.io/hook: nonsense}`, true, "PreSync"},
		{`{helm.sh/hook: "pre-install,pre-delete", argocd.argoproj.io/hook: Sync}`, true, "Sync PreDelete"},
		{`{helm.sh/hook: pre-install, argocd.argoproj.io/hook: Skip}`, true, ""},
	}
	for _, tt := range tests {
		o := withAnnotations(t, tt.annotations)
		if got := o.IsHook(); got != tt.hook {
			t.Errorf("%s: IsHook = %v, want %v", tt.annotations, got, tt.hook)
		}
		if got := strings.Trim(fmt.Sprint(o.Phases()), "[]"); got != tt.phases {
			t.Errorf("%s: Phases = %q, want %q", tt.annotations, got, tt.phases)
		}
	}
}

func TestUnknownHooks(t *testing.T) {
	tests := []struct{ annotations, want string }{
		{`argocd.argoproj.io/hook: "PreSync, Skip, PostDelete"`, "[]"},
		{`argocd.argoproj.io/hook: "Presync,Sync"`, "[{argocd.argoproj.io/hook Presync}]"},
		{`argocd.argoproj.io/hook: pre-install`, "[{argocd.argoproj.io/hook pre-install}]"},
		{`argocd.argoproj.io/hook: ""`, "[{argocd.argoproj.io/hook }]"},
		{`argocd.argoproj.io/hook: " , "`, "[{argocd.argoproj.io/hook }]"},
		{`helm.sh/hook: ""`, "[{helm.sh/hook }]"},
		{`{argocd.argoproj.io/hook: "", helm.sh/hook: pre-install}`, "[]"},
		{`helm.sh/hook: PreSync`, "[{helm.sh/hook PreSync}]"},
		{`helm.sh/hook: "crd-install,test-success,pre-rollback,post-delete"`, "[]"},
	}
	for _, tt := range tests {
		if got := fmt.Sprint(withAnnotations(t, tt.annotations).UnknownHooks()); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.annotations, got, tt.want)
		}
	}
}

// TestWave is the table of which waves Argo CD reads (pkg/sync/syncwaves).
func TestWave(t *testing.T) {
	tests := []struct {
		annotations string
		wave        int
		set         bool
	}{
		{``, 0, false},
		{`argocd.argoproj.io/sync-wave: "5"`, 5, true},
		{`argocd.argoproj.io/sync-wave: "+5"`, 5, true},
		{`argocd.argoproj.io/sync-wave: "-05"`, -5, true},
		{`argocd.argoproj.io/sync-wave: "1.0"`, 0, false},
		{`helm.sh/hook-weight: "-3"`, -3, true},
		{`{helm.sh/hook-weight: "-3", argocd.argoproj.io/sync-wave: "7"}`, 7, true},
		{`{helm.sh/hook-weight: "-3", argocd.argoproj.io/sync-wave: " 7"}`, -3, true},
	}
	for _, tt := range tests {
		wave, set := withAnnotations(t, tt.annotations).Wave()
		if wave != tt.wave || set != tt.set {
			t.Errorf("%s: Wave = %d, %v, want %d, %v", tt.annotations, wave, set, tt.wave, tt.set)
		}
	}
}

func withAnnotations(t *testing.T, annotations string) Object {
	t.Helper()
	if annotations != "" && annotations[0] != '{' {
		annotations = "{" + annotations + "}"
	}
	objs, err := Parse("", 0, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: "+annotations+"\n")
	if err != nil {
		t.Fatal(err)
	}
	return objs[0]
}
