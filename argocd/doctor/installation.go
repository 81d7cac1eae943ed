package doctor

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/object"
)

// installation is the Argo CD installation found in an input.
type installation struct {
	Input
	workloads       []*workload
	applications    []application
	applicationSets []node
	policies        []node
	monitors        []node
	crds            []object.Object
	pods            []node
	maps            map[mapKey]node
	values          layers
	// chartPlugins are the plugin.yaml files that the chart creates from values, by
	// their ConfigMap keys.
	chartPlugins map[string]node
}

type mapKey struct{ namespace, name string }

// The workloads of Argo CD, by program.
const (
	repoServer     = "repo-server"
	controller     = "application-controller"
	apiServer      = "server"
	setsController = "applicationset-controller"
)

// workload is a workload of Argo CD.
type workload struct {
	node
	role string
	// isComplete is false if it was read from values: the chart adds the rest.
	isComplete bool
	namespace  string
	// program is the container with Argo CD's program; if it was read from values, it
	// is incomplete. args and env are those of this container.
	program   node
	args, env []node
	image     image
	// others are its sidecars.
	others []node
	// initContainers are its init containers.
	initContainers []node
	// volumes are the volumes of the Pod, by name.
	volumes map[string]volume
	// security is the securityContext of the Pod, containerSecurity that of program.
	security, containerSecurity node
	// gracePeriod is terminationGracePeriodSeconds.
	gracePeriod node
	labels      map[string]string
	// sidecars serve Ladder's plugin, and plugins are all plugin containers.
	sidecars []*sidecar
	plugins  []*sidecar
}

// volume is a volume of a Pod, as written or as added by the chart.
type volume struct {
	node
	configMap string
	secret    string
}

// application is an Application, or the template of an ApplicationSet.
type application struct {
	node
	// spec is the spec of the Application.
	spec node
	// isTemplate means that it is a template, which contains placeholders.
	isTemplate bool
}

const (
	paramsMap    = "argocd-cmd-params-cm"
	configMap    = "argocd-cm"
	pluginsDir   = "/home/argocd/cmp-server/plugins"
	pluginConfig = "/home/argocd/cmp-server/config/plugin.yaml"
	serverDir    = "/var/run/argocd"
	stockServer  = "argocd-cmp-server"
	// argoUser is the user of Argo CD's image and of the plugin's.
	argoUser = "999"
)

func read(in Input) *installation {
	i := &installation{Input: in, maps: map[mapKey]node{}, chartPlugins: map[string]node{}}
	for _, o := range in.Objects {
		if o.ID.GroupKind() == "CustomResourceDefinition.apiextensions.k8s.io" {
			i.crds = append(i.crds, o)
		}
		i.add(rootOf(o), o.ID)
	}
	if len(in.Values) > 0 {
		i.readValues()
	}
	for _, w := range i.workloads {
		if w.role == repoServer {
			i.findPlugins(w)
		}
	}
	return i
}

func (i *installation) add(t node, id object.ID) {
	switch id.GroupKind() {
	case "Deployment.apps", "StatefulSet.apps":
		if w := workloadOf(t, id.Namespace); w != nil {
			i.workloads = append(i.workloads, w)
		}
	case "ConfigMap":
		i.maps[mapKey{id.Namespace, id.Name}] = t
	case "Application." + argocd.Group:
		i.applications = append(i.applications, application{node: t, spec: t.at("spec")})
	case "ApplicationSet." + argocd.Group:
		i.applicationSets = append(i.applicationSets, t)
		i.applications = append(i.applications, application{node: t, spec: t.at("spec", "template", "spec"), isTemplate: true})
	case "NetworkPolicy.networking.k8s.io":
		i.policies = append(i.policies, t)
	case "PodMonitor.monitoring.coreos.com":
		i.monitors = append(i.monitors, t)
	case "Pod":
		i.pods = append(i.pods, t)
	}
}

// workloadOf returns the workload if it runs a program of Argo CD; otherwise nil.
func workloadOf(t node, namespace string) *workload {
	template := t.at("spec", "template")
	pod := template.at("spec")
	w := &workload{node: t, isComplete: true, namespace: namespace, security: pod.at("securityContext"),
		gracePeriod: pod.at("terminationGracePeriodSeconds"),
		labels:      map[string]string{}, volumes: map[string]volume{}}
	for _, c := range pod.at("containers").items() {
		if role := roleOf(c); role != "" && w.role == "" {
			w.role, w.program = role, c
		} else {
			w.others = append(w.others, c)
		}
	}
	if w.role == "" {
		return nil
	}
	for _, c := range pod.at("initContainers").items() {
		if c.Get("restartPolicy").Text() == "Always" { // it runs as long as the Pod
			w.others = append(w.others, c)
		} else {
			w.initContainers = append(w.initContainers, c)
		}
	}
	for _, v := range pod.at("volumes").items() {
		w.volumes[v.name()] = volumeOf(v)
	}
	for key, v := range template.at("metadata", "labels").entries() {
		w.labels[key] = v.Text()
	}
	w.image, w.containerSecurity = imageOf(w.program.Get("image").Text()), w.program.at("securityContext")
	w.args, w.env = append(w.program.at("command").items(), w.program.at("args").items()...), w.program.at("env").items()
	return w
}

