package object

import "strings"

// SyncOptions is the annotation with an object's list of sync options for Argo CD.
const SyncOptions = "argocd.argoproj.io/sync-options"

// The options that Ladder writes (gitops-engine pkg/sync/common/types.go).
const (
	SkipDryRun      = "SkipDryRunOnMissingResource=true"
	ServerSideApply = "ServerSideApply=true"
	NoPrune         = "Prune=false"
)

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
