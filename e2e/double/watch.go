package double

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// watch holds a copy of all objects of the API server. Definitions come and go
// during a run, and their objects with them.
type watch struct {
	client  dynamic.Interface
	changed func() // called at every change
	log     *slog.Logger

	mu       sync.Mutex
	watching map[schema.GroupVersionResource]*watched
}

type watched struct {
	kind       kind
	informer   cache.SharedIndexInformer
	definition types.UID // of a custom resource
	stop       context.CancelFunc
}

// kind is how objects of a kind are spoken to.
type kind struct {
	schema.GroupKind
	resource   schema.GroupVersionResource
	namespaced bool
	custom     bool // defined by a CustomResourceDefinition
	status     bool // has a status of its own
}

// unwatched are resources of which nothing is read, or that are only views.
var unwatched = map[string]bool{
	"events": true, "events.events.k8s.io": true, "leases.coordination.k8s.io": true, "endpoints": true, "componentstatuses": true,
	"flowschemas.flowcontrol.apiserver.k8s.io": true, "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": true,
	"ipaddresses.networking.k8s.io": true,
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// newWatch watches the kinds of the API server itself and returns when all are
// known. Custom resources follow with [watch.follow].
func newWatch(ctx context.Context, config *rest.Config, changed func(), log *slog.Logger) (*watch, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("watching the cluster: %w", err)
	}
	w := &watch{client: client, changed: changed, log: log, watching: map[schema.GroupVersionResource]*watched{}}
	kinds, err := builtinKinds(config)
	if err != nil {
		return nil, fmt.Errorf("watching the cluster: %w", err)
	}
	for _, k := range kinds {
		w.start(ctx, k, "")
	}
	for _, running := range w.watching {
		if !cache.WaitForCacheSync(ctx.Done(), running.informer.HasSynced) {
			return nil, fmt.Errorf("watching %s: %w", running.kind.resource, context.Cause(ctx))
		}
	}
	return w, nil
}

func builtinKinds(config *rest.Config) ([]kind, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, err := client.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	var kinds []kind
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			resource := version.WithResource(r.Name)
			if builtin[version.Group] && !unwatched[resource.GroupResource().String()] {
				kinds = append(kinds,
					kind{GroupKind: schema.GroupKind{Group: version.Group, Kind: r.Kind}, resource: resource, namespaced: r.Namespaced, status: true})
			}
		}
	}
	return kinds, nil
}

// rbac is the group of permissions.
const rbac = "rbac.authorization.k8s.io"

// builtin are the groups of the API server itself. Discovery does not tell them
// from those of definitions and of aggregated APIs.
var builtin = map[string]bool{
	"": true, "apps": true, "batch": true, "autoscaling": true, "policy": true, "admissionregistration.k8s.io": true,
	"apiextensions.k8s.io": true, "apiregistration.k8s.io": true, "certificates.k8s.io": true, "discovery.k8s.io": true,
	"networking.k8s.io": true, "node.k8s.io": true, rbac: true, "resource.k8s.io": true,
	"scheduling.k8s.io": true, "storage.k8s.io": true,
}

func (w *watch) start(ctx context.Context, k kind, definition types.UID) {
	ctx, stop := context.WithCancel(ctx)
	informer := dynamicinformer.NewFilteredDynamicInformer(w.client, k.resource, "", 0, cache.Indexers{}, nil).Informer()
	informer.SetTransform(func(object any) (any, error) {
		if o, ok := object.(*unstructured.Unstructured); ok {
			o.SetManagedFields(nil)
		}
		return object, nil
	})
	informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		w.log.Debug("watching again", "resource", k.resource.GroupResource().String(), "error", err)
	})
	informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { w.changed() },
		UpdateFunc: func(any, any) { w.changed() },
		DeleteFunc: func(any) { w.changed() },
	})
	w.watching[k.resource] = &watched{k, informer, definition, stop}
	go informer.Run(ctx.Done())
}

