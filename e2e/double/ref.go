package double

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref names an object, whatever the version of its API.
type Ref struct {
	Group     string `json:"group,omitempty"` // empty in a test's Ref: any group
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"` // empty for what has none
	Name      string `json:"name"`
}

// String is how people write it: Deployment shop/web.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

func (r Ref) compare(o Ref) int {
	return cmp.Or(strings.Compare(r.Namespace, o.Namespace), strings.Compare(r.Kind, o.Kind),
		strings.Compare(r.Name, o.Name), strings.Compare(r.Group, o.Group))
}

// names reports whether r, as a test has written it, means the object o.
func (r Ref) names(o Ref) bool {
	return r.Kind == o.Kind && r.Namespace == o.Namespace && r.Name == o.Name && (r.Group == "" || r.Group == o.Group)
}

func (r Ref) groupKind() schema.GroupKind { return schema.GroupKind{Group: r.Group, Kind: r.Kind} }

func refOf(o *unstructured.Unstructured) Ref {
	kind := o.GroupVersionKind().GroupKind()
	return Ref{Group: kind.Group, Kind: kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}
