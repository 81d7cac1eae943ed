package double_test

import (
	"testing"

	"github.com/ladder-cmp/ladder/e2e/double"
)

const claim = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, ` +
	`spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`

func TestClaimWaitsForItsFirstConsumer(t *testing.T) {
	ns := apply(t, claim)
	waits(t, "PersistentVolumeClaim "+ns+"/data", "StorageClass standard waits for a first consumer, and no Pod uses the claim")
	is(t, "v1", "PersistentVolumeClaim", ns, "data", "status.phase", "Pending")
	apply(t, `{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly}, spec: {schedule: "0 0 * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never,
		containers: [{name: main, image: none}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}}}}}}`)
	waits(t, "PersistentVolumeClaim "+ns+"/data", "no Pod uses the claim")
	apply(t, deployment("db", "{containers: [{name: main, image: none}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}"))
	becomes(t, "v1", "PersistentVolumeClaim", ns, "data", "status.phase", "Bound")
	becomes(t, "apps/v1", "Deployment", ns, "db", "status.availableReplicas", "2")
}

func TestImmediateClaimIsBoundAtOnce(t *testing.T) {
	ns := apply(t,
		`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: at-once}, provisioner: any, volumeBindingMode: Immediate}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: at-once, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
	becomes(t, "v1", "PersistentVolumeClaim", ns, "data", "status.phase", "Bound")
}

func TestClaimWaitsForItsClass(t *testing.T) {
	ns := apply(t, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, `+
		`spec: {storageClassName: own, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
	waits(t, "PersistentVolumeClaim "+ns+"/data", "StorageClass own is missing")
	play(t, double.Scenario{Needs: []double.Need{{
		Of: double.Ref{Kind: "StorageClass", Name: "own"}, Needs: double.Ref{Kind: "Deployment", Namespace: ns, Name: "provisioner"},
	}}})
	apply(t, `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: own}, provisioner: own, volumeBindingMode: Immediate}`)
	waits(t, "PersistentVolumeClaim "+ns+"/data", "StorageClass own makes no volumes: Deployment "+ns+"/provisioner is missing")
	apply(t, deployment("provisioner", plainPod))
	becomes(t, "v1", "PersistentVolumeClaim", ns, "data", "status.phase", "Bound")
}

func TestClaimTakesAVolumeThatIsThere(t *testing.T) {
	ns := apply(t, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: by-hand, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: small}, spec: {storageClassName: by-hand, capacity: {storage: 1Mi}, accessModes: [ReadWriteMany], hostPath: {path: /none}}}`)
	waits(t, "PersistentVolumeClaim "+ns+"/data", "no volume fits")
	apply(t, `{apiVersion: v1, kind: PersistentVolume, metadata: {name: large}, `+
		`spec: {storageClassName: by-hand, capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], hostPath: {path: /none}}}`)
	becomes(t, "v1", "PersistentVolumeClaim", ns, "data", "status.phase", "Bound")
	is(t, "v1", "PersistentVolumeClaim", ns, "data", "spec.volumeName", "large")
	becomes(t, "v1", "PersistentVolume", "", "large", "status.phase", "Bound")
}

func TestStatefulSetMakesItsClaims(t *testing.T) {
	ns := apply(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: main, image: none, volumeMounts: [{name: data, mountPath: /data}]}]}}
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`)
	becomes(t, "v1", "PersistentVolumeClaim", ns, "data-db-1", "status.phase", "Bound")
	becomes(t, "apps/v1", "StatefulSet", ns, "db", "status.readyReplicas", "2")
}

func TestDeletedClaimGoesWhenNoPodUsesIt(t *testing.T) {
	ns := apply(t, claim+"\n---\n"+
		deployment("db", "{containers: [{name: main, image: none}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}"))
	becomes(t, "apps/v1", "Deployment", ns, "db", "status.availableReplicas", "2")
	remove(t, "v1", "PersistentVolumeClaim", ns, "data", "Background")
	waits(t, "PersistentVolumeClaim "+ns+"/data", "a Pod uses it")
	remove(t, "apps/v1", "Deployment", ns, "db", "Foreground")
	goes(t, "v1", "PersistentVolumeClaim", ns, "data")
	goes(t, "apps/v1", "Deployment", ns, "db")
}
