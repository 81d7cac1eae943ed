package graph

import (
	"encoding/base64"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// word is a value in the configuration of a workload: a variable, an argument, or a
// file of a ConfigMap. It has no schema; only its form shows what it means.
type word struct {
	// name is the variable, flag or file.
	name, value string
	field       string
	// isSAN marks a name for a certificate.
	isSAN bool
	// file marks a whole file, in which only addresses are recognized.
	file bool
	// from is the node that contains the value, if not the workload.
	from int
}

// words returns the words of a workload's Pods, with $(VARIABLES) replaced as in
// Kubernetes. Values are only used to find names and are never printed, since some
// come from Secrets.
func (b *builder) words(i int) []word {
	if known, ok := b.wordsOf[i]; ok {
		return known
	}
	var all []word
	n := b.Nodes[i]
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, list := range []string{"initContainers", "containers"} {
			for at, c := range tmpl.Value.Get("spec", list).Items() {
				all = append(all, b.containerWords(i, c, join(tmpl.Field, "spec."+list+"["+strconv.Itoa(at)+"]"))...)
			}
		}
		for at, v := range tmpl.Value.Get("spec", "volumes").Items() {
			field := join(tmpl.Field, "spec.volumes["+strconv.Itoa(at)+"].configMap")
			all = append(all, b.files(i, v.Get("configMap", "name").Text(), field, true)...)
		}
	}
	b.wordsOf[i] = all
	return all
}

func (b *builder) containerWords(i int, c object.Value, field string) []word {
	var all []word
	vars := map[string]string{}
	for at, from := range c.Get("envFrom").Items() {
		where := field + ".envFrom[" + strconv.Itoa(at) + "]"
		for _, ref := range []string{"configMapRef", "secretRef"} {
			all = append(all, b.files(i, from.Get(ref, "name").Text(), where+"."+ref, false)...)
		}
	}
	for _, e := range c.Get("env").Items() {
		w := word{name: e.Get("name").Text(), from: i, value: e.Get("value").Text()}
		w.isSAN = b.base.IsSANKey(w.name, false)
		w.field = field + ".env." + w.name
		switch from := e.Get("valueFrom"); {
		case from.Get("fieldRef", "fieldPath").Text() == "metadata.namespace":
			w.value = b.Nodes[i].Key.Namespace
		case from.Get("configMapKeyRef").Exists():
			w.value = b.data("ConfigMap", b.Nodes[i].Key.Namespace, from.Get("configMapKeyRef"))
		case from.Get("secretKeyRef").Exists():
			w.value = b.data("Secret", b.Nodes[i].Key.Namespace, from.Get("secretKeyRef"))
		}
		w.value = expandVars(w.value, vars)
		vars[w.name] = w.value
		all = append(all, w)
	}
	args := append(texts(c.Get("command")), texts(c.Get("args"))...)
	flag := ""
	for _, arg := range args {
		name, value, assigned := strings.Cut(arg, "=")
		switch {
		case assigned && !strings.ContainsAny(name, " \n/:") && !b.isConnection(arg):
			flag = name
		case strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, " \n"):
			flag = arg
			continue
		default:
			value = arg
		}
		all = append(all, word{name: flag, value: expandVars(value, vars), field: field + ".args", from: i,
			isSAN: b.base.IsSANFlag(flag, args) || b.base.IsSANKey(flag, false)})
		flag = ""
	}
	return all
}

// files returns the entries of a ConfigMap or Secret that is used as a whole.
func (b *builder) files(i int, name, field string, file bool) []word {
	if name == "" {
		return nil
	}
	kind := "ConfigMap"
	if strings.HasSuffix(field, ".secretRef") {
		kind = "Secret"
	}
	var all []word
	for _, c := range b.byKey[object.ID{Kind: kind, Namespace: b.Nodes[i].Key.Namespace, Name: name}] {
		data := entries(b.Nodes[c])
		for _, key := range slices.Sorted(maps.Keys(data)) {
			all = append(all, word{name: key, value: data[key], field: field, file: file, from: c})
		}
	}
	return all
}

