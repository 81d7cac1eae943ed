package facts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// DescribesMany reports whether a ConfigMap or Secret leads to several Services,
// since then it describes the component to all workloads. One that a store shares
// with its clients leads only to the store.
func (f *Facts) DescribesMany(config int) bool {
	services := map[object.ID]bool{}
	n := f.Nodes[config]
	for key, value := range entries(n) {
		for _, service := range f.Addresses(Word{Word: text.Word{Name: key, Value: value}, From: config}, n.Key.Namespace) {
			services[service] = true
		}
	}
	return len(services) > 1
}

// Addresses finds the Services of the component in a word, unless the program hands the
// address on: by a qualified name (db.shop, db.shop.svc), in a URL or with its port
// (db:5432, nc db 5432), after a flag for an address (pg_isready -h db), in a connection
// string (host=db port=5432), or as the whole value of a variable for an address (DB_HOST).
// Elsewhere a bare word is usually the name of the application itself.
func (f *Facts) Addresses(w Word, namespace string) []object.ID {
	if w.IsSAN || len(f.serviceNames()) == 0 {
		return nil
	}
	var all []object.ID
	w.Value = text.Called(f.Base, w.Value)
	hasPort := func(host, port string) bool {
		return f.hasPort(object.ID{Kind: "Service", Namespace: namespace, Name: host}, port)
	}
	for at, end := range text.Hosts(w.Value) {
		at += text.Glued(f.Base, w.Value[at:end])
		host := strings.TrimRight(w.Value[at:end], ".")
		if f.Base.IsSANPrefix(w.Value[:at]) {
			continue
		}
		bare := !strings.Contains(host, ".")
		id, ok := f.service(host, namespace, bare)
		if ok && !slices.Contains(all, id) &&
			(bare && text.IsAddress(f.Base, w.Word, at, end, hasPort) || !bare && !text.IsRegistered(f.Base, w.Word, w.Value[:at])) {
			all = append(all, id)
		}
	}
	return all
}

// StoreFields returns the stores whose Services are values of a workload: of variables and flags,
// except those for users and databases, or in fields for addresses of its files. Each comes with
// the field of the workload that leads to the value.
func (f *Facts) StoreFields(workload int) map[int]string {
	stores := map[int]string{}
	for _, w := range f.Words(workload) {
		for at, end := range text.Hosts(w.Value) {
			id, ok := f.service(w.Value[at:end], f.Nodes[workload].Key.Namespace, true)
			isValue := !w.IsFile && w.Value == w.Value[at:end] && !f.Base.NamesNoObject(w.Name)
			if !ok || !isValue && !text.IsHostField(f.Base, w.Word, at, end) {
				continue
			}
			for _, server := range f.Servers(id) {
				if f.IsStore(server) && server != workload {
					stores[server] = w.Field
				}
			}
		}
	}
	return stores
}

// hasPort reports whether a Service of the component has a port.
func (f *Facts) hasPort(service object.ID, port string) bool {
	for _, s := range f.byKey[service] {
		for _, p := range f.Nodes[s].Get("spec", "ports").Items() {
			if port != "" && p.Get("port").Text() == port {
				return true
			}
		}
	}
	return false
}

