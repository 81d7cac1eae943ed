package wave_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/object"
)

// FuzzAssign holds on any manifests what checkProperties does on the stories:
// if there is an order, it loses nothing, depends on the set of objects only,
// is a fixpoint, and has no fault that Check would see.
func FuzzAssign(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for i, file := range files {
		if i%4 > 0 && !golden.WholeCorpus() && flag.Lookup("test.fuzz").Value.String() == "" {
			continue // TestStories tries all, with the options of each
		}
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(txtar.Parse(data).Files[0].Data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		objs, err := object.Parse("fuzz.yaml", 1, text)
		if err != nil || len(objs) == 0 {
			return
		}
		if plan, err := assign(objs); err != nil || !annotates(plan.Annotate()) {
			return // no order, or a layout that no tool writes
		}
		checkProperties(t, objs)
		checkProperties(t, objs, "waves=compact")
	})
}

func annotates(_ []object.Object, err error) bool { return err == nil }

// menu are objects of many kinds that refer to each other by the few names that
// FuzzReferences gives them.
var menu = []string{
	"{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s%[4]s}, data: {URL: 'http://%[2]s.ns.svc:80'}}",
	"{apiVersion: v1, kind: Secret, metadata: {name: %[1]s%[4]s}}",
	"{apiVersion: v1, kind: ServiceAccount, metadata: {name: %[1]s%[4]s}}",
	"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %[1]s%[4]s}}",
	"{apiVersion: v1, kind: Service, metadata: {name: %[1]s%[4]s}, spec: {selector: {app: %[2]s}}}",
	"{apiVersion: v1, kind: Service, metadata: {name: %[1]s%[4]s}, spec: {type: LoadBalancer, selector: {app: %[2]s}}}",
	"{apiVersion: v1, kind: Namespace, metadata: {name: ns%[4]s}}",
	"{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s%[4]s}, spec: {template: {metadata: {labels: {app: %[1]s}}, " +
		"spec: {serviceAccountName: %[2]s, priorityClassName: %[3]s, containers: [{name: c, image: %[3]s, " +
		"env: [{name: DB_HOST, value: %[3]s}], envFrom: [{secretRef: {name: %[2]s}}]}]}}}}",
	"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: %[1]s%[4]s}, spec: {template: {metadata: {labels: {app: %[1]s}}, " +
		"spec: {containers: [{name: c, image: %[3]s, args: ['--peer=%[2]s:80']}], volumes: [{name: v, " +
		"persistentVolumeClaim: {claimName: %[2]s}}]}}}}",
	"{apiVersion: batch/v1, kind: Job, metadata: {name: %[1]s%[4]s}, spec: {template: {spec: {serviceAccountName: %[3]s, " +
		"containers: [{name: c, image: %[3]s, args: [migrate, 'http://%[2]s:80'], envFrom: [{configMapRef: {name: %[3]s}}]}]}}}}",
	"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: %[1]s%[4]s}}",
	"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %[1]s%[4]s}, rules: [{apiGroups: [zoo.example.com], " +
		"resources: [zebras, zebras/status], verbs: ['*']}, {apiGroups: [''], resources: [secrets], verbs: [create]}]}",
	"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %[1]s%[4]s}, " +
		"roleRef: {kind: ClusterRole, name: %[2]s}, subjects: [{kind: ServiceAccount, name: %[3]s, namespace: ns}]}",
	"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: zebras.zoo.example.com%[4]s}, " +
		"spec: {group: zoo.example.com, names: {kind: Zebra, plural: zebras}, " +
		"conversion: {webhook: {clientConfig: {service: {name: %[2]s, namespace: ns}}}}}}",
	"{apiVersion: zoo.example.com/v1, kind: Zebra, metadata: {name: %[1]s%[4]s}, " +
		"spec: {secretRef: {name: %[2]s}, owner: {kind: Zebra, name: %[3]s}}}",
	"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, " +
		"metadata: {name: %[1]s%[4]s}, webhooks: [{name: w, failurePolicy: Fail, clientConfig: {service: {name: %[2]s, namespace: ns}}, " +
		"rules: [{apiGroups: ['*'], operations: ['*'], resources: ['*']}]}]}",
	"{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: %[1]s%[4]s}, spec: {ca: {secretName: %[2]s}}}",
	"{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: %[1]s%[4]s}, spec: {secretName: %[2]s, issuerRef: {name: %[3]s}}}",
	"{apiVersion: external-secrets.io/v1, kind: SecretStore, metadata: {name: %[1]s%[4]s}, " +
		"spec: {provider: {vault: {server: 'http://%[2]s:8200', auth: {tokenSecretRef: {name: %[3]s}}}}}}",
	"{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: %[1]s%[4]s}, " +
		"spec: {secretStoreRef: {name: %[2]s}, target: {name: %[3]s}}}",
	"{apiVersion: secrets.hashicorp.com/v1beta1, kind: VaultStaticSecret, metadata: {name: %[1]s%[4]s}, " +
		"spec: {vaultAuthRef: %[2]s, destination: {name: %[3]s, create: true}}}",
	"{apiVersion: secrets.hashicorp.com/v1beta1, kind: VaultAuth, metadata: {name: %[1]s%[4]s}, spec: {method: kubernetes}}",
	"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: %[1]s%[4]s}, " +
		"spec: {tls: [{secretName: %[3]s}], rules: [{http: {paths: [{backend: {service: {name: %[2]s}}}]}}]}}",
	"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: %[1]s%[4]s}, " +
		"spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[2]s}}}",
}

