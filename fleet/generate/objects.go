package generate

import (
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet/profile"
)

const (
	// cascade is the finalizer with which Argo CD deletes the resources of an Application
	// before the Application.
	cascade = "resources-finalizer.argocd.argoproj.io"
	// pluginName is the name of the sidecar's plugin.
	pluginName = "ladder"
)

// defaultRetry is the default retry of a sync: if a webhook is ready but not yet reachable, the
// first attempt fails.
var defaultRetry = component.Retry{Limit: 5, Backoff: component.Backoff{Duration: "5s", Factor: 2, MaxDuration: "3m"}}

// maxUpdate returns the maxUpdate of a place: 0 if people sync it, nil if it has no limit.
func maxUpdate(p profile.Place) *int {
	switch {
	case p.Manual:
		return new(int)
	case p.MaxUpdate > 0:
		return &p.MaxUpdate
	}
	return nil
}

// cluster returns the destination for a server, which is a URL or a name.
func cluster(server, namespace string) argocd.Destination {
	if server == "" {
		server = argocd.InCluster
	}
	if strings.Contains(server, "://") || strings.Contains(server, "{{") {
		return argocd.Destination{Server: server, Namespace: namespace}
	}
	return argocd.Destination{Name: server, Namespace: namespace}
}
