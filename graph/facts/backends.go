package facts

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

type backendFacts struct {
	backends     memo[map[int][]int]
	served       memo[[]Served]
	webhooks     memo[[]Webhook]
	convertersOf memo[map[int][]int]
	hooksServed  memo[map[int][]Webhook]
}

// Served is a workload behind a Service that an object registers: a webhook
// configuration, an APIService, or a CRD with a conversion.
type Served struct {
	By, Workload int
	// Field is the field of By that names the Service.
	Field  string
	Record *knowledge.Reference
}

// Served returns the workloads that serve what other objects register.
func (f *Facts) Served() []Served {
	return f.served.get(func() (all []Served) {
		for i := range f.Nodes {
			n := &f.Nodes[i]
			for at := range n.Kind.References {
				rec := &n.Kind.References[at]
				if !rec.ToBackends || n.IsHook() {
					continue
				}
				for _, v := range rec.At.Find(n.Root()) {
					for _, workload := range f.mentionedBackends(i, rec, v) {
						all = append(all, Served{i, workload, v.Field, rec})
					}
				}
			}
		}
		return all
	})
}

// mentionedBackends returns the workloads behind the Service that a value mentions.
func (f *Facts) mentionedBackends(i int, rec *knowledge.Reference, v knowledge.Found) []int {
	id, _, ok := f.Named(i, rec, v)
	if !ok {
		return nil
	}
	if id == apiServer {
		return f.backendsOfAPI(v.Value.Get("path").Text())
	}
	var all []int
	for _, service := range f.resolve(id, rec) {
		all = append(all, f.Backends(service)...)
	}
	return all
}

// Backends returns the workloads whose Pods a Service selects.
func (f *Facts) Backends(service int) []int { return f.selected()[service] }

// selected maps each Service to its workloads. In many charts hooks and tests have the
// labels of the release, but they are not backends.
func (f *Facts) selected() map[int][]int { return f.backends.get(f.selectPods) }

func (f *Facts) selectPods() map[int][]int {
	all := map[int][]int{}
	type label struct{ namespace, key, value string }
	workloads := map[label][]int{}
	for w, n := range f.Nodes {
		if !n.Serves() {
			continue
		}
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			for _, field := range tmpl.Value.Get("metadata", "labels").Fields() {
				l := label{n.Key.Namespace, field.Key, field.Value.Text()}
				workloads[l] = append(workloads[l], w)
			}
		}
	}
	for s, service := range f.Nodes {
		selectors := service.Kind.Selects.Find(service.Root())
		if len(selectors) == 0 || service.IsHook() {
			continue
		}
		selector := selectors[0].Value.Fields()
		if len(selector) == 0 {
			continue
		}
		// Start with the label that the fewest workloads have.
		rarest := slices.MinFunc(selector, func(x, y object.Field) int {
			return len(workloads[label{service.Key.Namespace, x.Key,
				x.Value.Text()}]) - len(workloads[label{service.Key.Namespace, y.Key, y.Value.Text()}])
		})
		for _, w := range workloads[label{service.Key.Namespace, rarest.Key, rarest.Value.Text()}] {
			workload := f.Nodes[w]
			for _, tmpl := range workload.Kind.Pod.Find(workload.Root()) {
				if hasLabels(tmpl.Value, selector) {
					all[s] = append(all[s], w)
				}
			}
		}
	}
	return all
}

func hasLabels(template object.Value, selector []object.Field) bool {
	labels := template.Get("metadata", "labels")
	return !slices.ContainsFunc(selector, func(f object.Field) bool { return labels.Get(f.Key).Text() != f.Value.Text() })
}

// serversOf returns the workloads behind a webhook of a configuration.
func (f *Facts) serversOf(config int, hook object.Value) []int {
	service := hook.Get("clientConfig", "service")
	id := object.ID{Kind: "Service", Namespace: service.Get("namespace").Text(), Name: service.Get("name").Text()}
	if id.Namespace == "" {
		id.Namespace = f.Nodes[config].Destination
	}
	if id == apiServer {
		return f.backendsOfAPI(service.Get("path").Text())
	}
	var all []int
	for _, s := range f.byKey[id] {
		all = append(all, f.Backends(s)...)
	}
	return all
}

// apiServer is the Service of the API server
// (https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/).
var apiServer = object.ID{Kind: "Service", Namespace: "default", Name: "kubernetes"}

// backendsOfAPI returns the workloads that serve a path of the API server, such as
// /apis/GROUP/VERSION/RESOURCE, by an APIService of the component.
func (f *Facts) backendsOfAPI(path string) []int {
	rest, isAPI := strings.CutPrefix(path, "/apis/")
	group, _, _ := strings.Cut(rest, "/")
	var all []int
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if !isAPI || n.Kind.Serves.IsZero() || n.Kind.Serves.Text(n.Root()) != group {
			continue
		}
		for at := range n.Kind.References {
			rec := &n.Kind.References[at]
			if !rec.ToBackends {
				continue
			}
			for _, v := range rec.At.Find(n.Root()) {
				all = append(all, f.mentionedBackends(i, rec, v)...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// conversions maps each CRD to the workloads that convert its objects.
func (f *Facts) conversions() map[int][]int {
	return f.convertersOf.get(func() map[int][]int {
		all := map[int][]int{}
		for _, s := range f.Served() {
			if f.Nodes[s.By].Kind.Defines != nil {
				all[s.By] = append(all[s.By], s.Workload)
			}
		}
		return all
	})
}

// HasConversions reports whether workloads of the components convert custom resources.
func (f *Facts) HasConversions() bool { return len(f.conversions()) > 0 }

// Converters returns the workloads that must convert a custom resource before it is
// stored: the backends of its CRD's conversion webhook, if its version is not the
// storage version, or if the CRD does not contain the version.
func (f *Facts) Converters(i int) []int {
	n := &f.Nodes[i]
	def, ok := f.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]
	if !ok || len(f.conversions()[def.Node]) == 0 {
		return nil
	}
	if v, ok := f.versionOf(i); ok && v.Get("storage").True() {
		return nil
	}
	return f.conversions()[def.Node]
}

// Statusless reports whether the CRD of a custom resource, if it is in the
// component, defines no status subresource for its version. Workloads read such a
// resource and write nothing back.
func (f *Facts) Statusless(i int) bool {
	version, ok := f.versionOf(i)
	return ok && !version.Get("subresources", "status").Exists()
}

// versionOf returns the version of a custom resource in its CRD.
func (f *Facts) versionOf(i int) (object.Value, bool) {
	n := &f.Nodes[i]
	def, ok := f.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]
	if !ok || !f.Base.Builtin(f.Nodes[def.Node].ID.Group) {
		return object.Value{}, false
	}
	_, name := cutVersion(n.Get("apiVersion").Text())
	for _, v := range f.Nodes[def.Node].Get("spec", "versions").Items() {
		if v.Get("name").Text() == name {
			return v, true
		}
	}
	return object.Value{}, false
}

func cutVersion(apiVersion string) (group, version string) {
	if group, version, ok := strings.Cut(apiVersion, "/"); ok {
		return group, version
	}
	return "", apiVersion
}

// Extensions is the API group of CRDs.
const Extensions = "apiextensions.k8s.io"

// Texts returns the texts of the elements of a list.
func Texts(v object.Value) []string {
	var all []string
	for _, item := range v.Items() {
		all = append(all, item.Text())
	}
	return all
}

// HasAny reports whether a list contains one of some words.
func HasAny(list []string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
}
