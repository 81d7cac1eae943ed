package graph

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// referByWaits makes workloads depend on the objects that their init containers wait
// for or, for Jobs, their containers: these retry until the object responds, so the
// workload must not be applied before it. Because they retry, the object need not be
// healthy first.
func (b *builder) referByWaits() {
	b.waitTargets = map[int]map[int]bool{}
	for i, n := range b.Nodes {
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
					b.waitsIn(i, tmpl.Value, c, join(tmpl.Field, "spec."+list+"["+strconv.Itoa(at)+"]"))
				}
			}
		}
	}
}

// waitsIn adds references to the objects that a waiting container names.
func (b *builder) waitsIn(i int, pod, c object.Value, field string) {
	n := &b.Nodes[i]
	// The kubelet restarts a container that fails, but for Jobs only a limited
	// number of times.
	waits, byVariables := b.base.Waits(c.Get("image").Text(), b.scripts(i, pod, c), n.Kind.Runs != "once")
	if len(waits) == 0 {
		return
	}
	var called []string
	for _, text := range waits {
		called = append(called, b.calledText(text))
	}
	for _, w := range b.containerWords(i, c, field) {
		env := strings.Contains(w.field, ".env")
		if env && w.name != "" && (byVariables && b.base.IsAddress(w.name) || slices.ContainsFunc(waits, func(text string) bool { return strings.Contains(text, w.name) })) {
			called = append(called, w.value)
		}
	}
	for _, text := range called {
		for _, to := range b.waitTargetsIn(text, n.Key.Namespace) {
			b.waitFor(i, to, field)
			for _, server := range b.backends[to] {
				b.waitFor(i, server, field)
			}
		}
	}
}

func (b *builder) waitFor(i, to int, field string) {
	if to == i {
		return
	}
	b.refer(b.inferredReference(i, to, field, knowledge.Exists, "waits for"))
	if b.waitTargets[i] == nil {
		b.waitTargets[i] = map[int]bool{}
	}
	b.waitTargets[i][to] = true
}

// scripts returns the command line of a container and the files of mounted
// ConfigMaps that it names.
func (b *builder) scripts(i int, pod, c object.Value) []string {
	line := strings.Join(append(texts(c.Get("command")), texts(c.Get("args"))...), " ")
	all := []string{line}
	for _, m := range c.Get("volumeMounts").Items() {
		for _, v := range pod.Get("spec", "volumes").Items() {
			name := v.Get("configMap", "name").Text()
			if name == "" || v.Get("name").Text() != m.Get("name").Text() {
				continue
			}
			for _, file := range b.files(i, name, "", true) {
				if strings.Contains(line, "/"+file.name) || strings.HasSuffix(m.Get("mountPath").Text(), "/"+file.name) {
					all = append(all, file.value)
				}
			}
		}
	}
	return all
}

// waitTargetsIn finds the Services, workloads and Jobs that a waiting command line
// names: as hosts, as kind/name, or by name only.
func (b *builder) waitTargetsIn(text, namespace string) []int {
	var all []int
	for at, end := range hosts(text) {
		word := strings.Trim(text[at:end], ".-")
		before := text[:at]
		if word == "" || b.base.IsSANPrefix(before) {
			continue
		}
		if kind, slash := strings.CutSuffix(before, "/"); slash && !strings.HasSuffix(kind, "/") { // a path, or kind/name
			kind = kind[strings.LastIndexFunc(kind, func(r rune) bool { return r > 127 || !isHostByte(byte(r)) })+1:]
			for _, to := range b.targetsNamed(word, namespace) {
				if b.base.RefersToKind(kind, b.Nodes[to].ID.Kind) {
					all = append(all, to)
				}
			}
			continue
		}
		if id, ok := b.service(word, namespace, true); ok {
			all = append(all, b.byKey[id]...)
			continue
		}
		if pod, service, ok := strings.Cut(word, "."); ok { // a Pod of a StatefulSet
			if _, number, ok := cutLast(pod, "-"); ok && strings.Trim(number, "0123456789") == "" {
				all = append(all, b.byKey[object.ID{Kind: "Service", Namespace: namespace, Name: service}]...)
			}
			continue
		}
		if !b.isNamespace(word) {
			all = append(all, b.targetsNamed(word, namespace)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// targetsNamed returns the objects with a name that have Pods or select them.
func (b *builder) targetsNamed(name, namespace string) []int {
	return b.waitTargetsByName.at([2]string{namespace, name}, func(all index[[2]string, []int]) {
		for i := range b.Nodes {
			n := &b.Nodes[i]
			if n.InSync() && n.Kind.Runs != "later" && (!n.Kind.Pod.IsZero() || !n.Kind.Selects.IsZero()) {
				at := [2]string{n.Key.Namespace, n.ID.Name}
				all[at] = append(all[at], i)
			}
		}
	})
}
