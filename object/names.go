package object

import "k8s.io/apimachinery/pkg/api/validate/content"

// IsName reports whether Kubernetes accepts a name for objects of most kinds.
func IsName(name string) bool { return len(content.IsDNS1123Subdomain(name)) == 0 }

// IsNamespaceName reports whether Kubernetes accepts a name for a Namespace.
func IsNamespaceName(name string) bool { return len(content.IsDNS1123Label(name)) == 0 }

// IsLabelKey reports whether Kubernetes accepts a key for labels and annotations.
func IsLabelKey(key string) bool { return len(content.IsLabelKey(key)) == 0 }

// IsLabelValue reports whether Kubernetes accepts a value for a label.
func IsLabelValue(value string) bool { return len(content.IsLabelValue(value)) == 0 }

// LabelKeyPattern is IsLabelKey for a template that Argo CD runs.
const LabelKeyPattern = `^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
