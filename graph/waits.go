package graph

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// referByWaits: an init container, or a container of a Job, that tries until something of the
// component answers depends on it: it must not come before it. That it tries makes
// sure that nothing has to be healthy first.
func (b *builder) referByWaits() {
	b.waitsFor = map[int]map[int]bool{}
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

// waitsIn refers to what the words of a container that waits name.
func (b *builder) waitsIn(i int, pod, c object.Value, field string) {
	n := &b.Nodes[i]
	// What a container tries once, the kubelet tries again, but not without end in a Job.
	waits, alone := b.base.Waits(c.Get("image").Text(), b.scripts(i, pod, c), n.Kind.Runs != "once")
	if len(waits) == 0 {
		return
	}
	var given []string
	for _, text := range waits {
		given = append(given, b.spoken(text))
	}
	for _, w := range b.containerWords(i, c, field) {
		env := strings.Contains(w.field, ".env")
		if env && w.name != "" && (alone && b.base.IsAddress(w.name) || slices.ContainsFunc(waits, func(text string) bool { return strings.Contains(text, w.name) })) {
			given = append(given, w.value)
		}
	}
	for _, text := range given {
		for _, to := range b.waitedFor(text, n.Key.Namespace) {
			b.waitFor(i, to, field)
			for _, server := range b.behind[to] {
				b.waitFor(i, server, field)
			}
		}
	}
}

func (b *builder) waitFor(i, to int, field string) {
	if to == i {
		return
	}
	b.refer(b.inferred(i, to, field, knowledge.Exists, "waits for"))
	if b.waitsFor[i] == nil {
		b.waitsFor[i] = map[int]bool{}
	}
	b.waitsFor[i][to] = true
}

// scripts are the command line of a container, and the files of mounted ConfigMaps that
// it names.
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

// waitedFor finds the Services, workloads and Jobs that a command line which waits
// names: as hosts, as kind/name, or by their bare names.
func (b *builder) waitedFor(text, namespace string) []int {
	var all []int
	for at, end := range hosts(text) {
		word := strings.Trim(text[at:end], ".-")
		before := text[:at]
		if word == "" || b.base.IsCertifiedPrefix(before) {
			continue
		}
		if kind, slash := strings.CutSuffix(before, "/"); slash && !strings.HasSuffix(kind, "/") { // a path, or kind/name
			kind = kind[strings.LastIndexFunc(kind, func(r rune) bool { return r > 127 || !isHostByte(byte(r)) })+1:]
			for _, to := range b.waitable(word, namespace) {
				if b.base.IsShort(kind, b.Nodes[to].ID.Kind) {
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
			all = append(all, b.waitable(word, namespace)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// waitable are the objects of a name that have Pods, or lead to some.
func (b *builder) waitable(name, namespace string) []int {
	if b.waitables == nil {
		b.waitables = map[[2]string][]int{}
		for i := range b.Nodes {
			n := &b.Nodes[i]
			if n.InSync() && n.Kind.Runs != "later" && (!n.Kind.Pod.IsZero() || !n.Kind.Selects.IsZero()) {
				at := [2]string{n.Key.Namespace, n.ID.Name}
				b.waitables[at] = append(b.waitables[at], i)
			}
		}
	}
	return b.waitables[[2]string{namespace, name}]
}
