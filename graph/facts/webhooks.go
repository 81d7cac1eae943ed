package facts

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Webhook is an admission webhook, parsed once.
type Webhook struct {
	object.Value
	// Config is the configuration that contains it, and Name its name there.
	Config int
	Name   string
	// FailsOpen means that the API server accepts objects if the webhook does not respond.
	FailsOpen bool
	// Servers are the workloads behind it.
	Servers []int

	rules []Rule
	// Mutates means that the webhook may change objects.
	Mutates bool
	// pods means that the webhook is called when Pods are created.
	pods bool
}

// Webhooks returns the admission webhooks of all configurations.
func (f *Facts) Webhooks() []Webhook {
	return f.webhooks.get(func() (all []Webhook) {
		for w := range f.Nodes {
			config := &f.Nodes[w]
			for _, hooks := range config.Kind.Admits.Find(config.Root()) {
				for _, v := range hooks.Value.Items() {
					h := readWebhook(v)
					h.Config, h.Servers, h.Mutates = w, f.serversOf(w, v), config.Kind.Mutates
					all = append(all, h)
				}
			}
		}
		return all
	})
}

// WebhooksOf returns the webhooks of a configuration.
func (f *Facts) WebhooksOf(config int) []Webhook {
	all := f.Webhooks()
	from := slices.IndexFunc(all, func(h Webhook) bool { return h.Config == config })
	if from < 0 {
		return nil
	}
	to := from
	for to < len(all) && all[to].Config == config {
		to++
	}
	return all[from:to]
}

func readWebhook(v object.Value) Webhook {
	policy := v.Get("failurePolicy").Text()
	h := Webhook{Value: v, Name: v.Get("name").Text(), FailsOpen: policy != "" && policy != "Fail"}
	for _, r := range v.Get("rules").Items() {
		rule := Rule{Groups: Texts(r.Get("apiGroups")), Resources: Texts(r.Get("resources")), Verbs: Texts(r.Get("operations"))}
		h.pods = h.pods || HasAny(rule.Verbs, "*", "CREATE") && HasAny(rule.Groups, "*", "") && HasAny(rule.Resources, "*", "*/*", "pods")
		if HasAny(rule.Verbs, "*", "CREATE", "UPDATE") {
			h.rules = append(h.rules, rule)
		}
	}
	return h
}

// IsForPods reports whether the webhook is called when Pods are created.
func (h *Webhook) IsForPods() bool { return h.pods }

// Covers reports whether the webhook is called when objects of a kind are written.
// The API server calls none for webhook configurations and admission policies:
// k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules,
// IsExemptAdmissionConfigurationResource.
func (h *Webhook) Covers(kind KindRange) bool {
	return kind.Group != Admission && slices.ContainsFunc(h.rules, func(r Rule) bool {
		return HasAny(r.Groups, "*", kind.Group) && HasAny(r.Resources, "*", "*/*", kind.Plural)
	})
}

// IsAsked reports whether the selectors of the webhook demand a label: what has it asks for the
// webhook. Every namespace has the label with its name.
func (h *Webhook) IsAsked() bool {
	return slices.ContainsFunc([]string{"objectSelector", "namespaceSelector"}, func(key string) bool {
		selector := h.Get(key)
		return slices.ContainsFunc(selector.Get("matchLabels").Fields(), func(l object.Field) bool { return l.Key != namespaceNameLabel }) ||
			slices.ContainsFunc(selector.Get("matchExpressions").Items(), func(e object.Value) bool {
				return e.Get("key").Text() != namespaceNameLabel && slices.Contains([]string{"In", "Exists"}, e.Get("operator").Text())
			})
	})
}

// MarksOfPods returns the labels and annotations of a workload's Pods and, where they do not say
// otherwise, those of their namespace.
func (f *Facts) MarksOfPods(workload int) map[string]string {
	n := &f.Nodes[workload]
	marks := map[string]string{}
	add := func(metadata object.Value) {
		for _, list := range []string{"labels", "annotations"} {
			for _, m := range metadata.Get(list).Fields() {
				marks[m.Key] = m.Value.Text()
			}
		}
	}
	for _, ns := range f.byKey[object.ID{Kind: "Namespace", Name: n.Key.Namespace}] {
		add(f.Nodes[ns].Get("metadata"))
	}
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		add(tmpl.Value.Get("metadata"))
	}
	return marks
}

