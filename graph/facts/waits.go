package facts

import (
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

// WaitTargets returns the nodes that the containers of a node wait for.
func (f *Facts) WaitTargets(node int) map[int]bool {
	return f.targets.get(func() map[int]map[int]bool {
		all := map[int]map[int]bool{}
		for _, w := range f.Waits() {
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
	// The kubelet restarts a container that fails, but for Jobs only a limited
	// number of times.
	waits, byVariables := f.Base.Waits(c.Get("image").Text(), f.scripts(i, pod, c), n.Kind.Runs != "once")
	if len(waits) == 0 {
		return nil
	}
	var called []string
	for _, line := range waits {
		called = append(called, text.Called(f.Base, line))
	}
	for _, w := range f.containerWords(i, c, field) {
		env := strings.Contains(w.Field, ".env")
		if env && w.Name != "" && (byVariables && f.Base.NamesWait(w.Name) || slices.ContainsFunc(waits, func(line string) bool { return strings.Contains(line, w.Name) })) {
			called = append(called, w.Value)
		}
	}
	for _, line := range called {
		for _, to := range f.waitTargetsIn(line, n.Key.Namespace) {
			for _, target := range append([]int{to}, f.Backends(to)...) {
				if target != i {
					found = append(found, Wait{i, target, field})
				}
			}
		}
	}
	return found
}

// scripts returns the command line of a container and the mounted files that it names.
func (f *Facts) scripts(i int, pod, c object.Value) []string {
	line := strings.Join(append(Texts(c.Get("command")), Texts(c.Get("args"))...), " ")
	all := []string{line}
	for _, m := range c.Get("volumeMounts").Items() {
		for _, v := range pod.Get("spec", "volumes").Items() {
			if v.Get("name").Text() != m.Get("name").Text() {
				continue
			}
			for _, file := range f.mountedFiles(i, pod, v, "") {
				if strings.Contains(line, "/"+file.path) || strings.HasSuffix(m.Get("mountPath").Text(), "/"+file.path) {
					all = append(all, file.Value)
				}
			}
		}
	}
	return all
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
