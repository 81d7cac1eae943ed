package facts

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/object"
)

// Wait is an object that a container waits for by itself.
type Wait struct {
	From, To int
	// Field is the container.
	Field string
	// IsSure means that the container certainly does not go on before the object is there.
	IsSure bool
}

type waitFacts struct {
	waits             memo[[]Wait]
	targets           memo[map[int]map[int]bool]
	waitTargetsByName index[[2]string, []int]
}

// Waits returns the objects that init containers wait for or, for Jobs, their
// containers: these retry until the object responds.
func (f *Facts) Waits() []Wait {
	return f.waits.get(func() (all []Wait) {
		for i, n := range f.Nodes {
			if n.Kind.Pod.IsZero() || n.Kind.Runs == "later" {
				continue
			}
			for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
				lists := []string{"initContainers"}
				if n.Kind.Runs == "once" {
					lists = append(lists, "containers")
				}
				for _, list := range lists {
					for at, c := range tmpl.Value.Get("spec", list).Items() {
						all = append(all, f.waitsIn(i, tmpl.Value, c, Join(tmpl.Field, "spec."+list+"["+strconv.Itoa(at)+"]"))...)
					}
				}
			}
		}
		return all
	})
}

// WaitTargets returns the programs and Services that the containers of a node wait for.
func (f *Facts) WaitTargets(node int) map[int]bool {
	return f.targets.get(func() map[int]map[int]bool {
		all := map[int]map[int]bool{}
		for _, w := range f.Waits() {
			if to := &f.Nodes[w.To]; to.Kind.Pod.IsZero() && to.Kind.Selects.IsZero() {
				continue
			}
			if all[w.From] == nil {
				all[w.From] = map[int]bool{}
			}
			all[w.From][w.To] = true
		}
		return all
	})[node]
}

// waitsIn returns the objects that a waiting container names, with the workloads behind
// Services.
func (f *Facts) waitsIn(i int, pod, c object.Value, field string) (found []Wait) {
	n := &f.Nodes[i]
	variables := f.variablesOf(i, c, field)
	waits := text.Waits(f.Base, text.Program{
		Image: c.Get("image").Text(), Command: Texts(c.Get("command")), Arguments: Texts(c.Get("args")),
		Files: f.scriptFiles(i, pod, c), Variables: variables,
		// The kubelet restarts a container that fails, but for Jobs only a limited
		// number of times.
		IsRestarted: n.Kind.Runs != "once",
	})
	var called []string
	// A sidecar only has to start before the containers after it.
	isSidecar := c.Get("restartPolicy").Text() == "Always"
	for _, wait := range waits {
		if !isSidecar {
			for _, target := range wait.Targets {
				for _, to := range f.awaited(target, n) {
					found = append(found, Wait{i, to, field, true})
				}
			}
		}
		called = append(called, text.Called(f.Base, wait.Text))
		for _, name := range slices.Sorted(maps.Keys(variables)) {
			if wait.ByVariables && f.Base.IsAddress(name) || strings.Contains(wait.Text, name) {
				called = append(called, variables[name])
			}
		}
	}
	for _, line := range called {
		for _, to := range f.waitTargetsIn(line, n.Key.Namespace) {
			for _, target := range append([]int{to}, f.Backends(to)...) {
				found = append(found, Wait{i, target, field, false})
			}
		}
	}
	return slices.DeleteFunc(found, func(w Wait) bool {
		return w.To == i || !w.IsSure && slices.Contains(found, Wait{i, w.To, field, true})
	})
}

// variablesOf returns the variables of a container with their values, as far as they are
// known.
func (f *Facts) variablesOf(i int, c object.Value, field string) map[string]string {
	all := map[string]string{}
	for _, w := range f.containerWords(i, c, field) {
		if strings.Contains(w.Field, ".env") && w.Name != "" {
			all[w.Name] = w.Value
		}
	}
	return all
}

// scriptFiles returns the mounted scripts of a container by their paths.
func (f *Facts) scriptFiles(i int, pod, c object.Value) map[string]string {
	all := map[string]string{}
	for _, m := range c.Get("volumeMounts").Items() {
		for _, v := range pod.Get("spec", "volumes").Items() {
			if v.Get("name").Text() != m.Get("name").Text() {
				continue
			}
			for _, file := range f.mountedFiles(i, pod, v, "") {
				at := path.Join(m.Get("mountPath").Text(), file.path)
				if sub := m.Get("subPath").Text(); sub != "" {
					at = path.Join(m.Get("mountPath").Text(), strings.TrimPrefix(file.path, sub))
				}
				all[at] = file.Value
			}
		}
	}
	return all
}

