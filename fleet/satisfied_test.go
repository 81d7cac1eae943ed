package fleet_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// TestClaimOfSiblingClass: a class of another component that binds immediately leaves a claim
// nothing to wait for; one that waits for a Pod does.
func TestClaimOfSiblingClass(t *testing.T) {
	class := "{apiVersion: storage.k8s.io/v1, kind: StorageClass, " +
		"metadata: {name: fast}, provisioner: disk.csi.example.com, volumeBindingMode: MODE}"
	job := `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, annotations: {argocd.argoproj.io/sync-wave: "-1"}}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: tool}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}}}
`
	for mode, want := range map[string]bool{"Immediate": false, "WaitForFirstConsumer": true} {
		f := fleettest.Files(t, map[string]string{
			"class/component.yaml": fleettest.Described("class", "foundation", "140"), "class/c.yaml": strings.Replace(class, "MODE", mode, 1),
			"job/component.yaml": fleettest.Described("job", "apps", "650"), "job/j.yaml": job,
		}, fleet.Source{})
		got := slices.ContainsFunc(f.Findings, func(found finding.Finding) bool { return found.Rule == "late" })
		if got != want {
			t.Errorf("a class that binds %s: a finding is %v: %v", mode, got, f.Findings)
		}
	}
}
