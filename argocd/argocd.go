// Package argocd is the model of Argo CD's objects, for all who read or write them: Applications and
// ApplicationSets with the fields that Ladder knows
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/). The suites in conformance read what
// is written with Argo CD's own types.
package argocd

import (
	"cmp"
	"strings"

	"github.com/ladder-cmp/ladder/object"
)

const (
	// Group is the API group of Argo CD, and APIVersion the version of its objects.
	Group      = "argoproj.io"
	APIVersion = Group + "/v1alpha1"
	// InCluster is the URL of the cluster that Argo CD runs in.
	InCluster = "https://kubernetes.default.svc"
)

// IsApplication reports whether an object is an Application.
func IsApplication(id object.ID) bool { return id.Group == Group && id.Kind == "Application" }

// IsSet reports whether an object is an ApplicationSet.
func IsSet(id object.ID) bool { return id.Group == Group && id.Kind == "ApplicationSet" }

// SourcesOf returns the sources in the spec of an Application. Argo CD ignores the others if there
// is a hydrator, and the single one if there is a list (GetSource and HasMultipleSources).
func SourcesOf(spec object.Value) []object.Value {
	if dry := spec.Get("sourceHydrator", "drySource"); dry.Exists() {
		return []object.Value{dry}
	}
	if all := spec.Get("sources").Items(); len(all) > 0 {
		return all
	}
	return []object.Value{spec.Get("source")}
}

// ClusterOf returns the destination cluster in the spec of an Application: its name, or its URL;
// InCluster if the spec names none.
func ClusterOf(spec object.Value) string {
	if name := spec.Get("destination", "name").Text(); name != "" && name != "in-cluster" {
		return name
	}
	return cmp.Or(strings.TrimSuffix(spec.Get("destination", "server").Text(), "/"), InCluster)
}

// IsAutomated reports whether Argo CD syncs an Application without being asked. enabled: false
// turns the policy off (since Argo CD 3.1).
func IsAutomated(spec object.Value) bool {
	policy := spec.Get("syncPolicy", "automated")
	return policy.Exists() && policy.Get("enabled").Text() != "false"
}
