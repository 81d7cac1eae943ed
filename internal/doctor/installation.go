package doctor

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/object"
)

// installation is the Argo CD found in an input.
type installation struct {
	Input
	workloads       []*workload
	applications    []asker
	applicationSets []thing
	policies        []thing
	monitors        []thing
	definitions     []object.Object
	pods            []thing
	maps            map[mapKey]thing
	values          layers
	// chartPlugins are the plugin.yaml files that the chart creates from values, by
	// their ConfigMap keys.
	chartPlugins map[string]thing
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
	thing
	role string
	// whole is false if it comes from values, which the chart completes.
	whole     bool
	namespace string
	// program is the container with Argo CD's program; from values it is partial.
	// args and env are its own.
	program   thing
	args, env []thing
	image     image
	// others are its sidecars.
	others []thing
	// inits are its init containers.
	inits []thing
	// volumes are the volumes of the Pod, by name.
	volumes map[string]volume
	// security is the securityContext of the Pod, rights that of the program.
	security, rights thing
	// grace is terminationGracePeriodSeconds.
	grace    thing
	labels   map[string]string
	replicas thing
	// sidecars serve Ladder's plugin, and plugins are all plugin containers.
	sidecars []*sidecar
	plugins  []*sidecar
}

// volume is a volume of a Pod, as written or as added by the chart.
type volume struct {
	thing
	emptyDir  bool
	configMap string
	secret    string
	optional  bool
}

// asker is an Application, or the template of one.
type asker struct {
	thing
	// spec is the spec of the Application.
	spec thing
	// pattern means that it contains placeholders.
	pattern bool
}

const (
	argoGroup    = "argoproj.io"
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
	i := &installation{Input: in, maps: map[mapKey]thing{}, chartPlugins: map[string]thing{}}
	for _, o := range in.Objects {
		if o.ID.GroupKind() == "CustomResourceDefinition.apiextensions.k8s.io" {
			i.definitions = append(i.definitions, o)
		}
		i.add(of(o), o.ID)
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

func (i *installation) add(t thing, id object.ID) {
	switch id.GroupKind() {
	case "Deployment.apps", "StatefulSet.apps":
		if w := workloadOf(t, id.Namespace); w != nil {
			i.workloads = append(i.workloads, w)
		}
	case "ConfigMap":
		i.maps[mapKey{id.Namespace, id.Name}] = t
	case "Application." + argoGroup:
		i.applications = append(i.applications, asker{thing: t, spec: t.at("spec")})
	case "ApplicationSet." + argoGroup:
		i.applicationSets = append(i.applicationSets, t)
		i.applications = append(i.applications, asker{thing: t, spec: t.at("spec", "template", "spec"), pattern: true})
	case "NetworkPolicy.networking.k8s.io":
		i.policies = append(i.policies, t)
	case "PodMonitor.monitoring.coreos.com":
		i.monitors = append(i.monitors, t)
	case "Pod":
		i.pods = append(i.pods, t)
	}
}

// workloadOf returns the workload if it runs a program of Argo CD; otherwise nil.
func workloadOf(t thing, namespace string) *workload {
	template := t.at("spec", "template")
	pod := template.at("spec")
	w := &workload{thing: t, whole: true, namespace: namespace, security: pod.at("securityContext"), grace: pod.at("terminationGracePeriodSeconds"),
		replicas: t.at("spec", "replicas"), labels: map[string]string{}, volumes: map[string]volume{}}
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
			w.inits = append(w.inits, c)
		}
	}
	for _, v := range pod.at("volumes").items() {
		w.volumes[v.name()] = volumeOf(v)
	}
	for key, v := range template.at("metadata", "labels").entries() {
		w.labels[key] = v.Text()
	}
	w.image, w.rights = imageOf(w.program.Get("image").Text()), w.program.at("securityContext")
	w.args, w.env = append(w.program.at("command").items(), w.program.at("args").items()...), w.program.at("env").items()
	return w
}

// IsRepoServer reports whether a manifest is the repo-server of an Argo CD.
func IsRepoServer(o object.Object) bool {
	i := read(Input{Objects: []object.Object{o}})
	return len(i.of(repoServer)) > 0
}