// data returns the entry of a ConfigMap or Secret of the component that sets a
// variable.
func (b *builder) data(kind, namespace string, ref object.Value) string {
	for _, c := range b.byKey[object.ID{Kind: kind, Namespace: namespace, Name: ref.Get("name").Text()}] {
		return entries(b.Nodes[c])[ref.Get("key").Text()]
	}
	return ""
}

// entries returns the texts in a ConfigMap or Secret.
func entries(n Node) map[string]string {
	all := map[string]string{}
	secret := n.Key.Kind == "Secret"
	for _, f := range n.Get("data").Fields() {
		all[f.Key] = f.Value.Text()
		if secret {
			text, _ := base64.StdEncoding.DecodeString(f.Value.Text()) // invalid base64 contains no address
			all[f.Key] = string(text)
		}
	}
	for _, f := range n.Get("stringData").Fields() {
		all[f.Key] = f.Value.Text()
	}
	return all
}

// longestWord is the maximum size of an expanded word in bytes. Each variable may
// contain another one twice, and so on.
const longestWord = 64 << 10

// expandVars replaces $(NAME) as Kubernetes does: once, from left to right, where
// "$$" stands for "$" and unknown names are kept. It returns nothing if the result
// is too long.
func expandVars(text string, vars map[string]string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		value, known := vars[name]
		switch {
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			text = after[1:]
		case strings.HasPrefix(after, "(") && closed && known:
			out.WriteString(value)
			text = rest
		default:
			out.WriteByte('$')
			text = after
		}
		if out.Len() > longestWord {
			return ""
		}
	}
}

// address is a Service that a word leads to.
type address struct {
	service object.ID
	word    word
}

// addresses finds the Services of the component in a word: by a qualified name
// (db.shop, db.shop.svc), in a URL or with its port (db:5432, nc db 5432), after a
// flag for an address (pg_isready -h db), in a connection string (host=db port=5432),
// or as the whole value of a variable for an address (DB_HOST). Elsewhere a bare word is usually the name of the
// application itself.
func (b *builder) addresses(w word, namespace string) []address {
	if w.isSAN || len(b.serviceNames) == 0 {
		return nil
	}
	var all []address
	seen := map[object.ID]bool{}
	w.value = b.calledText(w.value)
	text := w.value
	for at, end := range hosts(text) {
		host := strings.TrimRight(text[at:end], ".")
		if b.base.IsSANPrefix(text[:at]) {
			continue
		}
		if id, ok := b.service(host, namespace, b.looksLikeAddress(w, namespace, at, end)); ok && !seen[id] {
			seen[id] = true
			all = append(all, address{id, w})
		}
	}
	return all
}

// hosts iterates over the start and end of each possible host name in a text.
func hosts(text string) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for at := 0; at < len(text); {
			if !isHostByte(text[at]) {
				at++
				continue
			}
			end := at
			for end < len(text) && isHostByte(text[end]) {
				end++
			}
			if !yield(at, end) {
				return
			}
			at = end
		}
	}
}

func isHostByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.'
}

// looksLikeAddress reports whether a host without dots at text[at:end] is in a
// position for an address.
func (b *builder) looksLikeAddress(w word, namespace string, at, end int) bool {
	before, after := w.value[:at], w.value[end:]
	if strings.HasSuffix(before, "://") || strings.HasSuffix(before, "@") {
		return true
	}
	if len(after) > 1 && after[0] == ':' && after[1] >= '0' && after[1] <= '9' {
		return before == "" || strings.ContainsAny(before[len(before)-1:], " ,;=\"'\n@/(")
	}
	if b.isConnectionHost(w.value, at, end) {
		return true
	}
	ends := after == "" || blank(after[0])
	if before != "" && blank(before[len(before)-1]) && ends {
		return b.base.IsAddressFlag(lastWord(before)) ||
			b.hasPort(object.ID{Kind: "Service", Namespace: namespace, Name: w.value[at:end]}, firstNumber(after))
	}
	if flag, ok := strings.CutSuffix(before, "="); ok && ends {
		return b.base.IsAddressFlag(lastWord(flag))
	}
	alone := (before == "" || before[len(before)-1] == ',') && (after == "" || after[0] == ',')
	return alone && !w.file && b.base.IsAddress(w.name)
}

