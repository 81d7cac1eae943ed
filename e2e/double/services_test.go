package double_test

import (
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/e2e/double"
)

const hookService = "{apiVersion: v1, kind: Service, metadata: {name: hook}, " +
	"spec: {selector: {app: hook}, ports: [{name: https, port: 443, targetPort: 8443}]}}"

// guard refuses ConfigMaps of a namespace while its server does not answer.
const guard = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: $NS%ANNOTATIONS%}, webhooks: [{
	name: guard.example.com, failurePolicy: Fail, sideEffects: None, admissionReviewVersions: [v1], timeoutSeconds: 5,
	clientConfig: {service: {namespace: $NS, name: hook, path: /validate}}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $NS}},
	rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}]}`

// refused tries to create ConfigMaps until one is refused, and returns why.
func refused(t *testing.T, namespace string) (why string) {
	t.Helper()
	eventually(t, func() string {
		err := tryCreate(t, namespace, "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: any-}}")
		if err == nil {
			return "a ConfigMap should be refused"
		}
		why = err.Error()
		return ""
	})
	return why
}

func admitted(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, func() string {
		if err := tryCreate(t, namespace, "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: any-}}"); err != nil {
			return err.Error()
		}
		return ""
	})
}

func TestWebhookRefusesUntilItsServerIsReady(t *testing.T) {
	ns := apply(t, strings.Replace(guard, "%ANNOTATIONS%", "", 1))
	if why := refused(t, ns); !strings.Contains(why, "guard.example.com") {
		t.Errorf("refused because %s", why)
	}
	apply(t, hookService)
	eventually(t, func() string {
		if why := refused(t, ns); !strings.Contains(why, "no workload has the labels of its selector") {
			return "refused for another reason: " + why
		}
		return ""
	})
	apply(t, deployment("hook", "{containers: [{name: main, image: none}], volumes: [{name: v, secret: {secretName: tls}}]}"))
	waits(t, "Deployment "+ns+"/hook", "Secret "+ns+"/tls is missing")
	if why := refused(t, ns); !strings.Contains(why, "Deployment "+ns+"/hook is not ready") {
		t.Errorf("refused because %s", why)
	}
	apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: tls}}")
	becomes(t, "apps/v1", "Deployment", ns, "hook", "status.availableReplicas", "2")
	admitted(t, ns)

	// A connection that the API server kept leads to what has gone no longer.
	remove(t, "apps/v1", "Deployment", ns, "hook", "Background")
	if why := refused(t, ns); !strings.Contains(why, "connection refused") {
		t.Errorf("refused because %s", why)
	}
}

func TestWebhookTrustsTheCAOfItsManifest(t *testing.T) {
	// The certificate of the manifest and the Secret with its key belong together:
	// the double leaves both as they are and serves with them.
	certificate, key := selfSigned(t, "hook.testwebhooktruststhecaofitsmanifest.svc")
	ns := apply(t, hookService+"\n---\n"+
		deployment("hook", "{containers: [{name: main, image: none}], volumes: [{name: v, secret: {secretName: tls}}]}")+
		"\n---\n{apiVersion: v1, kind: Secret, metadata: {name: tls}, data: {tls.crt: "+certificate+", tls.key: "+key+"}}")
	becomes(t, "apps/v1", "Deployment", ns, "hook", "status.availableReplicas", "2")
	hook := strings.Replace(strings.Replace(guard, "%ANNOTATIONS%", "", 1), "path: /validate}", "path: /validate}, caBundle: "+certificate, 1)
	apply(t, hook)
	admitted(t, ns)
	o := get(t, "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", ns)
	webhook := o.Object["webhooks"].([]any)[0].(map[string]any)
	if webhook["clientConfig"].(map[string]any)["caBundle"] != certificate {
		t.Error("the CA of the manifest was replaced")
	}
}

func TestConversionNeedsItsServer(t *testing.T) {
	ns := apply(t, hookService+`
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: olds.conversion.example.com}
spec:
  group: conversion.example.com
  scope: Namespaced
  names: {kind: Old, plural: olds}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: $NS, name: hook}}}}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`)
	old := "{apiVersion: conversion.example.com/v2, kind: Old, metadata: {name: one}}"
	eventually(t, func() string {
		if err := tryCreate(t, ns, old); err == nil || !strings.Contains(err.Error(), "conversion webhook") {
			return "the creation should fail in the conversion: " + errText(err)
		}
		return ""
	})
	apply(t, deployment("hook", plainPod))
	eventually(t, func() string { return errText(tryCreate(t, ns, old)) })
	if o := get(t, "conversion.example.com/v1", "Old", ns, "one"); o == nil {
		t.Error("it cannot be read in its stored version")
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAggregatedAPIIsAvailableWhileItsServerIsReady(t *testing.T) {
	for name, spec := range map[string]string{"skip": "insecureSkipTLSVerify: true", "ca": "groupPriorityMinimum: 100"} {
		t.Run(name, func(t *testing.T) {
			group := name + ".metrics.example.com"
			ns := apply(t, hookService+`
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.`+group+`}, spec: {group: `+group+`, version: v1,
	`+strings.Replace(spec, "groupPriorityMinimum: 100", "caBundle: ''", 1)+
				`, groupPriorityMinimum: 100, versionPriority: 100, service: {namespace: $NS, name: hook}}}`)
			waits(t, "APIService v1."+group, "no workload has the labels of its selector")
			becomes(t, "apiregistration.k8s.io/v1", "APIService", "", "v1."+group, "conditions.Available", "False")
			apply(t, deployment("hook", plainPod))
			becomes(t, "apiregistration.k8s.io/v1", "APIService", "", "v1."+group, "conditions.Available", "True")
			remove(t, "apps/v1", "Deployment", ns, "hook", "Background")
			becomes(t, "apiregistration.k8s.io/v1", "APIService", "", "v1."+group, "conditions.Available", "False")
		})
	}
}

func TestAddressesAreGivenOrWithheld(t *testing.T) {
	ns := apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: any}}")
	play(t, double.Scenario{Withhold: []double.Ref{{Kind: "Service", Namespace: ns, Name: "without"},
		{Kind: "Ingress", Namespace: ns, Name: "without"}}})
	for _, name := range []string{"with", "without"} {
		apply(t, "{apiVersion: v1, kind: Service, metadata: {name: "+name+"}, spec: {type: LoadBalancer, ports: [{port: 80}]}}")
		apply(t, "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: "+name+
			"}, spec: {defaultBackend: {service: {name: with, port: {number: 80}}}}}")
	}
	for version, kind := range map[string]string{"v1": "Service", "networking.k8s.io/v1": "Ingress"} {
		eventually(t, func() string {
			if field(get(t, version, kind, ns, "with"), "status.loadBalancer.ingress") == "" {
				return kind + " with has no address"
			}
			return ""
		})
		waits(t, kind+" "+ns+"/without", "it is given no address")
		is(t, version, kind, ns, "without", "status.loadBalancer.ingress", "")
	}
}

func TestAutoscalerIsInTroubleWithoutItsTarget(t *testing.T) {
	ns := apply(t, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}`)
	becomes(t, "autoscaling/v2", "HorizontalPodAutoscaler", ns, "web", "conditions.AbleToScale", "False")
	becomes(t, "policy/v1", "PodDisruptionBudget", ns, "web", "conditions.DisruptionAllowed", "False")
	apply(t, deployment("web", plainPod))
	becomes(t, "autoscaling/v2", "HorizontalPodAutoscaler", ns, "web", "conditions.ScalingActive", "True")
	is(t, "autoscaling/v2", "HorizontalPodAutoscaler", ns, "web", "conditions.AbleToScale", "True")
	becomes(t, "policy/v1", "PodDisruptionBudget", ns, "web", "conditions.DisruptionAllowed", "True")
}
