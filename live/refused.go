package live

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/object"
)

// refusal is a message with which the API server or Argo CD refuses an object. In text, fix and
// the parts of because, $1 is a group of the pattern.
type refusal struct {
	pattern   *regexp.Regexp
	rule      string
	text, fix string
	// kind and name are those of the object behind it; in its own namespace if namespace is empty.
	kind            object.ID
	name, namespace string
}

// refusals are tried in this order. Sources: kubernetes/apiserver (pkg/util/webhook/error.go,
// pkg/admission/plugin), kubernetes/pod-security-admission (admission), kubernetes/kubernetes
// (plugin/pkg/admission), argo-cd (util/argo/argo.go, controller/sync.go).
var refusals = []refusal{
	{regexp.MustCompile(`failed calling webhook "([^"]+)".*no endpoints available for service "([^"]+)"`), "webhook",
		"is refused: webhook $1 does not answer, because Service $2 has no ready Pod", "start the Pods of Service $2; they must be ready in an earlier wave", object.ID{Kind: "Service"}, "$2", "webhook"},
	{regexp.MustCompile(`failed calling webhook "([^"]+)".*service "([^"]+)" not found`), "webhook",
		"is refused: webhook $1 does not answer, because Service $2 does not exist", "create Service $2, or delete the webhook configuration if its program is gone", object.ID{Kind: "Service"}, "$2", "webhook"},
	{regexp.MustCompile(`failed calling webhook "([^"]+)".*x509: (.*)`), "webhook-ca",
		"is refused: the API server does not trust the certificate of webhook $1", "set caBundle of the webhook configuration to the CA of its certificate, or let its injector do so", object.ID{}, "", ""},
	{regexp.MustCompile(`failed calling webhook "([^"]+)"(?:.*https://([^./:"]+)\.([^./:"]+)\.svc)?.*(connection refused|context deadline exceeded|i/o timeout|no route to host|EOF)`), "webhook",
		"is refused: webhook $1 does not answer ($4)", "repair the Pods behind the webhook, or the network between them and the API server", object.ID{Kind: "Service"}, "$2", "$3"},
	{regexp.MustCompile(`failed calling webhook "([^"]+)".*the server could not find the requested resource`), "webhook",
		"is refused: webhook $1 answers 404: its program does not know the path", "correct clientConfig.service.path of the webhook configuration", object.ID{}, "", ""},
	{regexp.MustCompile(`failed calling webhook "([^"]+)"`), "webhook", "is refused: webhook $1 does not answer", "repair the program behind the webhook", object.ID{}, "", ""},
	{regexp.MustCompile(`conversion webhook for ([^,]+), Kind=(\w+) failed`), "conversion-webhook", "is refused: the conversion webhook of $1 $2 does not answer",
		"start the program behind the conversion webhook", object.ID{}, "", ""},
	{regexp.MustCompile(`admission webhook "([^"]+)" denied the request: ?(.*)`), "webhook-denies", "is refused by webhook $1: $2", "change the object so that the webhook accepts it", object.ID{}, "", ""},
	{regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)' with binding '([^']+)' denied request: (.*)`), "policy-denies", "is refused by ValidatingAdmissionPolicy $1: $3",
		"change the manifest so that the policy accepts it, or its binding $2", object.ID{}, "", ""},
	{regexp.MustCompile(`exceeded quota: ([^,]+), requested: (.*), used: (.*), limited: (.*?)(?:,? reason:|$)`), "quota",
		"exceeds ResourceQuota $1: requested $2, used $3, limited $4", "raise the ResourceQuota, or lower the requests", object.ID{Kind: "ResourceQuota"}, "$1", ""},
	{regexp.MustCompile(`failed quota: ([^:]+): must specify (.*)`), "quota", "must specify $2, because ResourceQuota $1 limits them", "set them in the resources of every container, or create a LimitRange with defaults", object.ID{}, "", ""},
	{regexp.MustCompile(`violates PodSecurity "([^"]+)": (.*)`), "pod-security", "violates Pod security $1: $2", "change the securityContext, or the label pod-security.kubernetes.io/enforce of the namespace", object.ID{}, "", ""},
	{regexp.MustCompile(`unable to validate against any security context constraint: ?(.*)`), "pod-security", "is allowed by no SecurityContextConstraints", "grant its ServiceAccount one, or change the securityContext", object.ID{}, "", ""},
	{regexp.MustCompile(`error looking up service account ([^/]+)/([^:]+): serviceaccount "[^"]+" not found`), "missing-object", "waits for ServiceAccount $1/$2, which does not exist",
		"create the ServiceAccount, or correct serviceAccountName", object.ID{Kind: "ServiceAccount"}, "$2", "$1"},
	{regexp.MustCompile(`no PriorityClass with name (\S+) was found`), "missing-object", "waits for PriorityClass $1, which does not exist", "create the PriorityClass, or correct priorityClassName",
		object.ID{Group: "scheduling.k8s.io", Kind: "PriorityClass"}, "$1", ""},
	{regexp.MustCompile(`RuntimeClass "([^"]+)" not found`), "missing-object", "waits for RuntimeClass $1, which does not exist", "create the RuntimeClass, or correct runtimeClassName", object.ID{}, "", ""},
	{regexp.MustCompile(`(?:maximum|minimum) (\S+) usage per (\w+) is ([^.,]+)`), "limit-range", "violates a LimitRange: $1 per $2 is limited to $3", "change the resources of the container, or the LimitRange", object.ID{}, "", ""},
	{regexp.MustCompile(`unable to create new content in namespace (\S+) because it is being terminated`), "namespace-terminating", "is refused, because Namespace $1 is being deleted",
		"wait for the end of the deletion, or see what holds it up", object.ID{Kind: "Namespace"}, "$1", ""},
	{regexp.MustCompile(`namespaces? "([^"]+)" not found`), "missing-object", "waits for Namespace $1, which does not exist", "create it in an earlier wave, or set the sync option CreateNamespace=true", object.ID{Kind: "Namespace"}, "$1", ""},
	{regexp.MustCompile(`could not find version "([^"]+)" of (\S+)/(\S+) for requested resource`), "unknown-kind", "has a version that its CRD does not serve: $1 of $3.$2", "correct apiVersion, or update the CRD", object.ID{}, "", ""},
	{regexp.MustCompile(`could not find (\S+)/(\S+) for requested resource`), "unknown-kind", "has a kind that the cluster does not know: $2.$1", "install the CRD in an earlier wave, or with another Application", object.ID{}, "", ""},
	{regexp.MustCompile(`no matches for kind "([^"]+)" in version "([^"]+)"`), "unknown-kind", "has a kind that the cluster does not know: $1 in $2", "install the CRD in an earlier wave, or with another Application", object.ID{}, "", ""},
	{regexp.MustCompile(`the server could not find the requested resource`), "unknown-kind", "has a kind that the cluster does not know", "install the CRD in an earlier wave, or with another Application", object.ID{}, "", ""},
	{regexp.MustCompile(`resource (\S+) is not permitted in project (\S+?)[.:]?(?:\s|$)`), "project", "is not permitted: AppProject $2 does not allow $1", "add the kind to the AppProject", object.ID{}, "", ""},
	{regexp.MustCompile(`namespace (\S+) is not permitted in project '?([^'. ]+)`), "project", "is not permitted: AppProject $2 does not allow namespace $1", "add the destination to the AppProject", object.ID{}, "", ""},
	{regexp.MustCompile(`is forbidden: User "([^"]+)" cannot (\w+) resource "([^"]+)"`), "permission", "is refused: $1 may not $2 $3", "grant Argo CD, or the ServiceAccount that it impersonates, the permission", object.ID{}, "", ""},
	{regexp.MustCompile(`is forbidden: user "([^"]+)" .*is attempting to grant RBAC permissions not currently held`), "permission", "is refused: $1 may not grant permissions that it does not have",
		"grant Argo CD these permissions, or the verb escalate", object.ID{}, "", ""},
	{regexp.MustCompile(`metadata\.annotations: Too long`), "too-large", "is too large for the annotation of a client-side apply", "set the sync option ServerSideApply=true", object.ID{}, "", ""},
	{regexp.MustCompile(`updates to statefulset spec for fields other than`), "immutable", "changes a field that is immutable", "revert the change, or delete it with kubectl delete --cascade=orphan, which leaves its Pods, and sync again", object.ID{}, "", ""},
	{regexp.MustCompile(`[Ff]ield is immutable|is immutable`), "immutable", "changes a field that is immutable", "delete the object, or set the sync option Replace=true,Force=true on it", object.ID{}, "", ""},
	{regexp.MustCompile(`Apply failed with \d+ conflicts?: conflicts? with "([^"]+)"`), "conflict", "changes fields that $1 manages", "remove the fields from the manifest, or set ignoreDifferences with RespectIgnoreDifferences=true", object.ID{}, "", ""},
	{regexp.MustCompile(`(?:Invalid value: (\d+): )?provided port is already allocated`), "port", "asks for node port $1, which another Service has", "choose another nodePort, or none", object.ID{}, "", ""},
	{regexp.MustCompile(`(?:unknown field|strict decoding error|ValidationError|is invalid:)`), "invalid", "is invalid", "change the manifest as the message says; kubectl apply --dry-run=server tries it", object.ID{}, "", ""},
}

