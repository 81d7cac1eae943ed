package facts

import (
	"cmp"
	"encoding/base64"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Word is a value in the configuration of a workload: a variable, an argument, or a
// file of a ConfigMap. It has no schema; only its form shows what it means.
type Word struct {
	text.Word
	Field string
	// IsSAN marks a name for a certificate.
	IsSAN bool
	// From is the node that contains the value, if not the workload.
	From int
}

// programFacts is what the Pods of workloads run, and what their configuration says.
type programFacts struct {
	wordsOf  map[int][]Word
	tokensOf map[int]map[string]bool
	// databases are what databasesOf returned.
	databases map[int][]text.Database
	byWord    index[string, []int]
	byImage   index[[2]string, []int]
	services  memo[map[object.ID]bool]
	runtimes  memo[map[string][]int] // by namespace, custom resources that start workloads
	nameable  memo[[]knowledge.GroupKind]
	exposed   memo[exposures]
	// migrates are the words that make a Job a migration.
	migrates map[int]string
}

// Words returns the words of a workload's Pods, with $(VARIABLES) replaced as in
// Kubernetes. Values are only used to find names and are never printed, since some
// come from Secrets.
func (f *Facts) Words(i int) []Word {
	if known, ok := f.wordsOf[i]; ok {
		return known
	}
	var all []Word
	n := f.Nodes[i]
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, list := range []string{"initContainers", "containers"} {
			for at, c := range tmpl.Value.Get("spec", list).Items() {
				all = append(all, f.containerWords(i, c, Join(tmpl.Field, "spec."+list+"["+strconv.Itoa(at)+"]"))...)
			}
		}
		for at, v := range tmpl.Value.Get("spec", "volumes").Items() {
			run, _ := f.runFiles(i, tmpl.Value, v, Join(tmpl.Field, "spec.volumes["+strconv.Itoa(at)+"]"))
			all = append(all, run...)
		}
	}
	if f.wordsOf == nil {
		f.wordsOf = map[int][]Word{}
	}
	f.wordsOf[i] = all
	return all
}

func (f *Facts) containerWords(i int, c object.Value, field string) []Word {
	var all []Word
	vars := map[string]string{}
	for at, from := range c.Get("envFrom").Items() {
		where := field + ".envFrom[" + strconv.Itoa(at) + "]"
		all = append(all, f.files(i, "ConfigMap", from.Get("configMapRef", "name").Text(), where+".configMapRef", false)...)
		all = append(all, f.files(i, "Secret", from.Get("secretRef", "name").Text(), where+".secretRef", false)...)
	}
	for _, e := range c.Get("env").Items() {
		w := Word{Word: text.Word{Name: e.Get("name").Text(), Value: e.Get("value").Text()}, From: i}
		w.IsSAN = f.Base.IsSANKey(w.Name, false)
		w.Field = field + ".env." + w.Name
		switch from := e.Get("valueFrom"); {
		case from.Get("fieldRef", "fieldPath").Text() == "metadata.namespace":
			w.Value = f.Nodes[i].Key.Namespace
		case from.Get("configMapKeyRef").Exists():
			w.Value = f.data("ConfigMap", f.Nodes[i].Key.Namespace, from.Get("configMapKeyRef"))
		case from.Get("secretKeyRef").Exists():
			w.Value = f.data("Secret", f.Nodes[i].Key.Namespace, from.Get("secretKeyRef"))
		}
		w.Value = text.Expand(w.Value, vars)
		vars[w.Name] = w.Value
		all = append(all, w)
	}
	args := append(Texts(c.Get("command")), Texts(c.Get("args"))...)
	flag := ""
	for _, arg := range args {
		name, value, assigned := strings.Cut(arg, "=")
		switch {
		case assigned && !strings.ContainsAny(name, " \n/:") && !text.IsConnection(f.Base, arg):
			flag = name
		case strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, " \n"):
			flag = arg
			if end := text.Glued(f.Base, arg); end > 0 {
				all = append(all, Word{Word: text.Word{Name: arg[:end], Value: text.Expand(arg[end:], vars)}, Field: field + ".args", From: i})
			}
			continue
		default:
			value = arg
		}
		all = append(all, Word{Word: text.Word{Name: flag, Value: text.Expand(value, vars)}, Field: field + ".args", From: i,
			IsSAN: f.Base.IsSANFlag(flag, args) || f.Base.IsSANKey(flag, false)})
		flag = ""
	}
	return all
}

// mounted is a file of a volume, with its path in it.
type mounted struct {
	Word
	path string
}

