package link_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// crd, program and may write manifests: a definition, a Deployment with an account,
// and what that may do.
func crd(group, plural, kind string) string {
	return fmt.Sprintf(`
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.%[1]s}
spec: {group: %[1]s, scope: Namespaced, names: {kind: %[3]s, plural: %[2]s}}
`, group, plural, kind)
}

func program(name string, rules ...string) string {
	return fmt.Sprintf(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: %[1]s}
spec: {selector: {matchLabels: {a: %[1]s}}, template: {metadata: {labels: {a: %[1]s}}, spec: {serviceAccountName: %[1]s, containers: [{name: c, image: %[1]s}]}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: %[1]s}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
%[2]s
`, name, strings.Join(rules, "\n"))
}

func mayReconcile(group, plural string) string {
	return fmt.Sprintf("- {apiGroups: [%[1]s], resources: [%[2]s], verbs: [get, list, watch, update]}\n"+
		"- {apiGroups: [%[1]s], resources: [%[2]s/status], verbs: [update]}", group, plural)
}

// TestWatchers tells operators that need definitions of another Application from
// those that look whether another product is there.
func TestWatchers(t *testing.T) {
	services, policies := crd("mesh.example.com", "services", "Service"), crd("mesh.example.com", "policies", "Policy")
	mesh := program("mesh", mayReconcile("mesh.example.com", "services"), mayReconcile("mesh.example.com", "policies"))
	console := program("console", `- {apiGroups: [mesh.example.com], resources: ["*"], verbs: [get, list, watch, create, delete, patch]}`)
	queue := crd("queue.example.com", "queues", "Queue") +
		program("queue", mayReconcile("queue.example.com", "queues"), mayReconcile("mesh.example.com", "services"))
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"a queue looks for the kinds of a mesh": {map[string]string{"mesh": services + policies + mesh, "queue": queue}, nil},
		"its CRDs are in a third": {map[string]string{"crds": services + policies, "mesh": mesh, "queue": queue},
			[]string{"mesh healthy crds"}},
		"a console may change all of it": {map[string]string{"crds": services + policies, "mesh": mesh, "console": console},
			[]string{"mesh healthy crds"}},
		"nobody else reconciles the kind": {map[string]string{"crds": services, "queue": queue}, []string{"queue healthy crds"}},
		"the same operator twice": {map[string]string{"crds": services + policies, "mesh": mesh,
			"other": strings.ReplaceAll(strings.ReplaceAll(mesh, "name: mesh", "name: other"), "Name: mesh", "Name: other")},
			[]string{"mesh healthy crds", "other healthy crds"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for component, text := range tt.files {
				files[component+"/component.yaml"], files[component+"/a.yaml"] = "name: "+component+"\nnamespace: "+component+"\n", text
			}
			if got := links(t, files); !slices.Equal(got, tt.want) {
				t.Errorf("links %q, want %q", got, tt.want)
			}
		})
	}
}

// TestPodWebhooks: a webhook for Pods that fails closed concerns whatever runs Pods
// alike, and none of it is refused for good.
func TestPodWebhooks(t *testing.T) {
	gate := program("gate") + `
---
apiVersion: v1
kind: Service
metadata: {name: gate, namespace: gate}
spec: {selector: {a: gate}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: gate}
webhooks:
- name: gate.example.com
  failurePolicy: Fail
  clientConfig: {service: {name: gate, namespace: gate}}
  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [gate]}]}
  rules: [{apiGroups: [RULES], apiVersions: ["*"], operations: [CREATE], resources: [KINDS]}]
`
	const pods = "spec: {selector: {matchLabels: {a: web}}, template: {metadata: {labels: {a: web}}, " +
		"spec: {containers: [{name: c, image: web}]}}}\n"
	files := map[string]string{
		"gate/component.yaml": "name: gate\n", "gate/a.yaml": strings.NewReplacer("RULES", `""`, "KINDS", "pods").Replace(gate),
		"plain/component.yaml": "name: plain\n", "plain/a.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n" + pods,
		"rollout/component.yaml": "name: rollout\n",
		"rollout/a.yaml":         "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\n" + pods,
		"pod/component.yaml":     "name: pod\n",
		"pod/a.yaml":             "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: web}]}}\n",
	}
	if got := links(t, files); len(got) > 0 {
		t.Errorf("a webhook for Pods: links %q", got)
	}
	// The custom resource itself is refused at once.
	files["gate/a.yaml"] = strings.NewReplacer("RULES", "argoproj.io", "KINDS", "rollouts").Replace(gate)
	if got := links(t, files); !slices.Equal(got, []string{"rollout applied gate"}) {
		t.Errorf("a webhook for a custom resource: links %q", got)
	}
}