// AdmitsPods reports whether the API server calls a webhook when the Pods of a
// workload are created.
func (f *Facts) AdmitsPods(h *Webhook, workload int) bool {
	if !h.pods {
		return false
	}
	n := &f.Nodes[workload]
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		if selectorAllows(h.Get("objectSelector"), tmpl.Value.Get("metadata", "labels")) {
			return f.namespaceAllows(h.Value, *n, false)
		}
	}
	return false
}

// Selects reports whether the selectors of a webhook match an object.
func (f *Facts) Selects(h *Webhook, i int) bool {
	n := &f.Nodes[i]
	return selectorAllows(h.Get("objectSelector"), n.Get("metadata", "labels")) && f.namespaceAllows(h.Value, *n, true)
}

// MayPass says when the API server creates an object without calling a webhook that matches it
// as far as the manifests show; empty if it certainly calls the webhook.
func (f *Facts) MayPass(h *Webhook, i int) string {
	switch namespace := f.Nodes[i].Key.Namespace; {
	case !slices.ContainsFunc(h.rules, func(r Rule) bool { return HasAny(r.Verbs, "*", "CREATE") }):
		return "it does not exist yet"
	case h.Get("matchConditions").Exists():
		return "a matchCondition of the webhook excludes it"
	case namespace != "" && !f.showsLabels(namespace, h.Get("namespaceSelector")):
		return "the labels of its namespace exclude it"
	}
	return ""
}

// AdmitsCreation reports whether the API server certainly calls a webhook when it creates an
// object.
func (f *Facts) AdmitsCreation(h *Webhook, n *Node) bool {
	return !h.Get("matchConditions").Exists() && selectorAllows(h.Get("objectSelector"), n.Get("metadata", "labels")) &&
		f.showsLabels(n.Key.Namespace, h.Get("namespaceSelector")) && f.namespaceAllows(h.Value, *n, false) &&
		slices.ContainsFunc(h.Get("rules").Items(), func(r object.Value) bool {
			return HasAny(Texts(r.Get("operations")), "*", "CREATE") && HasAny(Texts(r.Get("apiGroups")), "*", n.Key.Group) &&
				HasAny(Texts(r.Get("resources")), "*", "*/*", f.Plural(*n)) && r.Get("scope").Text() != "Cluster"
		})
}

// showsLabels reports whether the labels of a namespace that a selector reads are known.
func (f *Facts) showsLabels(namespace string, selector object.Value) bool {
	isOther := func(key string) bool { return key != namespaceNameLabel }
	return len(f.byKey[object.ID{Kind: "Namespace", Name: namespace}]) > 0 ||
		!slices.ContainsFunc(selector.Get("matchLabels").Fields(), func(f object.Field) bool { return isOther(f.Key) }) &&
			!slices.ContainsFunc(selector.Get("matchExpressions").Items(), func(e object.Value) bool { return isOther(e.Get("key").Text()) })
}

// WebhooksServedBy returns the fail-closed webhooks that a workload serves.
func (f *Facts) WebhooksServedBy(workload int) []Webhook {
	return f.hooksServed.get(func() map[int][]Webhook {
		all := map[int][]Webhook{}
		for _, h := range f.Webhooks() {
			for _, server := range h.Servers {
				if !h.FailsOpen {
					all[server] = append(all[server], h)
				}
			}
		}
		return all
	})[workload]
}

// IsInjected reports whether a program that is already running writes the CA into an
// object.
func (n *Node) IsInjected() bool {
	return slices.ContainsFunc(n.Kind.Injected, func(p knowledge.Path) bool { return len(p.Find(n.Root())) > 0 })
}

