package double

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// templateOf is what a workload's Pods look like; ok is false where it has none.
func templateOf(o *unstructured.Unstructured) (template corev1.PodTemplateSpec, ok bool) {
	path := []string{"spec", "template"}
	switch o.GetKind() {
	case "Pod":
		path = nil
	case "CronJob":
		return template, false // it never fires
	}
	content := o.Object
	if path != nil {
		if content, ok, _ = unstructured.NestedMap(o.Object, path...); !ok {
			return template, false
		}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &template); err != nil {
		return template, false
	}
	return template, true
}

// podReason returns why Pods of a template cannot start, empty if they can.
func (t *reconciliation) podReason(namespace string, spec corev1.PodSpec) string {
	if why := t.creationReason(namespace, spec); why != "" {
		return why
	}
	for _, v := range spec.Volumes {
		if why := t.volumeReason(namespace, v); why != "" {
			return why
		}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if why := t.environmentReason(namespace, c); why != "" {
			return why
		}
	}
	return ""
}

// creationReason returns why a Pod cannot even be created.
func (t *reconciliation) creationReason(namespace string, spec corev1.PodSpec) string {
	account := spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	if t.get("", "ServiceAccount", namespace, account) == nil {
		return Ref{Kind: "ServiceAccount", Namespace: namespace, Name: account}.String() + " is missing"
	}
	if class := spec.RuntimeClassName; class != nil && t.get("node.k8s.io", "RuntimeClass", "", *class) == nil {
		return Ref{Kind: "RuntimeClass", Name: *class}.String() + " is missing"
	}
	return ""
}

func (t *reconciliation) volumeReason(namespace string, v corev1.Volume) string {
	switch {
	case v.Secret != nil:
		return t.keysReason("Secret", namespace, v.Secret.SecretName, itemKeys(v.Secret.Items), v.Secret.Optional)
	case v.ConfigMap != nil:
		return t.keysReason("ConfigMap", namespace, v.ConfigMap.Name, itemKeys(v.ConfigMap.Items), v.ConfigMap.Optional)
	case v.PersistentVolumeClaim != nil:
		return t.missing(Ref{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: v.PersistentVolumeClaim.ClaimName})
	case v.CSI != nil && v.CSI.NodePublishSecretRef != nil:
		return t.keysReason("Secret", namespace, v.CSI.NodePublishSecretRef.Name, nil, nil)
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			var why string
			switch {
			case source.Secret != nil:
				why = t.keysReason("Secret", namespace, source.Secret.Name, itemKeys(source.Secret.Items), source.Secret.Optional)
			case source.ConfigMap != nil:
				why = t.keysReason("ConfigMap", namespace, source.ConfigMap.Name, itemKeys(source.ConfigMap.Items), source.ConfigMap.Optional)
			}
			if why != "" {
				return why
			}
		}
	}
	return ""
}

func itemKeys(items []corev1.KeyToPath) []string {
	var keys []string
	for _, item := range items {
		keys = append(keys, item.Key)
	}
	return keys
}

func (t *reconciliation) environmentReason(namespace string, c corev1.Container) string {
	for _, from := range c.EnvFrom {
		var why string
		switch {
		case from.SecretRef != nil:
			why = t.keysReason("Secret", namespace, from.SecretRef.Name, nil, from.SecretRef.Optional)
		case from.ConfigMapRef != nil:
			why = t.keysReason("ConfigMap", namespace, from.ConfigMapRef.Name, nil, from.ConfigMapRef.Optional)
		}
		if why != "" {
			return why
		}
	}
	for _, env := range c.Env {
		if env.ValueFrom == nil {
			continue
		}
		var why string
		switch from := env.ValueFrom; {
		case from.SecretKeyRef != nil:
			why = t.keysReason("Secret", namespace, from.SecretKeyRef.Name, []string{from.SecretKeyRef.Key}, from.SecretKeyRef.Optional)
		case from.ConfigMapKeyRef != nil:
			why = t.keysReason("ConfigMap", namespace, from.ConfigMapKeyRef.Name, []string{from.ConfigMapKeyRef.Key}, from.ConfigMapKeyRef.Optional)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// anyKey marks a Secret whose keys come from outside and are not known: it has
// all that anybody asks for.
const anyKey = "cluster-double/any-key"

// keysReason returns why a Secret or ConfigMap cannot be read, empty if it can.
func (t *reconciliation) keysReason(kind, namespace, name string, keys []string, optional *bool) string {
	ref := Ref{Kind: kind, Namespace: namespace, Name: name}
	o := t.get("", kind, namespace, name)
	switch {
	case optional != nil && *optional:
		return ""
	case o == nil:
		return ref.String() + " is missing"
	case o.GetAnnotations()[anyKey] != "":
		return ""
	}
	data, _, _ := unstructured.NestedMap(o.Object, "data")
	binary, _, _ := unstructured.NestedMap(o.Object, "binaryData")
	for _, key := range keys {
		if data[key] == nil && binary[key] == nil {
			return ref.String() + " has no key " + key
		}
	}
	return ""
}
