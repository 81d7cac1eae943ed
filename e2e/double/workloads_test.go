package double_test

import (
	"fmt"
	"testing"

	"github.com/ladder-cmp/ladder/e2e/double"
)

// deployment is a Deployment whose Pods have a spec of their own.
func deployment(name, pod string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: %[2]s
`, name, pod)
}

const plainPod = "{containers: [{name: main, image: none}]}"

func TestDeploymentPassesThroughProgressing(t *testing.T) {
	mark, err := shared.Mark()
	if err != nil {
		t.Fatal(err)
	}
	ns := apply(t, deployment("web", plainPod))
	becomes(t, "apps/v1", "Deployment", ns, "web", "status.availableReplicas", "2")
	is(t, "apps/v1", "Deployment", ns, "web", "conditions.Available", "True")
	writes, err := shared.Events(clusterFilter(mark, ns, "deployments"))
	if err != nil {
		t.Fatal(err)
	}
	if len(writes) != 3 || writes[1].Subresource != "status" || writes[2].Subresource != "status" {
		t.Errorf("want its creation, a status on the way and one at the end, have %v", writes)
	}
}

func TestPodsWaitForWhatTheyReadAndMount(t *testing.T) {
	for name, c := range map[string]struct{ pod, why, has string }{
		"secret": {
			"{containers: [{name: main, image: none}], volumes: [{name: v, secret: {secretName: tls}}]}",
			"Secret $NS/tls is missing", "{apiVersion: v1, kind: Secret, metadata: {name: tls}}"},
		"account": {
			"{containers: [{name: main, image: none}], serviceAccountName: robot}",
			"ServiceAccount $NS/robot is missing", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}"},
		"environment": {
			"{containers: [{name: main, image: none, envFrom: [{configMapRef: {name: settings}}]}]}",
			"ConfigMap $NS/settings is missing", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}"},
		"init": {
			"{containers: [{name: main, image: none}], initContainers: [{name: first, image: none, envFrom: [{secretRef: {name: early}}]}]}",
			"Secret $NS/early is missing", "{apiVersion: v1, kind: Secret, metadata: {name: early}}"},
		"projected": {
			"{containers: [{name: main, image: none}], volumes: [{name: v, projected: {sources: [{secret: {name: token}}]}}]}",
			"Secret $NS/token is missing", "{apiVersion: v1, kind: Secret, metadata: {name: token}}"},
		"runtime": {
			"{containers: [{name: main, image: none}], runtimeClassName: sandbox}",
			"RuntimeClass sandbox is missing", "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: sandbox}, handler: sandbox}"},
		"priority": {
			"{containers: [{name: main, image: none}], priorityClassName: urgent}",
			"its Pods are refused", "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 7}"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := apply(t, deployment("web", c.pod))
			waits(t, "Deployment "+ns+"/web", replaceNS(c.why, ns))
			is(t, "apps/v1", "Deployment", ns, "web", "status.availableReplicas", "")
			apply(t, c.has)
			becomes(t, "apps/v1", "Deployment", ns, "web", "status.availableReplicas", "2")
		})
	}
}

func TestPodsWaitForKeys(t *testing.T) {
	ns := apply(t, deployment("web", `{containers: [{name: main, image: none, env: [
		{name: A, valueFrom: {secretKeyRef: {name: login, key: password}}}]}]}`)+
		"\n---\n{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {user: me}}")
	waits(t, "Deployment "+ns+"/web", "Secret "+ns+"/login has no key password")
	remove(t, "v1", "Secret", ns, "login", "Background")
	apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {password: secret}}")
	becomes(t, "apps/v1", "Deployment", ns, "web", "status.availableReplicas", "2")
}

func TestPodsDoNotWaitForWhatIsOptional(t *testing.T) {
	ns := apply(t, deployment("web", `{containers: [{name: main, image: none,
		env: [{name: A, valueFrom: {configMapKeyRef: {name: none, key: none, optional: true}}}],
		envFrom: [{secretRef: {name: none, optional: true}}]}],
		volumes: [{name: v, secret: {secretName: none, optional: true}}]}`))
	becomes(t, "apps/v1", "Deployment", ns, "web", "status.availableReplicas", "2")
}

func TestOtherWorkloadsBecomeReady(t *testing.T) {
	ns := apply(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: set}
spec:
  serviceName: set
  replicas: 2
  selector: {matchLabels: {app: set}}
  template: {metadata: {labels: {app: set}}, spec: `+plainPod+`}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: daemon}
spec:
  selector: {matchLabels: {app: daemon}}
  template: {metadata: {labels: {app: daemon}}, spec: `+plainPod+`}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: replicas}
spec:
  selector: {matchLabels: {app: replicas}}
  template: {metadata: {labels: {app: replicas}}, spec: `+plainPod+`}
---
{apiVersion: v1, kind: Pod, metadata: {name: pod}, spec: `+plainPod+`}
---
{apiVersion: v1, kind: Pod, metadata: {name: once}, spec: {restartPolicy: Never, containers: [{name: main, image: none}]}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: job}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: none}]}}}}
`)
	becomes(t, "apps/v1", "StatefulSet", ns, "set", "status.readyReplicas", "2")
	o := get(t, "apps/v1", "StatefulSet", ns, "set")
	if field(o, "status.currentRevision") == "" || field(o, "status.currentRevision") != field(o, "status.updateRevision") {
		t.Errorf("its rollout has no end: %v", o.Object["status"])
	}
	becomes(t, "apps/v1", "DaemonSet", ns, "daemon", "status.numberAvailable", "1")
	becomes(t, "apps/v1", "ReplicaSet", ns, "replicas", "status.availableReplicas", "1")
	becomes(t, "v1", "Pod", ns, "pod", "conditions.Ready", "True")
	becomes(t, "v1", "Pod", ns, "once", "status.phase", "Succeeded")
	becomes(t, "batch/v1", "Job", ns, "job", "conditions.Complete", "True")
}

