package double_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/e2e/double"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// definition is one of a group of the test's own, that takes any content.
func definition(group, kind string) string {
	return definitionOf(group, kind, "Namespaced")
}

func definitionOf(group, kind, scope string) string {
	plural := strings.ToLower(kind) + "s"
	return fmt.Sprintf(
		`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s.%s}, spec: {group: %s, scope: %s,
	names: {kind: %s, plural: %s}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}},
	schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`, plural, group, group, scope, kind, plural)
}

// operator is a Deployment whose rights say that it serves a group.
func operator(name, group string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: %[1]s}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: $NS-%[1]s}, rules: [{apiGroups: [%[2]s], resources: ["*/status"], verbs: [update]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: $NS-%[1]s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: $NS-%[1]s},
	subjects: [{kind: ServiceAccount, namespace: $NS, name: %[1]s}]}
---
`, name, group) + deployment(name, "{serviceAccountName: "+name+", containers: [{name: main, image: none}]}")
}

func TestCustomResourceWaitsForItsController(t *testing.T) {
	ns := apply(t, definition("zoo.example.com", "Zebra")+"\n---\n{apiVersion: zoo.example.com/v1, kind: Zebra, metadata: {name: one}}")
	waits(t, "Zebra "+ns+"/one", "no workload in the cluster may write zebras/status of zoo.example.com")
	apply(t, deployment("bystander", plainPod))
	becomes(t, "apps/v1", "Deployment", ns, "bystander", "status.availableReplicas", "2")
	waits(t, "Zebra "+ns+"/one", "no workload in the cluster may write")

	apply(t, strings.Replace(operator("keeper", "zoo.example.com"), "[{name: main, image: none}]",
		"[{name: main, image: none, envFrom: [{secretRef: {name: food}}]}]", 1))
	waits(t, "Zebra "+ns+"/one", "its controller does not serve: Deployment "+ns+"/keeper is not ready")
	is(t, "zoo.example.com/v1", "Zebra", ns, "one", "conditions.Ready", "")
	apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: food}}")
	becomes(t, "zoo.example.com/v1", "Zebra", ns, "one", "conditions.Ready", "True")
}

func TestCustomResourceIsServedAsTheTestSays(t *testing.T) {
	ns := apply(t, definition("said.example.com", "Here")+"\n---\n"+definition("elsewhere.example.com", "There")+`
