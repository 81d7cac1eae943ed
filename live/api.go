package live

import (
	"strings"

	"github.com/ladder-cmp/ladder/object"
)

// crd finds out why a kind is not available (kubernetes/apiextensions-apiserver, pkg/controller).
func crd(s *scene, o object.Object) []Cause {
	command := kubectl("describe", o.ID)
	for _, want := range []struct{ kind, bad, text, fix string }{
		{"NamesAccepted", "False", "is not accepted: another CRD has one of its names", "delete the other CRD, or change the names"},
		{"NonStructuralSchema", "True", "has a schema that is not structural", "correct the schema"},
		{"Terminating", "True", "is being deleted", "wait until its objects are deleted, or remove their finalizers"},
		{"Established", "False", "is not established, so its kind does not exist yet", "correct what the condition says"},
	} {
		if c := conditionOf(o, want.kind); c.status == want.bad {
			return []Cause{{Rule: "crd", Text: want.text, Proof: said("condition "+want.kind+":", c.reason, c.message), Evidence: Condition, IsYoung: want.kind == "Established" && s.created(o) < briefly, Fix: want.fix, Command: command}}
		}
	}
	return nil
}

// apiService finds out why an API is not available (kubernetes/kube-aggregator).
func apiService(s *scene, o object.Object) []Cause {
	c := conditionOf(o, "Available")
	if c.status != "False" {
		return nil
	}
	cause := Cause{Rule: "api-service", Text: "is not available", Proof: said("condition Available:", c.reason, c.message), Evidence: Condition, IsYoung: s.age(c.since) < briefly,
		Fix: "start the Pods of its Service", Command: kubectl("describe", o.ID)}
	service := o.Get("spec", "service")
	cause.Because = object.ID{Kind: "Service", Namespace: service.Get("namespace").Text(), Name: service.Get("name").Text()}
	switch c.reason {
	case "ServiceNotFound":
		cause.Text, cause.Fix = "is not available: "+cause.Because.String()+" does not exist", "create the Service, or delete the APIService if its program is gone"
	case "ServicePortError", "FailedDiscoveryCheck":
		cause.Text, cause.Fix = "is not available: "+cause.Because.String()+" does not answer", "correct port, certificate or network of the program behind it"
	}
	return []Cause{cause}
}

// namespace finds out why a namespace is not deleted (kubernetes/kubernetes,
// pkg/controller/namespace/deletion/status_condition_utils.go).
func namespace(_ *scene, o object.Object) []Cause {
	if o.Get("status", "phase").Text() != terminating && !isTerminating(o) {
		return nil
	}
	for _, want := range []struct{ kind, fix string }{
		{"NamespaceDeletionDiscoveryFailure", "repair or delete the APIService that the message names"},
		{"NamespaceFinalizersRemaining", "start the controller of the finalizer, or remove the finalizer from the objects"},
		{"NamespaceDeletionContentFailure", "correct what the message says"},
		{"NamespaceContentRemaining", "see why the objects that remain are not deleted"},
	} {
		if c := conditionOf(o, want.kind); c.status == "True" {
			return []Cause{{Rule: "namespace-terminating", Text: "is being deleted and does not end: " + c.message, Proof: said("condition "+want.kind+":", c.reason, c.message), Evidence: Condition, Fix: want.fix, Command: kubectl("get", o.ID, "-o yaml")}}
		}
	}
	return nil
}

// deletion finds objects that are being deleted and held by finalizers.
func deletion(s *scene, o object.Object) []Cause {
	at := o.Get("metadata", "deletionTimestamp").Text()
	if at == "" || o.ID.Kind == "Namespace" || o.ID.Kind == "Pod" {
		return nil
	}
	var names []string
	fix := "start the controller of the finalizer, or remove the finalizer if that is gone"
	for _, f := range o.Get("metadata", "finalizers").Items() {
		names = append(names, f.Text())
	}
	if len(names) == 0 {
		return nil
	}
	text := "is being deleted and held by its finalizer " + strings.Join(names, ", ")
	if isApplication(o.ID) {
		return []Cause{{Rule: "finalizer", Text: "is being deleted, after its objects", Proof: "metadata.deletionTimestamp " + at, Evidence: Appearance, IsYoung: s.age(at) < aWhile, Fix: "see what holds up the deletion of its objects",
			Command: argocd("get", o.ID)}}
	}
	evidence := Refusal
	switch names[0] {
	case "foregroundDeletion":
		text, fix, evidence = "is being deleted, but what it owns is still there", "see why the objects that it owns are not deleted", Condition
	case "kubernetes.io/pvc-protection":
		text, fix = "is being deleted, but a Pod still uses it", "delete the Pod, or scale its workload to 0"
		for _, id := range s.sorted {
			if id.Kind == "Pod" && id.Namespace == o.ID.Namespace && mounts(s.objects[id], o.ID.Name) {
				text, fix = "is being deleted, but "+id.String()+" still uses it", "delete "+id.String()+", or scale its workload to 0"
			}
		}
	case "kubernetes.io/pv-protection":
		text, fix = "is being deleted, but a PVC still uses it", "delete the PVC"
	}
	because := object.ID{}
	by, found := s.operatorOf(o)
	if !found {
		by = s.namesake(names[0])
	}
	if !by.IsZero() {
		if short, is := s.shortOf(by); is {
			text, because = text+", whose controller does not run: "+by.String()+" "+short, by
		}
	}
	return []Cause{{Rule: "finalizer", Because: because, Text: text, Proof: "metadata.deletionTimestamp " + at + ", finalizers " + strings.Join(names, ", "), Evidence: evidence, IsYoung: s.age(at) < briefly, Fix: fix,
		Command: kubectl("get", o.ID, "-o yaml")}}
}

// namesake returns the Deployment whose name has the first word of the domain of a finalizer, such
// as strimzi of strimzi.io/topic-operator; the zero ID if there is not exactly one.
func (s *scene) namesake(finalizer string) (by object.ID) {
	domain, _, ok := strings.Cut(finalizer, "/")
	word, _, dotted := strings.Cut(domain, ".")
	found := 0
	for _, id := range s.sorted {
		if ok && dotted && word != "kubernetes" && id.GroupKind() == "Deployment.apps" && strings.Contains(id.Name, word) {
			by = id
			found++
		}
	}
	if found != 1 {
		return object.ID{}
	}
	return by
}