// WritesCA reports whether a Job writes the CA of an object, with the field that names the object
// and the source of the record of its program. For other programs, the source is empty, and an
// argument is the name of the object instead of that of the Secret with the CA.
func (f *Facts) WritesCA(j, i int) (field, source string, is bool) {
	name := f.Nodes[i].ID.Name
	for _, image := range f.Images(j) {
		by, known := f.Base.TrustWriter(image)
		if !known {
			continue
		}
		words := f.Words(j)
		at := slices.IndexFunc(words, func(w Word) bool {
			return w.Value == name && slices.Contains(by.Targets, strings.TrimLeft(w.Name, "-"))
		})
		if at < 0 || !slices.ContainsFunc(words, func(w Word) bool { return w.Value == by.Command }) {
			return "", "", false
		}
		return words[at].Field, by.Source, true
	}
	for _, w := range f.Words(j) {
		if w.Value == name && !w.IsSAN && !w.IsFile && !f.Base.NamesSecret(w.Name) {
			return w.Field, "", true
		}
	}
	return "", "", false
}

// Admission is the API group of webhook configurations.
const Admission = "admissionregistration.k8s.io"

// Registrar is a resource that extends the API server.
type Registrar struct{ Group, Resource string }

// Registrars are these resources. A workload that may write them serves an API,
// injects a CA or installs CRDs.
var Registrars = []Registrar{
	{Admission, "mutatingwebhookconfigurations"},
	{Admission, "validatingwebhookconfigurations"},
	{Extensions, "customresourcedefinitions"},
	{"apiregistration.k8s.io", "apiservices"},
}

// namespaceAllows applies the namespaceSelector of a webhook, as far as the labels
// of the namespace are known: those in the component, and the name label that
// Kubernetes adds. For a namespace outside the component, unknown says whether to
// assume that it has the required labels.
func (f *Facts) namespaceAllows(hook object.Value, n Node, unknown bool) bool {
	selector := hook.Get("namespaceSelector")
	if n.Key.Namespace == "" || !selector.Exists() {
		return true
	}
	for _, ns := range f.byKey[object.ID{Kind: "Namespace", Name: n.Key.Namespace}] {
		labels := f.Nodes[ns].Get("metadata", "labels")
		return allows(selector, func(key string) (string, bool) {
			if key == namespaceNameLabel {
				return n.Key.Namespace, true
			}
			return labels.Get(key).Text(), labels.Get(key).Exists()
		})
	}
	for _, l := range selector.Get("matchLabels").Fields() {
		if l.Key != namespaceNameLabel && !unknown || l.Key == namespaceNameLabel && l.Value.Text() != n.Key.Namespace {
			return false
		}
	}
	for _, e := range selector.Get("matchExpressions").Items() {
		if e.Get("key").Text() == namespaceNameLabel {
			if !holds(e, n.Key.Namespace, true) {
				return false
			}
		} else if !unknown && !holds(e, "", false) {
			return false
		}
	}
	return true
}

// namespaceNameLabel is the label with the name of the namespace, which Kubernetes
// sets.
const namespaceNameLabel = "kubernetes.io/metadata.name"

// selectorAllows evaluates a label selector; an absent one matches everything.
func selectorAllows(selector, labels object.Value) bool {
	return allows(selector, func(key string) (string, bool) { return labels.Get(key).Text(), labels.Get(key).Exists() })
}

// allows evaluates a label selector; an absent one matches everything.
func allows(selector object.Value, label func(key string) (string, bool)) bool {
	for _, l := range selector.Get("matchLabels").Fields() {
		if v, ok := label(l.Key); !ok || v != l.Value.Text() {
			return false
		}
	}
	for _, e := range selector.Get("matchExpressions").Items() {
		v, ok := label(e.Get("key").Text())
		if !holds(e, v, ok) {
			return false
		}
	}
	return true
}

// holds evaluates a match expression of a label selector.
func holds(expression object.Value, value string, present bool) bool {
	listed := present && slices.Contains(Texts(expression.Get("values")), value)
	switch expression.Get("operator").Text() {
	case "In":
		return listed
	case "NotIn":
		return !listed
	case "Exists":
		return present
	case "DoesNotExist":
		return !present
	}
	return false
}