---
{apiVersion: said.example.com/v1, kind: Here, metadata: {name: one}}
---
{apiVersion: elsewhere.example.com/v1, kind: There, metadata: {name: one}}`)
	play(t, double.Scenario{
		Served:      []string{"elsewhere.example.com"},
		Controllers: []double.Controller{{Group: "said.example.com", By: double.Ref{Kind: "Deployment", Namespace: ns, Name: "server"}}},
	})
	becomes(t, "elsewhere.example.com/v1", "There", ns, "one", "conditions.Ready", "True")
	waits(t, "Here "+ns+"/one", "its controller does not serve: Deployment "+ns+"/server is missing")
	apply(t, deployment("server", plainPod))
	becomes(t, "said.example.com/v1", "Here", ns, "one", "conditions.Ready", "True")
}

func TestCustomResourceLosesWhatIsOutside(t *testing.T) {
	ns := apply(t, definition("tide.example.com", "Ferry")+"\n---\n{apiVersion: tide.example.com/v1, kind: Ferry, metadata: {name: one}}")
	is := func(ready string) *double.Status {
		return &double.Status{Conditions: map[string]string{"Ready": ready}}
	}
	play(t, double.Scenario{
		Records: []double.Record{{Group: "tide.example.com", Kinds: []string{"Ferry"}, Alone: true, Waits: is("False"), Ready: is("True")}}})
	becomes(t, "tide.example.com/v1", "Ferry", ns, "one", "conditions.Ready", "True")
	play(t, double.Scenario{Withhold: []double.Ref{{Kind: "Ferry", Namespace: ns, Name: "one"}}})
	waits(t, "Ferry "+ns+"/one", "what it needs from outside the cluster does not answer")
	becomes(t, "tide.example.com/v1", "Ferry", ns, "one", "conditions.Ready", "False")
}

func TestCertificateIsIssuedIntoASecretThatAWebhookServesWith(t *testing.T) {
	ns := apply(t, definition("cert-manager.io", "Certificate")+"\n---\n"+definition("cert-manager.io", "Issuer"))
	apply(t, `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: hook}, `+
		`spec: {secretName: hook-tls, dnsNames: [hook.$NS.svc], issuerRef: {name: own}}}`)
	apply(t, hookService+"\n---\n"+
		deployment("hook", "{containers: [{name: main, image: none}], volumes: [{name: v, secret: {secretName: hook-tls}}]}"))
	apply(t, strings.Replace(guard, "%ANNOTATIONS%", ", annotations: {cert-manager.io/inject-ca-from: $NS/hook}", 1))
	waits(t, "Certificate "+ns+"/hook", "no workload in the cluster may write")
	waits(t, "ValidatingWebhookConfiguration "+ns, "Certificate "+ns+"/hook is not ready")

	// cert-manager's own ConfigMaps would be refused, were there any.
	apply(t, operator("cert-manager", "cert-manager.io"))
	waits(t, "Certificate "+ns+"/hook", "Issuer "+ns+"/own is missing")
	becomes(t, "cert-manager.io/v1", "Certificate", ns, "hook", "conditions.Issuing", "True")
	waits(t, "Deployment "+ns+"/hook", "Secret "+ns+"/hook-tls is missing")
	apply(t, "{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: own}, spec: {selfSigned: {}}}")
	becomes(t, "cert-manager.io/v1", "Certificate", ns, "hook", "conditions.Ready", "True")
	is(t, "cert-manager.io/v1", "Certificate", ns, "hook", "conditions.Issuing", "")
	becomes(t, "apps/v1", "Deployment", ns, "hook", "status.availableReplicas", "2")
	admitted(t, ns)
}

func TestExternalSecretNeedsItsStoreAndTheStoreItsVault(t *testing.T) {
	ns := apply(t, definition("external-secrets.io", "SecretStore")+"\n---\n"+definition("external-secrets.io", "ExternalSecret"))
	play(t, double.Scenario{Served: []string{"external-secrets.io"}})
	apply(t, `{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: login}, `+
		`spec: {secretStoreRef: {name: vault}, target: {name: db-login}, data: [{secretKey: password, remoteRef: {key: db}}]}}`)
	waits(t, "ExternalSecret "+ns+"/login", "SecretStore "+ns+"/vault is missing")
	apply(t, `{apiVersion: external-secrets.io/v1, kind: SecretStore, metadata: {name: vault}, `+
		`spec: {provider: {vault: {server: "http://vault.$NS.svc:8200"}}}}`)
	waits(t, "SecretStore "+ns+"/vault", "Service "+ns+"/vault is missing")
	becomes(t, "external-secrets.io/v1", "SecretStore", ns, "vault", "conditions.Ready", "False")
	apply(t, "{apiVersion: v1, kind: Service, metadata: {name: vault}, spec: {selector: {app: vault}, ports: [{port: 8200}]}}\n---\n"+
		deployment("vault", plainPod))
	becomes(t, "external-secrets.io/v1", "ExternalSecret", ns, "login", "conditions.Ready", "True")
	if s := get(t, "v1", "Secret", ns, "db-login"); s == nil || s.Object["data"].(map[string]any)["password"] == nil {
		t.Errorf("no Secret with the key password: %v", s)
	}
}

func TestDatabaseKeycloakAndRealm(t *testing.T) {
	ns := apply(t, definition("postgresql.cnpg.io", "Cluster")+"\n---\n"+definition("k8s.keycloak.org", "Keycloak")+"\n---\n"+
		definition("k8s.keycloak.org", "KeycloakRealmImport"))
	play(t, double.Scenario{Served: []string{"postgresql.cnpg.io", "k8s.keycloak.org"}})
	apply(t, "{apiVersion: k8s.keycloak.org/v1, kind: KeycloakRealmImport, metadata: {name: shop}, spec: {keycloakCRName: sso}}")
	waits(t, "KeycloakRealmImport "+ns+"/shop", "Keycloak "+ns+"/sso is missing")
	apply(t, `{apiVersion: k8s.keycloak.org/v1, kind: Keycloak, metadata: {name: sso}, `+
		`spec: {db: {host: db-rw, usernameSecret: {name: db-app, key: username}, passwordSecret: {name: db-app, key: password}}}}`)
	waits(t, "Keycloak "+ns+"/sso", "Secret "+ns+"/db-app is missing")
	apply(t, `{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: db}, spec: {instances: 1}}`)
	becomes(t, "postgresql.cnpg.io/v1", "Cluster", ns, "db", "status.phase", "Cluster in healthy state")
	becomes(t, "k8s.keycloak.org/v1", "Keycloak", ns, "sso", "conditions.Ready", "True")
	becomes(t, "k8s.keycloak.org/v1", "KeycloakRealmImport", ns, "shop", "conditions.Done", "True")
	if get(t, "v1", "Secret", ns, "db-superuser") != nil {
		t.Error("a superuser that nobody asked for has a Secret")
	}
}

func TestRecordsOfATest(t *testing.T) {
	records, err := double.ParseRecords([]byte(`