// mountedFiles returns the files of a volume with ConfigMaps or Secrets that a container
// sees: the keys that the volume selects and that a container mounts. The kubelet ignores
// volumes that no container mounts
// (pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go).
func (f *Facts) mountedFiles(i int, pod, volume object.Value, field string) (all []mounted) {
	var subPaths []string
	for mount := range mountsOf(pod, volume) {
		subPaths = append(subPaths, mount.Get("subPath").Text())
	}
	if len(subPaths) == 0 {
		return nil
	}
	add := func(source object.Value, field string) {
		for kind, key := range map[string]string{"configMap": "name", "secret": "secretName"} {
			from := source.Get(kind)
			name := cmp.Or(from.Get(key).Text(), from.Get("name").Text()) // of a Secret in a projected volume
			paths := map[string]string{}                                  // of selected keys
			for _, item := range from.Get("items").Items() {
				paths[item.Get("key").Text()] = item.Get("path").Text()
			}
			for _, w := range f.files(i, strings.ToUpper(kind[:1])+kind[1:], name, Join(field, kind), true) {
				at, selected := paths[w.Name]
				if at = cmp.Or(at, w.Name); len(paths) > 0 && !selected {
					continue
				}
				if slices.ContainsFunc(subPaths, func(sub string) bool { return sub == "" || at == sub || strings.HasPrefix(at, sub+"/") }) {
					all = append(all, mounted{w, at})
				}
			}
		}
	}
	add(volume, field)
	for at, source := range volume.Get("projected", "sources").Items() {
		add(source, Join(field, "projected.sources["+strconv.Itoa(at)+"]"))
	}
	slices.SortStableFunc(all, func(x, y mounted) int { return cmp.Compare(x.Field, y.Field) })
	return all
}

// mountsOf iterates over the mounts of a volume, with the containers.
func mountsOf(pod, volume object.Value) iter.Seq2[object.Value, object.Value] {
	return func(yield func(mount, container object.Value) bool) {
		for _, list := range []string{"initContainers", "containers"} {
			for _, c := range pod.Get("spec", list).Items() {
				for _, mount := range c.Get("volumeMounts").Items() {
					if mount.Get("name").Text() == volume.Get("name").Text() && !yield(mount, c) {
						return
					}
				}
			}
		}
	}
}

// runFiles returns the mounted files of a volume, and apart those that nothing certainly
// reads: files of Secrets, and scripts that no command runs. Where containers name some
// scripts of the volume, those run others only if these name them.
func (f *Facts) runFiles(i int, pod, volume object.Value, field string) (run, idle []Word) {
	var said []string
	for _, c := range mountsOf(pod, volume) {
		eachText(c, "", "", func(field, _, text string) {
			if !strings.HasPrefix(field, "volumeMounts") {
				said = append(said, text)
			}
		})
	}
	files := f.mountedFiles(i, pod, volume, field)
	rest := files
	isNamed := func(file mounted) bool {
		name := path.Base(file.path)
		stem := cmp.Or(strings.TrimSuffix(name, path.Ext(name)), name) // ".env" has no other
		return slices.ContainsFunc(said, func(text string) bool {
			return strings.Contains(text, name) || knowledge.ContainsWord(text, stem, isNameByte)
		})
	}
	namesScript := false
	for {
		var named, other []mounted
		for _, file := range rest {
			if isNamed(file) {
				named, namesScript = append(named, file), namesScript || isScript(file)
			} else {
				other = append(other, file)
			}
		}
		if rest = other; len(named) == 0 {
			break
		}
		for _, file := range named {
			said = append(said, file.Value)
		}
	}
	all := !namesScript || slices.ContainsFunc(said, func(text string) bool { return strings.Contains(text, "/*") })
	for _, file := range files {
		if f.Nodes[file.From].Key.Kind == "Secret" || !all && isScript(file) && slices.Contains(rest, file) {
			idle = append(idle, file.Word)
		} else {
			run = append(run, file.Word)
		}
	}
	return run, idle
}

// isScript reports whether a file is a program.
func isScript(file mounted) bool {
	return strings.HasPrefix(file.Value, "#!") ||
		slices.Contains([]string{".sh", ".bash", ".py", ".rb", ".js", ".pl", ".php"}, path.Ext(file.path))
}

// isNameByte reports whether a byte may be part of the name of a file without extension.
func isNameByte(c byte) bool {
	return c != '.' && text.IsHostByte(c) || c >= 'A' && c <= 'Z' || c == '_'
}