// scripts returns the command line of a container and the mounted files that it names.
func (f *Facts) scripts(i int, pod, c object.Value) []string {
	line := strings.Join(commandOf(c), " ")
	all := []string{line}
	files := f.scriptFiles(i, pod, c)
	for _, at := range slices.Sorted(maps.Keys(files)) {
		isMountedAlone := slices.ContainsFunc(c.Get("volumeMounts").Items(), func(m object.Value) bool { return m.Get("mountPath").Text() == at })
		if isMountedAlone || strings.Contains(line, "/"+path.Base(at)) {
			all = append(all, files[at])
		}
	}
	return all
}

// awaited returns the objects that must be there for a target to respond. One of several
// workloads is enough, so that none of them must be.
func (f *Facts) awaited(target text.Target, from *Node) (all []int) {
	namespace := from.Key.Namespace
	if target.Namespace != "" {
		namespace = target.Namespace
	}
	kind, name := target.Kind, target.Name
	if target.Host != "" {
		id, ok := f.service(target.Host, namespace, true)
		if !ok || f.IsAssumed(id) {
			return nil
		}
		kind, name, namespace = "Service", id.Name, id.Namespace
	}
	switch {
	case name == "":
		return only(f.selectedBy(target.Labels, namespace))
	case f.Base.RefersToKind(kind, "Pod"):
		return only(f.podsOf(name, namespace))
	case f.Base.RefersToKind(kind, "Endpoints") || f.Base.RefersToKind(kind, "Service"):
		services := only(f.byKey[object.ID{Kind: "Service", Namespace: namespace, Name: name}])
		for _, s := range services {
			if !target.IsResolved || f.Nodes[s].Get("spec", "clusterIP").Text() == "None" &&
				!f.Nodes[s].Get("spec", "publishNotReadyAddresses").True() {
				all = append(all, only(f.Backends(s))...)
			}
		}
		return append(all, services...)
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.ID.Name == name && (n.Key.Namespace == "" || n.Key.Namespace == namespace) && len(n.Phases()) > 0 &&
			f.Base.RefersToKind(kind, n.ID.Kind) {
			all = append(all, i)
		}
	}
	return only(all)
}

// only returns nodes if there is only one.
func only(nodes []int) []int {
	if len(nodes) == 1 {
		return slices.Clone(nodes)
	}
	return nil
}

// selectedBy returns the workloads with Pods that labels select.
func (f *Facts) selectedBy(labels map[string]string, namespace string) (all []int) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Key.Namespace != namespace || n.Kind.Runs == "later" || len(n.Phases()) == 0 {
			continue
		}
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			have := tmpl.Value.Get("metadata", "labels")
			isOther := false
			for key, value := range labels {
				isOther = isOther || have.Get(key).Text() != value
			}
			if !isOther && len(labels) > 0 {
				all = append(all, i)
			}
		}
	}
	return all
}

// podsOf returns the workload whose Pods have a stable name: a Pod, or a StatefulSet.
func (f *Facts) podsOf(name, namespace string) []int {
	if pods := f.byKey[object.ID{Kind: "Pod", Namespace: namespace, Name: name}]; len(pods) > 0 {
		return pods
	}
	set, number, ok := cutLast(name, "-")
	if !ok || strings.Trim(number, "0123456789") != "" {
		return nil
	}
	return f.byKey[object.ID{Group: "apps", Kind: "StatefulSet", Namespace: namespace, Name: set}]
}

// waitTargetsIn finds the Services, workloads and Jobs that a waiting command line
// names: as hosts, as kind/name, or by name only.
func (f *Facts) waitTargetsIn(line, namespace string) []int {
	var all []int
	for at, end := range text.Hosts(line) {
		word := strings.Trim(line[at:end], ".-")
		before := line[:at]
		if word == "" || f.Base.IsSANPrefix(before) {
			continue
		}
		if kind, ok := text.KindBefore(before); ok {
			for _, to := range f.targetsNamed(word, namespace) {
				if f.Base.RefersToKind(kind, f.Nodes[to].ID.Kind) {
					all = append(all, to)
				}
			}
			continue
		}
		if id, ok := f.service(word, namespace, true); ok {
			all = append(all, f.byKey[id]...)
			continue
		}
		if pod, service, ok := strings.Cut(word, "."); ok { // a Pod of a StatefulSet
			if _, number, ok := cutLast(pod, "-"); ok && strings.Trim(number, "0123456789") == "" {
				all = append(all, f.byKey[object.ID{Kind: "Service", Namespace: namespace, Name: service}]...)
			}
			continue
		}
		if !f.IsNamespace(word) {
			all = append(all, f.targetsNamed(word, namespace)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// targetsNamed returns the objects with a name that have Pods or select them.
func (f *Facts) targetsNamed(name, namespace string) []int {
	return f.waitTargetsByName.at([2]string{namespace, name}, func(all index[[2]string, []int]) {
		for i := range f.Nodes {
			n := &f.Nodes[i]
			if n.InSync() && n.Kind.Runs != "later" && (!n.Kind.Pod.IsZero() || !n.Kind.Selects.IsZero()) {
				at := [2]string{n.Key.Namespace, n.ID.Name}
				all[at] = append(all[at], i)
			}
		}
	})
}