- group: mill.example.com
  kinds: [Mill]
  needs:
  - {kind: ConfigMap, name: "{spec.grain[].name}", key: sort}
  begins: {fields: {phase: Starting}}
  ready: {conditions: {Grinding: "True"}, fields: {phase: "Grinds {spec.grain[].name}"}}
  finalizer: mill.example.com/stop
  makes:
  - {kind: Secret, name: "{name}-flour", keys: [white, brown]}
`))
	if err != nil {
		t.Fatal(err)
	}
	ns := apply(t, definition("mill.example.com", "Mill"))
	play(t, double.Scenario{Records: records,
		Controllers: []double.Controller{{Group: "mill.example.com", By: double.Ref{Kind: "Deployment", Namespace: ns, Name: "miller"}}}})
	apply(t, deployment("miller", plainPod)+
		"\n---\n{apiVersion: mill.example.com/v1, kind: Mill, metadata: {name: wind}, spec: {grain: [{name: rye}]}}")
	waits(t, "Mill "+ns+"/wind", "ConfigMap "+ns+"/rye is missing")
	apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: rye}, data: {sort: winter}}")
	becomes(t, "mill.example.com/v1", "Mill", ns, "wind", "conditions.Grinding", "True")
	is(t, "mill.example.com/v1", "Mill", ns, "wind", "status.phase", "Grinds rye")
	is(t, "v1", "Secret", ns, "wind-flour", "type", "Opaque")

	// Its finalizer stays until the controller takes it, and what it made goes with it.
	remove(t, "apps/v1", "Deployment", ns, "miller", "Background")
	remove(t, "mill.example.com/v1", "Mill", ns, "wind", "Background")
	waits(t, "Mill "+ns+"/wind", "its finalizer mill.example.com/stop stays")
	apply(t, deployment("miller", plainPod))
	goes(t, "mill.example.com/v1", "Mill", ns, "wind")
	goes(t, "v1", "Secret", ns, "wind-flour")
}

func TestRecordsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"- {group: a.example.com, kinds: [A], redy: {}}": "redy",
		"- {group: a.example.com}":                       "no kinds",
	} {
		if _, err := double.ParseRecords([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

func TestDeletion(t *testing.T) {
	ns := apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}`)
	uid := string(get(t, "v1", "ConfigMap", ns, "owner").GetUID())
	owned := func(name, uid string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name +
			", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: " + uid + ", blockOwnerDeletion: true}]}}"
	}
	apply(t, owned("dependent", uid))
	apply(t, owned("lost", "00000000-0000-0000-0000-000000000000"))
	goes(t, "v1", "ConfigMap", ns, "lost")
	if get(t, "v1", "ConfigMap", ns, "dependent") == nil {
		t.Fatal("what has its owner is gone")
	}
	remove(t, "v1", "ConfigMap", ns, "owner", "Foreground")
	goes(t, "v1", "ConfigMap", ns, "owner")
	if get(t, "v1", "ConfigMap", ns, "dependent") != nil {
		t.Error("the dependent outlived its owner")
	}

	apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}")
	apply(t, owned("free", string(get(t, "v1", "ConfigMap", ns, "owner").GetUID())))
	remove(t, "v1", "ConfigMap", ns, "owner", "Orphan")
	goes(t, "v1", "ConfigMap", ns, "owner")
	is(t, "v1", "ConfigMap", ns, "free", "metadata.ownerReferences", "")

	remove(t, "v1", "Namespace", "", ns, "Background")
	goes(t, "v1", "Namespace", "", ns)
}

func TestNamespaceGoesAfterWhatHoldsIt(t *testing.T) {
	ns := apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/by-hand]}}")
	remove(t, "v1", "Namespace", "", ns, "Background")
	waits(t, "Namespace "+ns, "ConfigMap "+ns+"/held is in it")
	merge(t, "v1", "ConfigMap", ns, "held", `{"metadata":{"finalizers":null}}`)
	goes(t, "v1", "Namespace", "", ns)
}

func TestClusterIsCleanedBesideADouble(t *testing.T) {
	ns := apply(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 8
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: main, image: none, volumeMounts: [{name: data, mountPath: /data}]}]}}
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`)
	// At once, so that the double still makes claims while they are deleted.
	err := shared.Clean(t.Context(), func(o *unstructured.Unstructured) bool { return o.GetName() == ns })
	if err != nil {
		t.Fatal(err)
	}
	goes(t, "v1", "PersistentVolumeClaim", ns, "data-db-7")
	goes(t, "v1", "Namespace", "", ns)
}