func TestChangedDeploymentProgressesAgain(t *testing.T) {
	ns := apply(t, deployment("web", plainPod))
	becomes(t, "apps/v1", "Deployment", ns, "web", "status.availableReplicas", "2")
	merge(t, "apps/v1", "Deployment", ns, "web",
		`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"none","envFrom":[{"secretRef":{"name":"new"}}]}]}}}}`)
	waits(t, "Deployment "+ns+"/web", "Secret "+ns+"/new is missing")
	becomes(t, "apps/v1", "Deployment", ns, "web", "status.observedGeneration", "2")
	is(t, "apps/v1", "Deployment", ns, "web", "status.updatedReplicas", "") // none, which is not written
	is(t, "apps/v1", "Deployment", ns, "web", "status.availableReplicas", "2")
	apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: new}}")
	becomes(t, "apps/v1", "Deployment", ns, "web", "status.updatedReplicas", "2")
}

func TestDeclaredNeedOfADeploymentHeals(t *testing.T) {
	ns := apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: any}}")
	play(t, double.Scenario{Needs: []double.Need{{
		Of:    double.Ref{Kind: "Deployment", Namespace: ns, Name: "app"},
		Needs: double.Ref{Kind: "Service", Namespace: ns, Name: "db"},
	}}})
	apply(t, deployment("app", plainPod))
	waits(t, "Deployment "+ns+"/app", "it crashes: Service "+ns+"/db is missing")
	apply(t, "{apiVersion: v1, kind: Service, metadata: {name: db}, spec: {selector: {app: db}, ports: [{port: 5432}]}}")
	waits(t, "Deployment "+ns+"/app", "Service "+ns+"/db has no endpoints: no workload has the labels of its selector")
	apply(t, deployment("db", plainPod))
	becomes(t, "apps/v1", "Deployment", ns, "app", "status.availableReplicas", "2")
}

