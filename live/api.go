package live

import (
	"strings"

	argo "github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/object"
)

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
	if argo.IsApplication(o.ID) {
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