// Hints returns texts that show at most what an object may need: annotations of its Pods, the labels of nodes that
// they ask for, what they tell the drivers of their volumes, their probes and lifecycle hooks, mounted Secrets,
// mounted scripts that no command runs, and the spec of a custom resource for which an operator starts Pods.
func (f *Facts) Hints(i int) (all []Word) {
	n := &f.Nodes[i]
	add := func(v object.Value, field string) {
		eachText(v, field, "", func(field, key, value string) {
			all = append(all, Word{Word: text.Word{Name: key, Value: value, IsFile: true}, Field: field, From: i})
		})
	}
	if n.Kind.Pod.IsZero() && n.Kind.Rung == knowledge.Workloads && n.Kind.Deploys.IsZero() && !f.Base.Builtin(n.ID.Group) {
		add(n.Get("spec"), "spec")
	}
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		add(tmpl.Value.Get("metadata", "annotations"), Join(tmpl.Field, "metadata.annotations"))
		add(tmpl.Value.Get("spec", "nodeSelector"), Join(tmpl.Field, "spec.nodeSelector"))
		for _, list := range []string{"initContainers", "containers"} {
			for at, c := range tmpl.Value.Get("spec", list).Items() {
				for _, key := range []string{"startupProbe", "readinessProbe", "livenessProbe", "lifecycle"} {
					add(c.Get(key), Join(tmpl.Field, "spec."+list+"["+strconv.Itoa(at)+"]."+key))
				}
			}
		}
		for at, v := range tmpl.Value.Get("spec", "volumes").Items() {
			add(v.Get("csi", "volumeAttributes"), Join(tmpl.Field, "spec.volumes["+strconv.Itoa(at)+"].csi.volumeAttributes"))
			_, idle := f.runFiles(i, tmpl.Value, v, Join(tmpl.Field, "spec.volumes["+strconv.Itoa(at)+"]"))
			all = append(all, idle...)
		}
	}
	return all
}

// files returns the entries of a ConfigMap or Secret that is used as a whole.
func (f *Facts) files(i int, kind, name, field string, file bool) (all []Word) {
	if name == "" {
		return nil
	}
	for _, c := range f.byKey[object.ID{Kind: kind, Namespace: f.Nodes[i].Key.Namespace, Name: name}] {
		data := entries(f.Nodes[c])
		for _, key := range slices.Sorted(maps.Keys(data)) {
			all = append(all, Word{Word: text.Word{Name: key, Value: data[key], IsFile: file}, Field: field, From: c})
		}
	}
	return all
}

// data returns the entry of a ConfigMap or Secret of the component that sets a variable.
func (f *Facts) data(kind, namespace string, ref object.Value) string {
	for _, c := range f.byKey[object.ID{Kind: kind, Namespace: namespace, Name: ref.Get("name").Text()}] {
		return entries(f.Nodes[c])[ref.Get("key").Text()]
	}
	return ""
}

// entries returns the texts in a ConfigMap or Secret.
func entries(n Node) map[string]string {
	all := map[string]string{}
	secret := n.Key.Kind == "Secret"
	for _, entry := range n.Get("data").Fields() {
		all[entry.Key] = entry.Value.Text()
		if secret {
			decoded, _ := base64.StdEncoding.DecodeString(entry.Value.Text()) // invalid base64 contains no address
			all[entry.Key] = string(decoded)
		}
	}
	for _, entry := range n.Get("stringData").Fields() {
		all[entry.Key] = entry.Value.Text()
	}
	return all
}

// Tokens returns the words of a workload and its scripts that may be names of
// objects.
func (f *Facts) Tokens(i int) map[string]bool {
	if known, ok := f.tokensOf[i]; ok {
		return known
	}
	all := map[string]bool{}
	for _, w := range f.Words(i) {
		all[w.Value] = true
		for _, token := range text.Tokens(w.Value) {
			all[strings.Trim(token, "-.")] = true
		}
	}
	maps.DeleteFunc(all, func(token string, _ bool) bool { return f.IsNamespace(token) })
	if f.tokensOf == nil {
		f.tokensOf = map[int]map[string]bool{}
	}
	f.tokensOf[i] = all
	return all
}

// Says reports whether the words of a workload contain a name or its singular.
func (f *Facts) Says(i int, name string) bool {
	return slices.ContainsFunc(f.Words(i), func(w Word) bool {
		said := strings.ToLower(w.Value)
		return knowledge.ContainsWord(said, name, text.IsHostByte) || knowledge.ContainsWord(said, strings.TrimSuffix(name, "s"), text.IsHostByte)
	})
}

// ConfigurationNames returns the words of a workload that may be names of objects,
// with their fields.
func (f *Facts) ConfigurationNames(i int) map[string]string {
	names := map[string]string{}
	for _, w := range f.Words(i) {
		if !w.IsFile && w.Value != "" && !f.IsNamespace(w.Value) {
			names[w.Value] = w.Field
		}
	}
	return names
}

// workloadsWith returns the long-running workloads that have a word.
func (f *Facts) workloadsWith(value string) []int {
	return f.byWord.at(value, func(all index[string, []int]) {
		for i := range f.Nodes {
			if !f.Nodes[i].Serves() {
				continue
			}
			for _, w := range f.Words(i) {
				if known := all[w.Value]; len(known) == 0 || known[len(known)-1] != i {
					all[w.Value] = append(known, i)
				}
			}
		}
	})
}