// refused says why an object was refused.
func (s *scene) refused(message string, about object.ID) Cause {
	message = oneLine(message)
	cause := Cause{Rule: "refused", Text: "is refused: " + message, Evidence: Refusal, Fix: "change the manifest as the message says; kubectl apply --dry-run=server tries it", Command: kubectl("describe", about)}
	if strings.Contains(message, "Error creating: pods") {
		cause.Text, cause.Fix = "gets no Pod: "+message, "correct the Pod template"
	}
	for _, r := range refusals {
		m := r.pattern.FindStringSubmatchIndex(message)
		if m == nil {
			continue
		}
		expand := func(template string) string {
			return string(r.pattern.ExpandString(nil, template, message, m))
		}
		cause.Rule, cause.Text, cause.Fix = r.rule, expand(braced(r.text)), expand(braced(r.fix))
		if r.kind.Kind != "" {
			id := r.kind
			if id.Name = expand(braced(r.name)); id.Name == "" {
				break // a webhook with a URL
			}
			switch {
			case r.namespace == "webhook":
				id.Namespace = serviceNamespace(message, id.Name)
				cause.Text, cause.Fix = strings.ReplaceAll(cause.Text, "Service "+id.Name, id.String()), strings.ReplaceAll(cause.Fix, "Service "+id.Name, id.String())
			case r.namespace != "":
				id.Namespace = expand(braced(r.namespace))
			case id.Group == "" && id.Kind != "Namespace":
				id.Namespace = about.Namespace
			}
			cause.Because, cause.Command = id, kubectl("describe", id)
			if r.rule == "missing-object" {
				cause.Command = kubectl("get", id)
			}
		}
		if by := s.holder(expand("${1}"), about); r.rule == "port" && !by.IsZero() {
			cause.Fix, cause.Command = cause.Fix+": "+by.String()+" has it", kubectl("get", by)
		}
		break
	}
	return cause
}

var groupNumber = regexp.MustCompile(`\$(\d)`)

// braced writes $1 as ${1}, so that a letter may follow.
func braced(template string) string { return groupNumber.ReplaceAllString(template, "$${${1}}") }

var webhookURL = regexp.MustCompile(`https://([^./:"]+)\.([^./:"]+)\.svc`)

// serviceNamespace returns the namespace of the Service of a webhook.
func serviceNamespace(message, service string) string {
	for _, m := range webhookURL.FindAllStringSubmatch(message, -1) {
		if m[1] == service {
			return m[2]
		}
	}
	return ""
}

// holder returns the other Service that has a node port.
func (s *scene) holder(port string, about object.ID) object.ID {
	for _, id := range s.sorted {
		if id.Kind == "Service" && id != about && slices.ContainsFunc(s.objects[id].Get("spec", "ports").Items(), func(v object.Value) bool { return v.Get("nodePort").Text() == port }) {
			return id
		}
	}
	return object.ID{}
}