func TestDeclaredNeedOfAJobFailsIt(t *testing.T) {
	ns := apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: any}}")
	need := func(job string) double.Need {
		return double.Need{Of: double.Ref{Kind: "Job", Namespace: ns, Name: job},
			Needs: double.Ref{Kind: "Deployment", Namespace: ns, Name: "db"}}
	}
	play(t, double.Scenario{Needs: []double.Need{need("early"), need("patient")}})
	job := "{apiVersion: batch/v1, kind: Job, metadata: {name: %s}, spec: {backoffLimit: %d, " +
		"template: {spec: {restartPolicy: Never, containers: [{name: main, image: none}]}}}}"
	apply(t, fmt.Sprintf(job, "early", 1))
	becomes(t, "batch/v1", "Job", ns, "early", "conditions.Failed", "True")
	is(t, "batch/v1", "Job", ns, "early", "status.failed", "2")

	apply(t, fmt.Sprintf(job, "patient", 20))
	becomes(t, "batch/v1", "Job", ns, "patient", "status.failed", "1")
	apply(t, deployment("db", plainPod))
	becomes(t, "batch/v1", "Job", ns, "patient", "conditions.Complete", "True")
	is(t, "batch/v1", "Job", ns, "early", "conditions.Failed", "True")
}

func TestJobWaitsForItsSecretAndDoesNotFail(t *testing.T) {
	ns := apply(t,
		`{apiVersion: batch/v1, kind: Job, metadata: {name: migrate}, spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never,
		containers: [{name: main, image: none, envFrom: [{secretRef: {name: login}}]}]}}}}`)
	waits(t, "Job "+ns+"/migrate", "Secret "+ns+"/login is missing")
	is(t, "batch/v1", "Job", ns, "migrate", "status.active", "1")
	apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: login}}")
	becomes(t, "batch/v1", "Job", ns, "migrate", "conditions.Complete", "True")
}

func TestCertificateJobMakesItsSecret(t *testing.T) {
	ns := apply(t, deployment("hook", "{containers: [{name: main, image: none}], volumes: [{name: v, secret: {secretName: hook-tls}}]}"))
	waits(t, "Deployment "+ns+"/hook", "Secret "+ns+"/hook-tls is missing")
	apply(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: certs}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: none,
		args: [create, "--host=hook,hook.$NS.svc", --namespace=$NS, --secret-name=hook-tls]}]}}}}`)
	becomes(t, "apps/v1", "Deployment", ns, "hook", "status.availableReplicas", "2")
}

func TestQuotaLetsPodsIn(t *testing.T) {
	ns := apply(t, "{apiVersion: v1, kind: ResourceQuota, metadata: {name: few}, spec: {hard: {pods: '5'}}}")
	apply(t, deployment("web", plainPod))
	becomes(t, "apps/v1", "Deployment", ns, "web", "status.availableReplicas", "2")
}

func TestProgramsMakeTheirSecrets(t *testing.T) {
	ns := apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: any}}")
	play(t, double.Scenario{Makes: []double.Make{{
		Of:   double.Ref{Kind: "Deployment", Namespace: ns, Name: "hook"},
		Make: double.Product{Kind: "Secret", Name: "{name}-token", Keys: []string{"token"}},
	}}})
	apply(t, deployment("hook", `{containers: [{name: main, image: none, args: [--dynamic-serving-ca-secret-name=hook-ca,
		--dynamic-serving-ca-secret-namespace=$(POD_NAMESPACE), "--dynamic-serving-dns-names=hook.$NS.svc"]}]}`))
	becomes(t, "apps/v1", "Deployment", ns, "hook", "status.availableReplicas", "2")
	becomes(t, "v1", "Secret", ns, "hook-ca", "type", "Opaque")
	if data := get(t, "v1", "Secret", ns, "hook-ca").Object["data"].(map[string]any); data["ca.crt"] == nil || data["tls.crt"] == nil {
		t.Errorf("its keys are %v", data)
	}
	becomes(t, "v1", "Secret", ns, "hook-token", "type", "Opaque")
}
