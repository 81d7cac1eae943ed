package facts

import (
	"slices"

	"github.com/ladder-cmp/ladder/knowledge"
)

type storeFacts struct {
	stores       memo[[]bool]
	volumeOwners memo[map[int]bool]
}

// MayBeStore reports whether a node is a store; or a StatefulSet with volumes of its own
// that leads to no workload, which may also be an application that keeps files; or a custom
// resource for which an operator may run one: no record says that it runs something else, or
// Argo CD does not wait for it, so that it costs nothing.
func (f *Facts) MayBeStore(i int) bool {
	n := &f.Nodes[i]
	if n.Kind.Pod.IsZero() {
		if n.Kind.Rung != knowledge.Workloads || f.Base.Builtin(n.ID.Group) {
			return false
		}
		_, known := f.Base.Kind(n.ID.Group, n.ID.Kind)
		return !known || !n.HasHealth || f.Base.IsStoreKind(n.ID.Group, n.ID.Kind)
	}
	return f.IsStore(i) || n.Serves() && len(n.Get("spec", "volumeClaimTemplates").Items()) > 0 &&
		!slices.ContainsFunc(f.Images(i), f.Base.IsStoreTool) && !f.callsWorkload(i)
}

// KeepsFiles reports whether a workload may keep data for others because it alone mounts some PVC
// of the component: a store, or an application that keeps files. One that runs the image of a
// migration is the application.
func (f *Facts) KeepsFiles(i int) bool {
	if !f.Nodes[i].Serves() || slices.ContainsFunc(f.Images(i), f.Base.IsStoreTool) || f.callsWorkload(i) {
		return false
	}
	return f.volumeOwners.get(f.findVolumeOwners)[i] && !slices.ContainsFunc(f.JobsOf(f.Nodes[i].Part), func(j int) bool {
		return f.MigrationWord(j) != "" && slices.Contains(f.Sharers(j), i)
	})
}

// findVolumeOwners returns the long-running workloads that alone mount a PVC of the component.
func (f *Facts) findVolumeOwners() map[int]bool {
	mounters := map[int][]int{} // by PVC
	for _, m := range f.Mentions() {
		for _, to := range m.Targets {
			if f.Nodes[to].Kind.Placement == knowledge.WithConsumer && !f.Nodes[m.From].Kind.Pod.IsZero() && !slices.Contains(mounters[to], m.From) {
				mounters[to] = append(mounters[to], m.From)
			}
		}
	}
	owners := map[int]bool{}
	for _, by := range mounters {
		by = slices.DeleteFunc(by, func(i int) bool { return !f.Nodes[i].Serves() }) // Jobs may fill it
		if len(by) == 1 {
			owners[by[0]] = true
		}
	}
	return owners
}

// IsStore reports whether a node keeps data or messages for others, and starts without
// them: it runs the image of a known store, its kind is called after one and its operator
// runs it, it listens at the port of one, or it is a StatefulSet with volumes of its own
// that leads to no workload.
func (f *Facts) IsStore(i int) bool { return f.stores.get(f.findStores)[i] }

// IsKnownStore reports whether a node runs an image that is called after a known store.
func (f *Facts) IsKnownStore(i int) bool {
	return f.IsStore(i) && slices.ContainsFunc(f.Images(i), func(image string) bool { is, _ := f.Base.IsStore(image); return is })
}

// RunsAnyProgram reports whether the images of a workload are those of interpreters or tools,
// which run any program.
func (f *Facts) RunsAnyProgram(i int) bool {
	return !slices.ContainsFunc(f.Images(i), func(image string) bool { return !f.Base.RunsAnyProgram(image) })
}

func (f *Facts) findStores() []bool {
	all := make([]bool, len(f.Nodes))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		switch {
		case n.Kind.Pod.IsZero():
			all[i] = n.Kind.Rung == knowledge.Workloads && n.HasHealth && f.Base.IsStoreKind(n.ID.Group, n.ID.Kind)
		case n.Serves():
			all[i] = f.runsStore(i)
		}
	}
	return all
}

func (f *Facts) runsStore(i int) bool {
	likely := false
	programs := slices.DeleteFunc(f.Images(i), f.Base.IsStoreTool) // such as an exporter beside the store
	for _, image := range f.Images(i) {
		is, certainly := f.Base.IsStore(image)
		if certainly {
			return true
		}
		likely = likely || is && slices.Contains(programs, image)
	}
	return (likely || len(programs) > 0 && f.listensAsStore(i)) && !f.callsWorkload(i)
}

// listensAsStore reports whether a container of a workload, or a Service in front of it, has
// the port of a store.
func (f *Facts) listensAsStore(i int) bool {
	n := &f.Nodes[i]
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, c := range tmpl.Value.Get("spec", "containers").Items() {
			for _, p := range c.Get("ports").Items() {
				if f.Base.IsStorePort(p.Get("containerPort").Text()) {
					return true
				}
			}
		}
	}
	for s, workloads := range f.selected() {
		if slices.Contains(workloads, i) {
			for _, p := range f.Nodes[s].Get("spec", "ports").Items() {
				if f.Base.IsStorePort(p.Get("port").Text()) {
					return true
				}
			}
		}
	}
	return false
}

// callsWorkload reports whether the configuration of a workload leads to another one.
func (f *Facts) callsWorkload(i int) bool {
	for _, w := range f.Words(i) {
		for _, service := range f.Addresses(w, f.Nodes[i].Key.Namespace) {
			for _, server := range f.Servers(service) {
				if server != i {
					return true
				}
			}
		}
	}
	return false
}
