package object

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// vocabulary is what one annotation of Argo CD or Helm may contain: a list of values,
// separated by commas, of which unknown ones are ignored. It is nil for annotations with a
// free text, and for those that have checks of their own.
type vocabulary []string

// annotationWords are the annotations that Argo CD and Helm read from an object, with their
// values (gitops-engine pkg/sync/common/types.go, argo-cd common/common.go, Helm
// pkg/release/v1/hook.go and pkg/kube/resource_policy.go).
var annotationWords = map[string]vocabulary{
	SyncWave: nil, Hook: nil, HookDelete: keysOf(argoPolicies), SyncOptions: syncOptionWords(),
	"argocd.argoproj.io/compare-options": {"IgnoreExtraneous", "ServerSideDiff=true", "ServerSideDiff=false",
		"IncludeMutationWebhook=true", "IncludeMutationWebhook=false"},
	"argocd.argoproj.io/ignore-healthcheck": {"true", "false"}, "argocd.argoproj.io/skip-reconcile": {"true", "false"},
	"argocd.argoproj.io/refresh": {"normal", "hard"}, "argocd.argoproj.io/hydrate": {"normal"},
	"argocd.argoproj.io/deletion-approved": nil, "argocd.argoproj.io/tracking-id": nil, "argocd.argoproj.io/installation-id": nil,
	"argocd.argoproj.io/client-side-apply-migration-manager": nil, "argocd.argoproj.io/manifest-generate-paths": nil,
	"argocd.argoproj.io/managed-by-url": nil, "argocd.argoproj.io/application-set-refresh": {"true", "false"},
	HelmHook: nil, HelmWeight: nil, HelmHookDelete: keysOf(helmPolicies), ResourcePolicy: {"keep"},
	"helm.sh/hook-output-log-policy": {"hook-succeeded", "hook-failed"},
}

// otherKeys resemble annotations that Argo CD and Helm read, but are read by somebody else.
var otherKeys = []string{"argocd.argoproj.io/managed-by", "argocd.argoproj.io/instance",
	"argocd.argoproj.io/sync-wave-group", "helm.sh/chart"}

// distinctNames are so unlike other names that their prefix is a mistake if it is not one of
// Argo CD or Helm.
var distinctNames = []string{"sync-wave", "sync-options", "hook-delete-policy", "hook-weight"}

// applicationOptions are the sync options that Argo CD reads only from an Application
// (docs/user-guide/sync-options.md of argo-cd).
var applicationOptions = []string{"CreateNamespace", "RespectIgnoreDifferences", "FailOnSharedResource", "PrunePropagationPolicy"}

// syncOptionWords lists the sync options of an object. Those that only repeat a default count
// as known.
func syncOptionWords() vocabulary {
	all := vocabulary{"Prune=confirm", "Delete=confirm"}
	for _, name := range []string{"Prune", "Delete", "Validate", "PruneLast", "Replace", "Force", "ServerSideApply",
		"SkipDryRunOnMissingResource", "ClientSideApplyMigration", "ApplyOutOfSyncOnly"} {
		all = append(all, name+"=true", name+"=false")
	}
	return all
}

func keysOf[T any](m map[string]T) vocabulary {
	all := vocabulary{}
	for key := range m {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

// misspelled reports annotations that Argo CD and Helm ignore because of a mistake in their
// key or value.
func (o Object) misspelled() []finding.Finding {
	var found []finding.Finding
	report := func(field, key, message, remedy, question string, v Value) {
		f := finding.Finding{Severity: finding.Warning, Rule: "bad-annotation", File: o.File, Object: o.ID.String(),
			Field: "metadata." + field + "[" + key + "]", Message: message, Remedy: remedy}
		if o.Line > 0 {
			f.Line = o.Line + v.Line() - 1
		}
		found = append(found, f.Asking(question))
	}
	for _, e := range o.Get("metadata", "annotations").Fields() {
		words, known := annotationWords[e.Key]
		if question := nearestKey(e.Key); !known && question != "" {
			report("annotations", e.Key, "Argo CD and Helm ignore this annotation", "", question, e.Value)
		}
		for item := range strings.SplitSeq(e.Value.Text(), ",") {
			item = strings.TrimSpace(item)
			option, _, _ := strings.Cut(item, "=")
			question := words.suggest(item)
			switch {
			case item == "" || words == nil || slices.Contains(words, item):
			case e.Key == SyncOptions && slices.Contains(applicationOptions, option):
				report("annotations", e.Key, option+" is an option of the Application, so Argo CD ignores it here",
					"set it in spec.syncPolicy.syncOptions of the Application", "", e.Value)
			default:
				remedy := "correct it, or remove it"
				if len(words) <= 4 {
					remedy = "use " + strings.Join(words, " or ") + ", or remove it"
				}
				report("annotations", e.Key, fmt.Sprintf("Argo CD and Helm ignore the unknown value %q", finding.CutMiddle(item, 60)),
					remedy, question, e.Value)
			}
		}
	}
	for _, e := range o.Get("metadata", "labels").Fields() {
		if _, known := annotationWords[e.Key]; known {
			report("labels", e.Key, "this is a label, but Argo CD and Helm read it only as an annotation, so they ignore it",
				"move it to metadata.annotations", "", e.Value)
		}
	}
	return found
}

// nearestKey suggests the annotation that an unknown key may mean, or nothing.
func nearestKey(key string) string {
	prefix, name, hasPrefix := strings.Cut(key, "/")
	if !hasPrefix {
		prefix, name = "", key
	}
	if slices.Contains(otherKeys, key) {
		return ""
	}
	var candidates []string
	for known := range annotationWords {
		knownPrefix, knownName, _ := strings.Cut(known, "/")
		if prefix == knownPrefix && finding.Suggest(name, []string{knownName}) != "" {
			candidates = append(candidates, known)
		}
		foreign := prefix == "" || prefix != knownPrefix && (strings.Contains(prefix, "argo") || strings.Contains(prefix, "helm"))
		if foreign && name == knownName && slices.Contains(distinctNames, name) {
			candidates = append(candidates, known)
		}
	}
	slices.Sort(candidates)
	return finding.Suggest(key, candidates) // the nearest first
}

// suggest suggests values that are similar to an unknown one, or that begin like it: the words
// are few and long, such as hook-succeeded for hook-success.
func (words vocabulary) suggest(item string) string {
	if question := finding.Suggest(item, words); question != "" || item == "" {
		return question
	}
	same := len(item)/2 + 1
	var likely []string
	for _, word := range words {
		n := 0
		for n < min(len(item), len(word)) && strings.EqualFold(item[n:n+1], word[n:n+1]) {
			n++
		}
		if n > same {
			same, likely = n, nil
		}
		if n == same {
			likely = append(likely, word)
		}
	}
	return finding.DidYouMean(likely...)
}
