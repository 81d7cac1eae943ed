package object

import (
	"slices"
	"strings"
)

// SyncOptions is the annotation with an object's list of sync options for Argo CD.
const SyncOptions = "argocd.argoproj.io/sync-options"

// ResourcePolicy is the annotation by which a chart keeps an object permanently.
const ResourcePolicy = "helm.sh/resource-policy"

// The options that Ladder writes (gitops-engine pkg/sync/common/types.go).
const (
	SkipDryRun      = "SkipDryRunOnMissingResource=true"
	ServerSideApply = "ServerSideApply=true"
	NoPrune         = "Prune=false"
	NoDelete        = "Delete=false"
)

// IsKept reports whether Argo CD keeps the object when it deletes the Application
// (shouldBeDeleted in argo-cd controller/appcontroller.go).
func (o Object) IsKept() bool {
	return slices.Contains(o.list(SyncOptions), NoDelete) || slices.Contains(o.list(ResourcePolicy), "keep")
}

// Finalizers returns the finalizers that a program other than Kubernetes and Argo CD removes.
func (o Object) Finalizers() []string {
	var all []string
	for _, v := range o.Get("metadata", "finalizers").Items() {
		domain, _, hasDomain := strings.Cut(v.Text(), "/")
		switch {
		case v.Text() == "foregroundDeletion", v.Text() == "orphan", strings.HasSuffix(domain, ".argocd.argoproj.io"),
			hasDomain && domain == "kubernetes.io":
		default:
			all = append(all, v.Text())
		}
	}
	return all
}

// WithOptions adds options to a list of sync options, and reports whether that
// changes it. Options that the author has set, with any value, are kept.
func WithOptions(list string, options ...string) (string, bool) {
	changed := false
	for _, option := range options {
		if hasOption(list, option) {
			continue
		}
		if list != "" {
			list += ","
		}
		list += option
		changed = true
	}
	return list, changed
}

func hasOption(list, option string) bool {
	want, _, _ := strings.Cut(option, "=")
	for item := range strings.SplitSeq(list, ",") {
		if name, _, _ := strings.Cut(strings.TrimSpace(item), "="); name == want {
			return true
		}
	}
	return false
}