// lastWord returns the last word of a line, if it is short enough for a flag.
func lastWord(text string) string {
	const longest = 64
	text = strings.TrimRight(text[max(0, len(text)-longest):], " \t")
	start := strings.LastIndexAny(text, " \t\n") + 1
	if start == 0 && len(text) == longest {
		return ""
	}
	return text[start:]
}

// blank reports whether a byte separates the words of a script.
func blank(c byte) bool { return strings.IndexByte(" \t\n;\"')", c) >= 0 }

// firstNumber returns the number at the start of a text, after white space.
func firstNumber(text string) string {
	text = strings.TrimLeft(text, " \t")
	return text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
}

// hasPort reports whether a Service of the component has a port.
func (b *builder) hasPort(service object.ID, port string) bool {
	for _, s := range b.byKey[service] {
		for _, p := range b.Nodes[s].Get("spec", "ports").Items() {
			if port != "" && p.Get("port").Text() == port {
				return true
			}
		}
	}
	return false
}

// service resolves a host to a Service that is in the component or that one of its
// objects creates at run time.
func (b *builder) service(host, namespace string, bare bool) (object.ID, bool) {
	parts := strings.Split(host, ".")
	try := func(name, ns string) (object.ID, bool) {
		id := object.ID{Kind: "Service", Namespace: ns, Name: name}
		return id, b.serviceNames[id] || b.hasLikelyProducer(id)
	}
	if len(parts) == 1 {
		if !bare {
			return object.ID{}, false
		}
		return try(parts[0], namespace)
	}
	if len(parts) == 2 || parts[2] == "svc" {
		if id, ok := try(parts[0], parts[1]); ok {
			return id, true
		}
	}
	if len(parts) == 2 && podName.MatchString(parts[0]) {
		return try(parts[1], namespace)
	}
	if len(parts) == 3 || len(parts) > 3 && parts[3] == "svc" { // a Pod of a StatefulSet
		return try(parts[1], parts[2])
	}
	return object.ID{}, false
}

