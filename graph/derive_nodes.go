package graph

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// nodeAgents makes a program may need the DaemonSets that prepare the nodes for it: without
// the driver of its volume, the plugin of its device, or the socket that it mounts, its Pods
// do not start.
func nodeAgents(f *facts.Facts, roles Roles, s Set) (refs []Reference) {
	type agent struct {
		node  int
		paths []string
	}
	agents := map[int][]agent{} // by component
	for i := range f.Nodes {
		if n := &f.Nodes[i]; n.Kind.EveryNode && n.InSync() {
			if paths := hostPaths(n); len(paths) > 0 {
				agents[n.Part] = append(agents[n.Part], agent{i, paths})
			}
		}
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Kind.Pod.IsZero() || n.Kind.EveryNode || n.Kind.Runs == "later" || !n.InSync() || roles.Of(i) == knowledge.Smokes ||
			len(agents[n.Part]) == 0 {
			continue
		}
		own := hostPaths(n)
		for _, a := range agents[n.Part] {
			why := ""
			switch {
			case mountsVolumes(n) && slices.ContainsFunc(a.paths, isBelow(driverSockets)):
				why = "may use a volume of the driver of"
			case asksForDevices(n) && slices.ContainsFunc(a.paths, isBelow(deviceSockets)):
				why = "may use a device of the plugin of"
			case slices.ContainsFunc(own, func(path string) bool {
				return slices.ContainsFunc(a.paths, func(of string) bool { return isBelow(of)(path) || isBelow(path)(of) })
			}):
				why = "mounts a directory of the node that is mounted by"
			}
			if why != "" && !s.Refers(i, a.node) {
				refs = append(refs, possible(f, i, a.node, "spec.template.spec.volumes", Beside, why))
			}
		}
	}
	return refs
}

// Where the kubelet looks for drivers of volumes and plugins of devices
// (https://kubernetes-csi.github.io/docs/deploying.html,
// https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/).
const (
	driverSockets = "/var/lib/kubelet/plugins"
	deviceSockets = "/var/lib/kubelet/device-plugins"
)

// isBelow returns a function that reports whether a path is a directory, or in it. What many
// programs mount says nothing: a directory of the root, such as /var or /proc.
func isBelow(dir string) func(string) bool {
	return func(path string) bool {
		below, ok := strings.CutPrefix(path, dir)
		return ok && strings.Count(dir, "/") > 1 && (below == "" || below[0] == '/' || below[0] == '_')
	}
}

// hostPaths returns the paths of nodes that the Pods of a workload mount.
func hostPaths(n *facts.Node) (all []string) {
	eachPodSpec(n, func(spec object.Value) {
		for _, v := range spec.Get("volumes").Items() {
			if path := strings.TrimRight(v.Get("hostPath", "path").Text(), "/"); path != "" {
				all = append(all, path)
			}
		}
	})
	return all
}

// mountsVolumes reports whether a driver must mount a volume before a Pod starts.
func mountsVolumes(n *facts.Node) (mounts bool) {
	eachPodSpec(n, func(spec object.Value) {
		mounts = mounts || slices.ContainsFunc(spec.Get("volumes").Items(), func(v object.Value) bool {
			return v.Get("csi").Exists() || v.Get("persistentVolumeClaim").Exists() || v.Get("ephemeral").Exists()
		})
	})
	return mounts || len(n.Get("spec", "volumeClaimTemplates").Items()) > 0
}

// asksForDevices reports whether a container asks for a resource that is not Kubernetes' own.
func asksForDevices(n *facts.Node) (asks bool) {
	eachPodSpec(n, func(spec object.Value) {
		for _, list := range []string{"initContainers", "containers"} {
			for _, c := range spec.Get(list).Items() {
				for _, field := range slices.Concat(c.Get("resources", "limits").Fields(), c.Get("resources", "requests").Fields()) {
					domain, _, extended := strings.Cut(field.Key, "/")
					asks = asks || extended && !strings.HasSuffix(domain, "kubernetes.io")
				}
			}
		}
	})
	return asks
}

// eachPodSpec calls a function for the spec of each Pod template of a node.
func eachPodSpec(n *facts.Node, do func(spec object.Value)) {
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		do(tmpl.Value.Get("spec"))
	}
}