// marks are annotations that an object may bear.
var marks = []string{"", "", "", "", "", ", annotations: {argocd.argoproj.io/sync-wave: '-1'}",
	", annotations: {argocd.argoproj.io/sync-wave: '2'}",
	", annotations: {argocd.argoproj.io/hook: PreSync}", ", annotations: {argocd.argoproj.io/hook: Sync}",
	", annotations: {helm.sh/hook: test}",
	", annotations: {ladder-cmp.github.io/rung: bootstraps}", ", annotations: {ladder-cmp.github.io/after: Secret/a}",
	", annotations: {ladder-cmp.github.io/after: Deployment/b}",
	", annotations: {ladder-cmp.github.io/after: StatefulSet/c}"}

// FuzzReferences holds the same properties on components that are full of
// references, circles among them: four bytes choose an object, its name, whom
// it names, and how it is marked.
func FuzzReferences(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x00\x07\x00\x01\x00\x0d\x00\x00\x00\x0e\x12\x03\x00\x0f\x11\x00\x00"))
	all := make([]byte, 0, 4*len(menu))
	for i := range menu {
		all = append(all, byte(i), byte(i*37), byte(i*11), byte(i))
	}
	f.Add(all)
	random := rand.New(rand.NewPCG(3, 4))
	for range ofWhole(150) {
		some := make([]byte, 4*(2+random.IntN(22)))
		for i := range some {
			some[i] = byte(random.Uint32())
		}
		f.Add(some)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		if len(choices) > 4*24 {
			return
		}
		name := func(b byte) string { return string('a' + rune(b%5)) }
		var text strings.Builder
		secret := fmt.Sprintf(menu[1], "a", "", "", "")
		text.WriteString(secret + "\n")
		identity, _, _ := strings.Cut(secret, "}")
		seen := map[string]bool{"---\n" + identity: true}
		for ; len(choices) >= 4; choices = choices[4:] {
			form, who, whom, mark := menu[int(choices[0])%len(menu)], choices[1], choices[2], choices[3]
			manifest := fmt.Sprintf("---\n"+form+"\n", name(who), name(who/5), name(whom), marks[int(mark)%len(marks)])
			identity, _, _ := strings.Cut(manifest, "}")
			identity, _, _ = strings.Cut(identity, ", annotations")
			if !seen[identity] {
				seen[identity] = true
				text.WriteString(manifest)
			}
		}
		objs, err := object.Parse("fuzz.yaml", 1, text.String())
		if err != nil {
			t.Fatal(err)
		}
		for _, options := range [][]string{nil, {"waves=compact"}, {"author=keep", "jobs=hook"}, {"author=override", "tests=smoke"}} {
			if _, err := assign(objs, options...); err == nil { // else a circle of what the API server demands
				checkProperties(t, objs, options...)
			}
		}
	})
}
