package live

import (
	_ "embed"
	"slices"
	"strings"

	argo "github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Want is something to read: an object; without a name all of a kind in a namespace, or in all of
// them; or the last lines of a container that crashed.
type Want struct {
	ID  object.ID
	Log string // the container, if the log of the Pod ID is wanted
}

// Kind is a kind that a reader may ask for, as the API server calls it.
type Kind struct {
	Group    string `yaml:"group"`
	Version  string `yaml:"version"`
	Kind     string `yaml:"kind"`
	Resource string `yaml:"resource"`
	// Lists means that all objects of a namespace may be listed, not only single ones be read.
	Lists bool `yaml:"lists"`
}

//go:embed kinds.yaml
var kindsText []byte

// Kinds returns the kinds of Kubernetes and Argo CD that Next asks for. Others are custom resources,
// whose version and resource the API server knows.
var Kinds = read[[]Kind](kindsText)

// KindOf returns the entry of a kind in Kinds.
func KindOf(group, kind string) (Kind, bool) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Group == group && k.Kind == kind })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

// Limits of what is read at once.
const (
	maxAwaited = 25 // objects of an Application that are looked at
	maxLogs    = 3
	maxWriters = 12 // objects that may write a missing one
)

// wants collects what to read, each once.
type wants struct {
	*scene
	all  []Want
	seen map[Want]bool
	logs int
}

// Next says what else to read, given what was read. The reader stops when there is nothing that
// it has not tried.
func Next(snap Snapshot, base *knowledge.Base) []Want {
	s := newScene(snap, base)
	s.relate()
	w := &wants{scene: s, seen: map[Want]bool{}}
	if _, ok := s.objects[snap.Application]; !ok {
		w.one(snap.Application)
		return w.all
	}
	w.application(snap.Application, map[object.ID]bool{})
	return w.all
}

func (w *wants) add(one Want) {
	if one.ID.Kind != "Secret" && one.ID.Kind != "" && !w.seen[one] {
		w.seen[one] = true
		w.all = append(w.all, one)
	}
}

// one asks for an object that was not read.
func (w *wants) one(id object.ID) {
	if _, ok := w.objects[id]; !ok && id.Name != "" && !strings.ContainsAny(id.Name, "*{} /") {
		w.add(Want{ID: id})
	}
}

// list asks for all objects of a kind in a namespace.
func (w *wants) list(group, kind, namespace string) {
	w.add(Want{ID: object.ID{Group: group, Kind: kind, Namespace: namespace}})
}

// application asks for what an Application waits for, and for what is behind it.
func (w *wants) application(id object.ID, visited map[object.ID]bool) {
	if visited[id] {
		return
	}
	visited[id] = true
	app, ok := w.objects[id]
	if !ok {
		w.one(id)
		return
	}
	for _, owner := range app.Get("metadata", "ownerReferences").Items() {
		if owner.Get("kind").Text() == "ApplicationSet" {
			w.one(object.ID{Group: argo.Group, Kind: "ApplicationSet", Namespace: id.Namespace, Name: owner.Get("name").Text()})
		}
	}
	children := 0
	for _, r := range w.resourcesOf(app) {
		if argo.IsApplication(r.id) {
			children++
		}
	}
	if children > 3 {
		w.list(argo.Group, "Application", id.Namespace)
	}
	for _, r := range w.resourcesOf(app) {
		if argo.IsApplication(r.id) && children <= 3 || isInstaller(r.id) {
			w.one(r.id)
		}
	}
	all := w.unfinished(app)
	if isTerminating(app) {
		for _, r := range w.resourcesOf(app) {
			all = append(all, r.id)
		}
	}
	for _, to := range all[:min(len(all), maxAwaited)] {
		if argo.IsApplication(to) {
			w.application(to, visited)
			continue
		}
		w.one(to)
		w.around(to, app)
	}
	for _, c := range w.causesOf(id) { // such as the Application of an earlier step, or a webhook's Service
		if argo.IsApplication(c.Because) {
			w.application(c.Because, visited)
		} else if !c.Because.IsZero() {
			w.behind(c.Because, app, map[object.ID]bool{})
		}
	}
}

// around asks for what shows why an object is not as it should be.
func (w *wants) around(id object.ID, app object.Object) {
	namespace := id.Namespace
	if namespace == "" {
		namespace = "default" // Events about objects without a namespace
	}
	w.list("", "Event", namespace)
	w.behind(id, app, map[object.ID]bool{})
}

