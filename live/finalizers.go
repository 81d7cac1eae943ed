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
	for _, f := range o.Get("metadata", "finalizers").Items() {
		names = append(names, f.Text())
	}
	if len(names) == 0 {
		return nil
	}
	cause := understand("finalizer", names[0], o, Cause{Rule: "finalizer",
		Text:  "is being deleted and held by its finalizer " + strings.Join(names, ", "),
		Proof: "metadata.deletionTimestamp " + at + ", finalizers " + strings.Join(names, ", "), Evidence: Refusal, IsYoung: s.age(at) < briefly,
		Fix: "start the controller of the finalizer, or remove the finalizer if that is gone", Command: kubectl("get", o.ID, "-o yaml")})
	switch names[0] {
	case "foregroundDeletion":
		cause.Evidence = Condition
	case "kubernetes.io/pvc-protection":
		for _, id := range s.sorted {
			if id.Kind == "Pod" && id.Namespace == o.ID.Namespace && mounts(s.objects[id], o.ID.Name) {
				cause.Text, cause.Fix = "is being deleted, but "+id.String()+" still uses it", "delete "+id.String()+", or scale its workload to 0"
			}
		}
	}
	if argo.IsApplication(o.ID) {
		cause.Text, cause.Fix, cause.Evidence, cause.IsYoung = "is being deleted, after its objects",
			"see what holds up the deletion of its objects", Appearance, s.age(at) < aWhile
		cause.Proof, cause.Command = "metadata.deletionTimestamp "+at, argocd("get", o.ID)
		return []Cause{cause}
	}
	by, found := s.operatorOf(o)
	if !found {
		by = s.namesake(names[0])
	}
	if !by.IsZero() {
		if short, is := s.shortOf(by); is {
			cause.Text, cause.Because = cause.Text+", whose controller does not run: "+by.String()+" "+short, by
		}
	}
	return []Cause{cause}
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