// service resolves a host to a Service that is in the component or that one of its
// objects creates at run time.
func (f *Facts) service(host, namespace string, bare bool) (object.ID, bool) {
	parts := strings.Split(host, ".")
	try := func(name, ns string) (object.ID, bool) {
		id := object.ID{Kind: "Service", Namespace: ns, Name: name}
		if f.serviceNames()[id] {
			return id, true
		}
		_, assumed := f.assumedMaker(id)
		return id, assumed
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
	if len(parts) == 2 && IsPodName(parts[0]) {
		return try(parts[1], namespace)
	}
	if len(parts) == 3 && podName.MatchString(parts[0]) || len(parts) > 3 && parts[3] == "svc" { // a Pod of a StatefulSet
		return try(parts[1], parts[2])
	}
	return object.ID{}, false
}

// assumedMaker returns the custom resource of the component that probably creates a
// Service: operators name Services after the resource, alone or with a suffix ("db",
// "db-rw").
func (f *Facts) assumedMaker(id object.ID) (int, bool) { return f.namedAfter(id.Name, id.Namespace) }

// namedAfter returns the custom resource for which an operator runs Pods and after which
// something in its namespace is named.
func (f *Facts) namedAfter(name, namespace string) (int, bool) {
	runtimes := f.runtimes.get(func() map[string][]int {
		all := map[string][]int{}
		for i := range f.Nodes {
			if n := &f.Nodes[i]; n.Kind.Rung == knowledge.Workloads && n.HasHealth && n.Kind.Pod.IsZero() &&
				!f.Base.Builtin(n.ID.Group) && n.InSync() {
				all[n.Key.Namespace] = append(all[n.Key.Namespace], i)
			}
		}
		return all
	})
	best := -1
	for _, i := range runtimes[namespace] {
		own := f.Nodes[i].ID.Name
		if (name == own || strings.HasPrefix(name, own+"-")) && (best < 0 || len(own) > len(f.Nodes[best].ID.Name)) {
			best = i
		}
	}
	return best, best >= 0
}

// IsAssumed reports whether a Service is only assumed to exist at run time, because of
// its name.
func (f *Facts) IsAssumed(service object.ID) bool {
	_, assumed := f.assumedMaker(service)
	return assumed && !f.serviceNames()[service]
}

// IsPodName reports whether a name may be that of a Pod of a StatefulSet.
func IsPodName(name string) bool { return podName.MatchString(name) }

// podName matches the suffix of a StatefulSet's Pod names.
var podName = lazyregexp.New(`-[0-9]+$`)

// serviceNames returns the Services that are in the component or that according to
// records one of its objects creates.
func (f *Facts) serviceNames() map[object.ID]bool {
	return f.services.get(func() map[object.ID]bool {
		all := map[object.ID]bool{}
		for _, n := range f.Nodes {
			if !n.Kind.Selects.IsZero() {
				all[n.Key] = true
			}
		}
		for id := range f.products() {
			if f.IsService(id) {
				all[id] = true
			}
		}
		return all
	})
}

// IsService reports whether an object is of a kind that leads to Pods.
func (f *Facts) IsService(id object.ID) bool {
	k, _ := f.Base.Kind(id.Group, id.Kind)
	return !k.Selects.IsZero()
}

// Servers returns the nodes that answer at a Service: the workloads behind it, the custom
// resource whose Pods it selects, or the object that creates it at run time.
func (f *Facts) Servers(service object.ID) []int {
	var all []int
	for _, s := range f.byKey[service] {
		if all = append(all, f.Backends(s)...); len(f.Backends(s)) == 0 {
			all = append(all, f.selectedResources(s)...)
		}
	}
	all = append(all, f.Producers(service)...)
	if maker, ok := f.assumedMaker(service); ok && !f.serviceNames()[service] {
		all = append(all, maker)
	}
	return all
}

// selectedResources returns the custom resource whose Pods a Service selects: operators label
// Pods with the name of the resource, often under a key of their own, such as
// cnpg.io/cluster for a Cluster of postgresql.cnpg.io.
func (f *Facts) selectedResources(service int) []int {
	n := &f.Nodes[service]
	var named []int
	for _, selector := range n.Kind.Selects.Find(n.Root()) {
		for _, label := range selector.Value.Fields() {
			i, ok := f.namedAfter(label.Value.Text(), n.Key.Namespace)
			if !ok {
				continue
			}
			if domain, _, own := strings.Cut(label.Key, "/"); own && strings.HasSuffix("."+f.Nodes[i].ID.Group, "."+domain) {
				return []int{i}
			}
			if !slices.Contains(named, i) {
				named = append(named, i)
			}
		}
	}
	return named
}

// Call is a text in the spec of a custom resource that leads to Services.
type Call struct {
	// Field is the field of the text, and Key its last key.
	Field, Key string
	Services   []object.ID
}

// CallsOf returns the calls of a custom resource. The controller calls the Services, and
// the resource does not become healthy before.
func (f *Facts) CallsOf(i int) (all []Call) {
	n := &f.Nodes[i]
	if len(f.serviceNames()) == 0 || f.Base.Builtin(n.ID.Group) || !n.Kind.Pod.IsZero() {
		return nil
	}
	eachText(n.Get("spec"), "spec", "", func(field, key, value string) {
		if f.Base.IsContent(field) {
			return
		}
		w := Word{Word: text.Word{Name: key, Value: value}, Field: field, From: i, IsSAN: f.Base.IsSANField(key)}
		if services := f.Addresses(w, n.Key.Namespace); len(services) > 0 {
			all = append(all, Call{field, key, services})
		}
	})
	return all
}

// eachText visits the texts below a value, with their fields and last keys.
func eachText(v object.Value, field, key string, visit func(field, key, value string)) {
	for _, child := range v.Fields() {
		eachText(child.Value, knowledge.Join(field, child.Key), child.Key, visit)
	}
	for i, item := range v.Items() {
		eachText(item, field+"["+strconv.Itoa(i)+"]", key, visit)
	}
	if v.IsText() {
		visit(field, key, v.Text())
	}
}
