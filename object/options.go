package object

import "strings"

// SyncOptions is the annotation in which an object asks Argo CD to treat it in
// other ways than the rest; its value is a list of options.
const SyncOptions = "argocd.argoproj.io/sync-options"

// The options that Ladder writes (gitops-engine pkg/sync/common/types.go).
const (
	SkipDryRun      = "SkipDryRunOnMissingResource=true"
	ServerSideApply = "ServerSideApply=true"
	NoPrune         = "Prune=false"
)

// WithOptions adds options to a list of sync options, and reports whether that
// changes it. An option that is there stays, whatever its value: its author
// knows why.
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
	for there := range strings.SplitSeq(list, ",") {
		if name, _, _ := strings.Cut(strings.TrimSpace(there), "="); name == want {
			return true
		}
	}
	return false
}