// IsRepoServer reports whether a manifest is the repo-server of an Argo CD
// installation.
func IsRepoServer(o object.Object) bool {
	i := read(Input{Objects: []object.Object{o}})
	return len(i.workloadsOf(repoServer)) > 0
}

// roleOf returns the Argo CD program of a container, by its command line.
func roleOf(c node) string {
	for _, word := range append(c.at("command").texts(), c.at("args").texts()...) {
		program, ok := strings.CutPrefix(path.Base(word), "argocd-")
		if ok && slices.Contains([]string{repoServer, controller, apiServer, setsController}, program) {
			return program
		}
	}
	return ""
}

func volumeOf(t node) volume {
	return volume{node: t, configMap: t.Get("configMap", "name").Text(), secret: t.Get("secret", "secretName").Text()}
}

// workloadsOf lists the workloads with a role.
func (i *installation) workloadsOf(role string) []*workload {
	return slices.DeleteFunc(slices.Clone(i.workloads), func(w *workload) bool { return w.role != role })
}

// forEachSidecar calls do for each plugin container, with its repo-server.
func (i *installation) forEachSidecar(do func(w *workload, s *sidecar)) {
	for _, w := range i.workloadsOf(repoServer) {
		for _, s := range w.sidecars {
			do(w, s)
		}
	}
}

// configMap finds a ConfigMap in a namespace. Argo CD's own
// manifests may omit the namespace.
func (i *installation) configMap(namespace, name string) (node, bool) {
	t, ok := i.maps[mapKey{namespace, name}]
	if !ok && !i.Live {
		t, ok = i.maps[mapKey{"", name}]
	}
	return t, ok
}

// entry returns the value of a key of Argo CD's ConfigMap, from the ConfigMap or
// from values. known is false if the input does not contain it.
func (i *installation) entry(name, key string) (value node, known bool) {
	for _, w := range i.workloads {
		if t, ok := i.configMap(w.namespace, name); ok {
			return t.inner(t.Get("data").Get(key), "data."+key), true
		}
	}
	if t, ok := i.maps[mapKey{"", name}]; ok {
		return t.inner(t.Get("data").Get(key), "data."+key), true
	}
	return i.values.config(name, key)
}

// entries returns the entries of Argo CD's ConfigMap argocd-cm, from the ConfigMap and from values.
func (i *installation) entries() map[string]node {
	all := map[string]node{}
	for key, m := range i.maps {
		if key.name == configMap {
			maps.Copy(all, m.at("data").entries())
		}
	}
	maps.Copy(all, i.values.at("configs", "cm").entries())
	return all
}

// mountAt returns the most specific mount that contains a path.
func mountAt(c node, p string) (best node, found bool) {
	length := -1
	for _, m := range c.at("volumeMounts").items() {
		at := path.Clean(m.Get("mountPath").Text())
		if (at == p || at == "/" || strings.HasPrefix(p, at+"/")) && len(at) > length {
			best, found, length = m, true, len(at)
		}
	}
	return best, found
}

// mountedText is a file that is mounted into a container. problem says why it cannot be read.
type mountedText struct {
	mount, source node
	text          string
	found         bool
	subPath       bool
	problem       string
}

// textAt reads a file that is mounted from a ConfigMap. mounted is false if nothing is
// mounted at the path.
func (i *installation) textAt(w *workload, c node, p string) (m mountedText, mounted bool) {
	mount, ok := mountAt(c, p)
	if !ok {
		return m, false
	}
	m.mount = mount
	v := w.volumes[mount.name()]
	if v.configMap == "" {
		return m, true
	}
	at, key := path.Clean(mount.Get("mountPath").Text()), mount.Get("subPath").Text()
	m.subPath = key != ""
	switch {
	case at == p && key == "":
		m.problem = "it is mounted as a directory instead of a file, because subPath is missing"
		return m, true
	case at != p:
		key = path.Join(key, strings.TrimPrefix(p, at+"/"))
	}
	for _, item := range v.at("configMap", "items").items() {
		if item.Get("path").Text() == key {
			key = item.Get("key").Text()
		}
	}
	source, ok := i.configMap(w.namespace, v.configMap)
	if !ok {
		return m, true
	}
	m.source = source.inner(source.Get("data").Get(key), "data."+key)
	m.found = m.source.Exists()
	m.text = m.source.Text()
	if !m.found {
		m.source = source
		m.problem = "the ConfigMap " + v.configMap + " has no key " + key
	}
	return m, true
}

// environment returns the variables of a container with known values.
func (i *installation) environment(w *workload, c node) map[string]node {
	all := map[string]node{}
	for _, e := range c.at("env").items() {
		if v, ok := i.variable(w, e); ok {
			all[e.name()] = v
		}
	}
	return all
}

// variable returns the value of an entry of env.
func (i *installation) variable(w *workload, e node) (node, bool) {
	if ref := e.at("valueFrom", "configMapKeyRef"); ref.Exists() {
		source, ok := i.configMap(w.namespace, ref.name())
		key := ref.Get("key").Text()
		if !ok && !w.isComplete {
			return i.values.config(ref.name(), key)
		}
		v := source.inner(source.Get("data").Get(key), "data."+key)
		return v, ok && v.Exists()
	}
	if e.Get("valueFrom").Exists() {
		return node{}, false
	}
	return e.at("value"), true
}