// roleOf returns the Argo CD program of a container, by its command line.
func roleOf(c thing) string {
	for _, word := range append(c.at("command").texts(), c.at("args").texts()...) {
		program, ok := strings.CutPrefix(path.Base(word), "argocd-")
		if ok && slices.Contains([]string{repoServer, controller, apiServer, setsController}, program) {
			return program
		}
	}
	return ""
}

func volumeOf(t thing) volume {
	v := volume{thing: t, emptyDir: t.Get("emptyDir").Exists(), configMap: t.Get("configMap", "name").Text(), secret: t.Get("secret", "secretName").Text()}
	v.optional = t.Get("configMap", "optional").True() || t.Get("secret", "optional").True()
	return v
}

// of lists the workloads with a role.
func (i *installation) of(role string) []*workload {
	return slices.DeleteFunc(slices.Clone(i.workloads), func(w *workload) bool { return w.role != role })
}

// sidecars iterates over the plugin containers, each with its repo-server.
func (i *installation) sidecars(do func(w *workload, s *sidecar)) {
	for _, w := range i.of(repoServer) {
		for _, s := range w.sidecars {
			do(w, s)
		}
	}
}

// configMap finds a ConfigMap in a namespace. Argo CD's own manifests may omit it.
func (i *installation) configMap(namespace, name string) (thing, bool) {
	t, ok := i.maps[mapKey{namespace, name}]
	if !ok && !i.Live {
		t, ok = i.maps[mapKey{"", name}]
	}
	return t, ok
}

// entry returns the value of a key of Argo CD's ConfigMap, from the ConfigMap or
// from values. known is false if the input does not contain it.
func (i *installation) entry(name, key string) (value thing, known bool) {
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

// entriesOf returns the keys of an Argo CD ConfigMap, from either place.
func (i *installation) entriesOf(name string) map[string]thing {
	all := map[string]thing{}
	for key, m := range i.maps {
		if key.name == name {
			maps.Copy(all, m.at("data").entries())
		}
	}
	if name == configMap {
		maps.Copy(all, i.values.at("configs", "cm").entries())
	}
	return all
}

// mountAt returns the most specific mount that contains a path.
func mountAt(c thing, p string) (best thing, found bool) {
	length := -1
	for _, m := range c.at("volumeMounts").items() {
		at := path.Clean(m.Get("mountPath").Text())
		if (at == p || at == "/" || strings.HasPrefix(p, at+"/")) && len(at) > length {
			best, found, length = m, true, len(at)
		}
	}
	return best, found
}

// mountedText is a file mounted from a ConfigMap. held reports whether the path is
// mounted from one, and why what is wrong.
type mountedText struct {
	mount, source thing
	text          string
	held, found   bool
	subPath       bool
	why           string
}

// textAt finds a file mounted from a ConfigMap.
func (i *installation) textAt(w *workload, c thing, p string) (m mountedText, mounted bool) {
	mount, ok := mountAt(c, p)
	if !ok {
		return m, false
	}
	m.mount = mount
	v := w.volumes[mount.name()]
	if v.configMap == "" {
		return m, true
	}
	m.held = true
	at, key := path.Clean(mount.Get("mountPath").Text()), mount.Get("subPath").Text()
	m.subPath = key != ""
	switch {
	case at == p && key == "":
		m.why = "it is mounted as a directory instead of a file, because subPath is missing"
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
		m.why = "the ConfigMap " + v.configMap + " has no key " + key
	}
	return m, true
}

// environment returns the variables of a container with known values.
func (i *installation) environment(w *workload, c thing) map[string]thing {
	all := map[string]thing{}
	for _, e := range c.at("env").items() {
		if v, ok := i.variable(w, e); ok {
			all[e.name()] = v
		}
	}
	return all
}

// variable returns the value of an entry of env.
func (i *installation) variable(w *workload, e thing) (thing, bool) {
	if ref := e.at("valueFrom", "configMapKeyRef"); ref.Exists() {
		source, ok := i.configMap(w.namespace, ref.name())
		key := ref.Get("key").Text()
		if !ok && !w.whole {
			return i.values.config(ref.name(), key)
		}
		v := source.inner(source.Get("data").Get(key), "data."+key)
		return v, ok && v.Exists()
	}
	if e.Get("valueFrom").Exists() {
		return thing{}, false
	}
	return e.at("value"), true
}