// behind follows an object to those that it owns, names and blames.
func (w *wants) behind(id object.ID, app object.Object, visited map[object.ID]bool) {
	if visited[id] || len(visited) > 60 {
		return
	}
	visited[id] = true
	w.one(id)
	o, ok := w.objects[id]
	if !ok {
		w.writers(id, app)
		for _, c := range w.absence(id) {
			if !c.Because.IsZero() {
				w.behind(c.Because, app, visited)
			}
		}
		return
	}
	if o.Get("spec", "template", "spec").Exists() || id.Kind == "Service" || id.Kind == "PersistentVolumeClaim" {
		w.list("", "Pod", id.Namespace)
		w.list("", "Event", id.Namespace)
	}
	switch id.GroupKind() {
	case "Job.batch":
		if o.Label("kueue.x-k8s.io/queue-name") != "" {
			w.list("kueue.x-k8s.io", "Workload", id.Namespace)
		}
	case "PersistentVolumeClaim":
		w.workloads(id.Namespace, app)
	case "Pod":
		w.pod(o)
	}
	around := productsOf(id)
	if w.isCustom(id) && id.Namespace != "" { // what an operator has made of it
		around = append(around, productsOf(object.ID{Kind: "custom"})...)
	}
	for _, p := range around {
		for _, kind := range p.Owns {
			w.list(kind.Group, kind.Kind, id.Namespace)
		}
		for _, l := range p.Leads {
			w.one(l.of(o))
		}
	}
	for _, part := range w.parts(o) {
		w.behind(part.ID, app, visited)
	}
	for _, to := range w.mentions(id) {
		w.one(to)
	}
	for _, to := range w.needed(id) {
		w.behind(to, app, visited)
	}
	for _, c := range w.causesOf(id) {
		if c.Rule == "operator-absent" || c.Rule == "plugin" {
			w.operators()
		}
		if !c.Because.IsZero() {
			w.behind(c.Because, app, visited)
		}
	}
}

// operators asks for the workloads of the cluster and their permissions, which show which of them
// is the operator of a kind.
func (w *wants) operators() {
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		w.add(Want{ID: object.ID{Group: appsGroup, Kind: kind}})
	}
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
		w.add(Want{ID: object.ID{Group: "rbac.authorization.k8s.io", Kind: kind}})
	}
}

// workloads asks for the workloads of an Application in a namespace.
func (w *wants) workloads(namespace string, app object.Object) {
	for _, r := range w.resourcesOf(app) {
		if r.id.Namespace == namespace && w.runsPods(r.id) {
			w.one(r.id)
		}
	}
}

// writers asks for objects that may write a missing one: those of the Application whose kind
// writes such objects.
func (w *wants) writers(missing object.ID, app object.Object) {
	if !w.isAbsent(missing) && missing.Kind != "Secret" {
		return
	}
	n := 0
	for _, r := range w.resourcesOf(app) {
		kind, _ := w.base.Kind(r.id.Group, r.id.Kind)
		if n == maxWriters || !slices.ContainsFunc(kind.References, func(ref knowledge.Reference) bool {
			return ref.Meaning == knowledge.Produces && writes(ref, missing.Kind)
		}) {
			continue
		}
		n++
		w.one(r.id)
		if _, ok := w.objects[r.id]; ok {
			w.list("", "Event", r.id.Namespace)
		}
	}
}

// pod asks for the volumes, the node and the logs of a Pod that is not ready.
func (w *wants) pod(o object.Object) {
	for _, v := range o.Get("spec", "volumes").Items() {
		if name := v.Get("persistentVolumeClaim", "claimName").Text(); name != "" {
			w.list("", "PersistentVolumeClaim", o.ID.Namespace)
		}
	}
	if isLeft(o) {
		w.one(object.ID{Kind: "Node", Name: o.Get("spec", "nodeName").Text()})
	}
	if o.Get("spec", "nodeName").Text() == "" {
		w.one(poolOf(o))
	}
	w.crashed(o)
}

// crashed asks for the last lines of containers that crashed, or that do not end.
func (w *wants) crashed(pod object.Object) {
	for _, c := range containersOf(pod) {
		restarts := number(c.status.Get("restartCount"), 0)
		ended := number(c.status.Get("state", "terminated", "exitCode"), 0)
		if w.logs < maxLogs && (restarts > 0 || ended != 0 || c.init && c.status.Get("state", "running").Exists()) {
			w.logs++
			w.add(Want{ID: pod.ID, Log: c.name})
		}
	}
}

// Trim removes what no rule reads from an object, in place: what is left is parsed. Of a Pod that
// is ready, only that it is there matters.
func Trim(item map[string]any) {
	meta, _ := item["metadata"].(map[string]any)
	delete(meta, "managedFields")
	if annotations, ok := meta["annotations"].(map[string]any); ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
	status, _ := item["status"].(map[string]any)
	spec, _ := item["spec"].(map[string]any)
	switch item["kind"] {
	case "Pod":
		all, _ := status["conditions"].([]any)
		for _, c := range all {
			if c, ok := c.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
				item["status"] = map[string]any{"phase": status["phase"], "conditions": []any{c}}
				item["spec"] = map[string]any{"volumes": spec["volumes"], "nodeName": spec["nodeName"]}
			}
		}
	case "Application":
		delete(status, "history")
		delete(status, "summary")
	case "ConfigMap":
		delete(item, "data")
		delete(item, "binaryData")
	case "CustomResourceDefinition":
		delete(spec, "versions")
	}
}