// SecretKey is a key of a Secret; Key is empty for all keys.
type SecretKey struct{ Name, Key string }

// Common returns what two readers have in common: a key, or the whole Secret; nothing if
// they read different ones.
func (k SecretKey) Common(other SecretKey) SecretKey {
	switch {
	case k.Name != other.Name || k.Key != other.Key && k.Key != "" && other.Key != "":
		return SecretKey{}
	case k.Key == "":
		return other
	}
	return k
}

// SecretKeys returns the keys of Secrets that the containers of a workload read as
// variables or files, without those that tell nothing of a store, such as SMTP_PASSWORD.
func (f *Facts) SecretKeys(i int) (all []SecretKey) {
	n := &f.Nodes[i]
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, c := range tmpl.Value.Get("spec", "containers").Items() {
			for _, from := range c.Get("envFrom").Items() {
				if name := from.Get("secretRef", "name").Text(); name != "" {
					all = append(all, SecretKey{name, ""})
				}
			}
			for _, e := range c.Get("env").Items() {
				ref := e.Get("valueFrom", "secretKeyRef")
				if names := []string{e.Get("name").Text(), ref.Get("key").Text(), ref.Get("name").Text()}; ref.Exists() &&
					(f.Base.IsAddress(names[0]) || f.Base.IsAddress(names[1]) || slices.ContainsFunc(names, f.Base.NamesStore)) {
					all = append(all, SecretKey{ref.Get("name").Text(), ref.Get("key").Text()})
				}
			}
		}
		for _, v := range tmpl.Value.Get("spec", "volumes").Items() {
			if name := v.Get("secret", "secretName").Text(); name != "" {
				all = append(all, SecretKey{name, ""})
			}
		}
	}
	return all
}

// Images returns the images of a workload's containers without init containers,
// which usually run tools.
func (f *Facts) Images(i int) []string {
	n := f.Nodes[i]
	var all []string
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, c := range tmpl.Value.Get("spec", "containers").Items() {
			if image := c.Get("image").Text(); image != "" {
				all = append(all, image)
			}
		}
	}
	return all
}

// commandsOf returns the commands of a Job, and those of the scripts that it runs.
func (f *Facts) commandsOf(j int) (all [][]string) {
	n := &f.Nodes[j]
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, c := range tmpl.Value.Get("spec", "containers").Items() {
			for _, script := range f.scripts(j, tmpl.Value, c) {
				all = append(all, text.Commands(f.Base, script)...)
			}
			for _, v := range c.Get("env").Items() {
				if name := v.Get("name").Text(); f.Base.IsMode(name) {
					all = append(all, text.Commands(f.Base, "run --"+name+"="+v.Get("value").Text())...)
				}
			}
		}
	}
	return all
}

// Arguments returns the words that the programs of a workload may take for names: those of
// command lines and scripts.
func (f *Facts) Arguments(i int) (all []text.Word) {
	at := "" // the container of the last argument
	for _, w := range f.Words(i) {
		isFirst := false
		switch {
		case strings.HasSuffix(w.Field, ".args"):
			isFirst, at = w.Field != at && w.Name == "", w.Field
		case !w.IsFile || !isScript(mounted{w, w.Name}):
			continue
		}
		for _, name := range text.Arguments(f.Base, w.Word, isFirst) {
			all = append(all, text.Word{Name: w.Name, Value: name})
		}
	}
	return all
}

// CommandLines returns the scripts of a workload, and its command line.
func (f *Facts) CommandLines(i int) []string {
	var all, command []string
	for _, w := range f.Words(i) {
		switch {
		case strings.HasSuffix(w.Field, ".args") && strings.HasPrefix(w.Name, "-"):
			command = append(command, w.Name, w.Value)
		case strings.HasSuffix(w.Field, ".args"):
			command = append(command, w.Value)
		case w.IsFile && strings.HasPrefix(w.Value, "#!"):
			all = append(all, w.Value)
		}
	}
	return append(all, strings.Join(command, " "))
}

// runsProgramOf reports whether two workloads have an image in common, in any version.
func (f *Facts) runsProgramOf(i, other int) bool {
	return slices.ContainsFunc(f.Images(i), func(image string) bool {
		return slices.ContainsFunc(f.Images(other), func(o string) bool { return knowledge.SameRepository(image, o) })
	})
}

// runners returns the workloads of a namespace that run an image, now or on a
// schedule.
func (f *Facts) runners(namespace, image string) []int {
	return f.byImage.at([2]string{namespace, image}, func(all index[[2]string, []int]) {
		for w := range f.Nodes {
			n := &f.Nodes[w]
			if !n.InSync() || n.Kind.Runs != "later" && !n.Serves() {
				continue
			}
			for _, image := range f.Images(w) {
				at := [2]string{n.Key.Namespace, image}
				all[at] = append(all[at], w)
			}
		}
	})
}