// hasLikelyProducer reports whether a custom resource of the component probably creates a
// Service, and records which: operators name Services after the resource, alone or
// with a suffix ("db", "db-rw").
func (b *builder) hasLikelyProducer(id object.ID) bool {
	if b.runtimes == nil {
		b.assumed = map[object.ID]bool{}
		b.runtimes = map[string][]int{}
		for i := range b.Nodes {
			if n := &b.Nodes[i]; n.Kind.Rung == knowledge.Workloads && n.HasHealth && n.Kind.Pod.IsZero() && !b.base.Builtin(n.ID.Group) && n.InSync() {
				b.runtimes[n.Key.Namespace] = append(b.runtimes[n.Key.Namespace], i)
			}
		}
	}
	best := -1
	for _, i := range b.runtimes[id.Namespace] {
		name := b.Nodes[i].ID.Name
		if (id.Name == name || strings.HasPrefix(id.Name, name+"-")) && (best < 0 || len(name) > len(b.Nodes[best].ID.Name)) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	b.producers[id] = append(b.producers[id], best)
	b.serviceNames[id], b.assumed[id] = true, true
	return true
}

// podName matches the suffix of a StatefulSet's Pod names.
var podName = regexp.MustCompile(`-[0-9]+$`)

// findServices collects the names that words may lead to.
func (b *builder) findServices() {
	for _, n := range b.Nodes {
		if !n.Kind.Selects.IsZero() {
			b.serviceNames[n.Key] = true
		}
	}
	for id := range b.producers {
		if k, _ := b.base.Kind(id.Group, id.Kind); !k.Selects.IsZero() {
			b.serviceNames[id] = true
		}
	}
}

// servers returns the nodes that answer at a Service: the workloads behind it, or
// the object that creates it at run time.
func (b *builder) servers(service object.ID) []int {
	var all []int
	for _, s := range b.byKey[service] {
		all = append(all, b.backends[s]...)
	}
	return append(all, b.producers[service]...)
}

// referByCalls adds references for addresses and names in the configuration of a
// workload. The Service or object with that name should exist when the workload
// starts. The workload behind a Service need not run first, since two workloads may
// call each other.
func (b *builder) referByCalls() {
	b.findServices()
	for i, n := range b.Nodes {
		if n.Kind.Pod.IsZero() {
			continue
		}
		for _, w := range b.words(i) {
			for _, a := range b.addresses(w, n.Key.Namespace) {
				for _, s := range b.byKey[a.service] {
					b.refer(b.callReference(i, s, w.field, knowledge.Exists))
				}
				if n.Kind.Runs == "once" {
					continue // orderJobs handles Jobs
				}
				for _, server := range b.servers(a.service) {
					b.refer(b.callReference(i, server, w.field, knowledge.NoOrder))
				}
			}
		}
	}
}

// referByNames adds references for bare names, unless a call or a wait says more about the
// same object.
func (b *builder) referByNames() {
	for i, n := range b.Nodes {
		if n.Kind.Pod.IsZero() {
			continue
		}
		for _, w := range b.words(i) {
			for _, to := range b.namedBy(w, n.Key.Namespace) {
				if !b.refersTo(i, to) {
					b.refer(b.inferredReference(i, to, w.field, knowledge.Exists, "names"))
				}
			}
		}
	}
}

// referByAddresses makes a custom resource with the address of a Service of the
// component depend on the workload behind it: the controller calls the Service, and
// the resource does not become healthy before.
func (b *builder) referByAddresses() {
	if len(b.serviceNames) == 0 {
		return
	}
	for i, n := range b.Nodes {
		if b.base.Builtin(n.ID.Group) || !n.Kind.Pod.IsZero() {
			continue
		}
		meaning := knowledge.NoOrder
		if n.HasHealth {
			meaning = knowledge.Healthy
		}
		eachText(n.Get("spec"), "spec", "", func(field, key, text string) {
			if b.base.IsContent(field) {
				return
			}
			for _, a := range b.addresses(word{name: key, value: text, field: field, from: i, isSAN: b.base.IsSANField(key)}, n.Key.Namespace) {
				for _, server := range b.servers(a.service) {
					if b.refersTo(i, server) {
						continue
					}
					r := b.callReference(i, server, field, meaning)
					if b.base.IsAddress(key) && !b.base.IsSetting(field) && !b.assumed[a.service] {
						r.Sign = Address
					}
					b.refer(r)
				}
			}
		})
	}
}

// eachText visits the texts below a value, with their fields and last keys.
func eachText(v object.Value, field, key string, visit func(field, key, text string)) {
	for _, f := range v.Fields() {
		eachText(f.Value, knowledge.Join(field, f.Key), f.Key, visit)
	}
	for i, item := range v.Items() {
		eachText(item, field+"["+strconv.Itoa(i)+"]", key, visit)
	}
	if v.IsText() {
		visit(field, key, v.Text())
	}
}

// namedBy finds the objects that a word names, with or without namespace
// ("shop/settings"). It considers only kinds that Pods name in fields, or that they
// call.
func (b *builder) namedBy(w word, namespace string) []int {
	name, qualified := strings.CutPrefix(w.value, namespace+"/")
	if w.file || w.isSAN || !qualified && (strings.Contains(name, "/") || b.isNamespace(name)) || name == "" {
		return nil
	}
	var all []int
	for _, gk := range b.nameableKinds {
		all = append(all, b.byKey[object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: namespace, Name: name}]...)
	}
	return all
}

// findNameableKinds returns the kinds without health of their own that Pods name in
// fields, and those that they call.
func (b *builder) findNameableKinds() []knowledge.GroupKind {
	var all []knowledge.GroupKind
	seen := map[knowledge.GroupKind]bool{}
	add := func(gk knowledge.GroupKind) {
		if k, ok := b.base.Kind(gk.Group, gk.Kind); ok && !seen[gk] && !k.IsAwaited() && k.Scope == "" {
			seen[gk] = true
			all = append(all, gk)
		}
	}
	for _, rec := range b.base.PodReferences() {
		for _, gk := range rec.To {
			add(gk)
		}
	}
	for _, n := range b.Nodes {
		if !n.Kind.Selects.IsZero() {
			add(knowledge.GroupKind{Group: n.Kind.Group, Kind: n.Kind.Kind})
		}
	}
	return all
}

// refersTo reports whether one node refers to another.
func (b *builder) refersTo(from, to int) bool { return len(b.pairs[[2]int{from, to}]) > 0 }