// follow watches the kinds of the established definitions, and no longer those
// whose definition has gone. The stored version is read, so that nobody need
// convert it.
func (w *watch) follow(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted := map[schema.GroupVersionResource]types.UID{}
	for _, item := range w.watching[definitions].informer.GetStore().List() {
		crd := item.(*unstructured.Unstructured)
		k, ok := definedKind(crd)
		if !ok || crd.GetDeletionTimestamp() != nil && w.watching[k.resource] == nil {
			continue
		}
		wanted[k.resource] = crd.GetUID()
		if running := w.watching[k.resource]; running == nil {
			w.start(ctx, k, crd.GetUID())
		}
	}
	for resource, running := range w.watching {
		if running.kind.custom && wanted[resource] != running.definition {
			running.stop()
			delete(w.watching, resource)
			w.changed() // its successor, if any, starts in the next turn
		}
	}
}

func definedKind(crd *unstructured.Unstructured) (kind, bool) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if conditionStatus(crd, "Established") != "True" {
		return kind{}, false
	}
	// The stored version comes first if it is served, else any served one.
	slices.SortStableFunc(versions, func(a, b any) int {
		stored := func(v any) int {
			if s, _, _ := unstructured.NestedBool(v.(map[string]any), "storage"); s {
				return 0
			}
			return 1
		}
		return stored(a) - stored(b)
	})
	for _, v := range versions {
		version := v.(map[string]any)
		if served, _, _ := unstructured.NestedBool(version, "served"); !served {
			continue
		}
		_, status, _ := unstructured.NestedMap(version, "subresources", "status")
		group := text(crd, "spec", "group")
		return kind{
			GroupKind:  schema.GroupKind{Group: group, Kind: text(crd, "spec", "names", "kind")},
			resource:   schema.GroupVersionResource{Group: group, Version: version["name"].(string), Resource: text(crd, "spec", "names", "plural")},
			namespaced: text(crd, "spec", "scope") == "Namespaced",
			custom:     true,
			status:     status,
		}, true
	}
	return kind{}, false
}

// world is all that is in the cluster at one moment. Nothing of it is changed.
type world struct {
	objects map[Ref]*unstructured.Unstructured
	kinds   map[schema.GroupKind]kind
	byKind  map[schema.GroupKind][]*unstructured.Unstructured
	byUID   map[types.UID]*unstructured.Unstructured
}

func (w *watch) world() *world {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := &world{
		objects: map[Ref]*unstructured.Unstructured{}, kinds: map[schema.GroupKind]kind{},
		byKind: map[schema.GroupKind][]*unstructured.Unstructured{}, byUID: map[types.UID]*unstructured.Unstructured{},
	}
	for _, running := range w.watching {
		if running.kind.custom && !running.informer.HasSynced() {
			continue
		}
		all.kinds[running.kind.GroupKind] = running.kind
		for _, item := range running.informer.GetStore().List() {
			o := item.(*unstructured.Unstructured)
			all.objects[refOf(o)] = o
			all.byUID[o.GetUID()] = o
			all.byKind[running.kind.GroupKind] = append(all.byKind[running.kind.GroupKind], o)
		}
	}
	for _, objects := range all.byKind {
		slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return refOf(a).compare(refOf(b)) })
	}
	return all
}

// get finds an object of a group, in the namespace if the kind has namespaces.
func (w *world) get(group, kindName, namespace, name string) *unstructured.Unstructured {
	if k, known := w.kinds[schema.GroupKind{Group: group, Kind: kindName}]; known && !k.namespaced {
		namespace = ""
	}
	return w.objects[Ref{group, kindName, namespace, name}]
}

// find finds what a test's Ref means.
func (w *world) find(r Ref) *unstructured.Unstructured {
	if o := w.get(r.Group, r.Kind, r.Namespace, r.Name); o != nil || r.Group != "" {
		return o
	}
	for kind := range w.kinds {
		if kind.Kind == r.Kind {
			if o := w.get(kind.Group, r.Kind, r.Namespace, r.Name); o != nil {
				return o
			}
		}
	}
	return nil
}

// of lists the objects of a kind, sorted.
func (w *world) of(group, kindName string) []*unstructured.Unstructured {
	return w.byKind[schema.GroupKind{Group: group, Kind: kindName}]
}

func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func number(o *unstructured.Unstructured, path ...string) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, path...)
	return n
}

// conditionStatus is the status of a condition, empty if there is none.
func conditionStatus(o *unstructured.Unstructured, name string) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == name {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
}
