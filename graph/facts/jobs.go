package facts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// What Jobs do for the programs beside them.

// Sharers returns the workloads that run an image of a Job, now or on a schedule.
func (f *Facts) Sharers(j int) []int {
	var all []int
	for _, image := range f.Images(j) {
		all = append(all, f.runners(f.Nodes[j].Key.Namespace, image)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// MigrationWord returns the words that make a Job a migration: of its name, its image or
// its commands; empty if there are none. What happens before a migration is none.
func (f *Facts) MigrationWord(j int) string {
	if known, ok := f.migrates[j]; ok || f.IsGuard(j) {
		return known
	}
	if f.migrates == nil {
		f.migrates = map[int]string{}
	}
	word := f.migratesBy(j)
	if word == "" && !f.isBesideMigration(j) {
		word = f.Base.MakesDatabase(f.Nodes[j].ID.Name)
	}
	f.migrates[j] = word
	return word
}

// migratesBy returns the words by which a Job migrates, whatever is beside it.
func (f *Facts) migratesBy(j int) string {
	return cmp.Or(f.Base.Migration(f.namesOf(j)...), f.Base.MigratesBy(f.commandsOf(j)))
}

// isBesideMigration reports whether another Job of the namespace of a Job is a migration.
func (f *Facts) isBesideMigration(j int) bool {
	return f.Base.MakesDatabase(f.Nodes[j].ID.Name) != "" && slices.ContainsFunc(f.PodsOf(f.Nodes[j].Part), func(m int) bool {
		n := &f.Nodes[m]
		return m != j && n.Kind.Runs == "once" && n.Key.Namespace == f.Nodes[j].Key.Namespace && !f.IsGuard(m) && f.migratesBy(m) != ""
	})
}

// HarmfulAgain returns the words by which a command of a Job says that it must not run again
// at every sync; empty if there are none, or if a script decides what it does.
func (f *Facts) HarmfulAgain(j int) string {
	if slices.ContainsFunc(f.Images(j), f.Base.MayRunAgain) {
		return ""
	}
	for _, script := range f.commands(j) {
		if words := f.Base.HarmfulAgain(script, text.Commands(f.Base, text.WithoutData(script))); words != "" {
			return words
		}
	}
	return ""
}

// RunsIn returns the StatefulSets in whose first Pod a command of a Job runs something.
func (f *Facts) RunsIn(j int) (all []int) {
	scripts := slices.DeleteFunc(f.commands(j), func(script string) bool { return !f.Base.RunsInPods(script) })
	if len(scripts) == 0 {
		return nil
	}
	for _, s := range f.PodsOf(f.Nodes[j].Part) {
		n := &f.Nodes[s]
		if n.Key.GroupKind() == "StatefulSet.apps" && n.Key.Namespace == f.Nodes[j].Key.Namespace &&
			slices.ContainsFunc(scripts, func(script string) bool {
				return knowledge.ContainsWord(script, n.Key.Name+"-0", text.IsHostByte)
			}) {
			all = append(all, s)
		}
	}
	return all
}

// OnlyLooks reports whether the command lines of all containers of a Job, or its name, say that
// it only looks at something, such as a validation of files.
func (f *Facts) OnlyLooks(j int) bool {
	n := &f.Nodes[j]
	return f.Base.Validates(n.ID.Name) || !slices.ContainsFunc(n.Kind.Pod.Find(n.Root()), func(tmpl knowledge.Found) bool {
		return slices.ContainsFunc(tmpl.Value.Get("spec", "containers").Items(), func(c object.Value) bool {
			return !f.Base.Looks(strings.Fields(strings.Join(commandOf(c), " ")))
		})
	})
}

// RunOneProgram reports whether two Jobs run the same image, in any version, with different
// commands.
func (f *Facts) RunOneProgram(i, j int) bool {
	return f.runsProgramOf(i, j) && !slices.Equal(f.commands(i), f.commands(j))
}

// IsGuard reports whether the name of a Job, which migrates nothing itself, says that it comes
// before a migration, such as a backup.
func (f *Facts) IsGuard(j int) bool {
	n := &f.Nodes[j]
	return n.Kind.Runs == "once" && f.Base.IsGuard(n.ID.Name) && f.Base.MigratesBy(f.commandsOf(j)) == ""
}

// GuardedBy returns the migrations with the image of a Job before which it may come, by its
// name.
func (f *Facts) GuardedBy(j int) (all []int) {
	guard := &f.Nodes[j]
	if guard.Kind.Runs != "once" || !guard.InSync() || !f.Base.MayGuard(guard.ID.Name) || f.MigrationWord(j) != "" {
		return nil
	}
	for _, m := range f.PodsOf(guard.Part) {
		n := &f.Nodes[m]
		if n.Kind.Runs == "once" && n.InSync() && n.Key.Namespace == guard.Key.Namespace && f.MigrationWord(m) != "" && f.runsProgramOf(j, m) {
			all = append(all, m)
		}
	}
	return all
}

// namesOf returns the names of a Job, its component, its images and its init containers,
// which may say what it is for.
func (f *Facts) namesOf(j int) []string {
	n := &f.Nodes[j]
	names := []string{n.ID.Name, n.Label("app.kubernetes.io/component")}
	for _, image := range f.Images(j) {
		names = append(names, knowledge.Repository(image))
	}
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		names = append(names, tmpl.Value.Get("metadata", "name").Text())
		for _, c := range tmpl.Value.Get("spec", "initContainers").Items() {
			if name := c.Get("name").Text(); !f.Base.SaysWait(name) {
				names = append(names, name, knowledge.Repository(c.Get("image").Text()))
			}
		}
	}
	return names
}

// CallsProgram reports whether a Job calls a program over HTTP, other than a store.
func (f *Facts) CallsProgram(j int) bool {
	return slices.ContainsFunc(f.Words(j), func(w Word) bool {
		return strings.Contains(w.Value, "http") && slices.ContainsFunc(f.Addresses(w, f.Nodes[j].Key.Namespace), func(service object.ID) bool {
			return slices.ContainsFunc(f.Servers(service), func(server int) bool { return !f.IsStore(server) })
		})
	})
}

// MayMigrate reports whether the name or the command line of a Job says that it is a
// migration, or may be one.
func (f *Facts) MayMigrate(j int) bool {
	return f.MigrationWord(j) != "" || f.Base.MayMigrate(f.Nodes[j].ID.Name)
}

// HasWord reports whether a workload has a word of a Job, too: the same variable, or the
// same file. Such a word describes the application to both.
func (f *Facts) HasWord(workload int, word Word, j int) bool {
	return !strings.HasSuffix(word.Field, ".args") && slices.ContainsFunc(f.Words(workload), func(w Word) bool {
		return w.Name == word.Name && w.Value == word.Value && (word.From == j || w.From == word.From)
	})
}

// IsDescription reports whether a word of a migration only describes its application: a
// program has it, too, or it is the URL of a web server that the Job may upgrade.
func (f *Facts) IsDescription(word Word, j int) bool {
	if strings.HasSuffix(word.Field, ".args") {
		return false
	}
	if strings.HasPrefix(word.Value, "http") && f.Base.MayMigrate(f.Nodes[j].ID.Name) {
		return true
	}
	return slices.ContainsFunc(f.PodsOf(f.Nodes[j].Part), func(i int) bool {
		return f.Nodes[i].Serves() && f.Nodes[i].Key.Namespace == f.Nodes[j].Key.Namespace && f.HasWord(i, word, j)
	})
}

// CreatesData reports whether the name or the command line of a Job says that it creates
// what others then use, and the Job calls no program but stores.
func (f *Facts) CreatesData(j int) bool {
	if !f.Base.CreatesData(f.textsOf(j)...) {
		return false
	}
	for _, w := range f.Words(j) {
		for _, service := range f.Addresses(w, f.Nodes[j].Key.Namespace) {
			if slices.ContainsFunc(f.Servers(service), func(server int) bool { return !f.IsStore(server) }) {
				return false
			}
		}
	}
	return true
}

// CreatesDatabase reports whether the name or the command line of a Job says that it creates a
// database.
func (f *Facts) CreatesDatabase(j int) bool {
	return f.Base.MakesDatabase(f.Nodes[j].ID.Name) != "" || f.Base.CreatesDatabase(f.textsOf(j)...)
}

// LoadsData reports whether the name or the command line of a Job says that it loads data into
// what a migration made.
func (f *Facts) LoadsData(j int) bool {
	texts := f.textsOf(j)
	return f.Base.LoadsData(texts[0], texts[1:]...)
}

// textsOf returns the name of a Job and its commands.
func (f *Facts) textsOf(j int) []string {
	texts := []string{f.Nodes[j].ID.Name}
	for _, command := range f.commandsOf(j) {
		texts = append(texts, strings.Join(command, " "))
	}
	return texts
}

// WaitsForMigration reports whether the name of an init container says that it waits for a
// migration.
func (f *Facts) WaitsForMigration(j int) bool {
	n := &f.Nodes[j]
	return slices.ContainsFunc(n.Kind.Pod.Find(n.Root()), func(tmpl knowledge.Found) bool {
		return slices.ContainsFunc(tmpl.Value.Get("spec", "initContainers").Items(), func(c object.Value) bool {
			name := c.Get("name").Text()
			return f.Base.SaysWait(name) && f.Base.Migration(name) != ""
		})
	})
}

// initializesCluster reports whether a command line or script of a Job initializes a
// cluster of running servers. The servers of some databases are not ready before that.
func (f *Facts) initializesCluster(j int) bool {
	return slices.ContainsFunc(f.CommandLines(j), f.Base.InitializesCluster)
}

// InitializedBy returns the servers of the cluster that a Job initializes: they run the
// program of the Job in any version, or the Job reaches their Pods before they are
// ready.
func (f *Facts) InitializedBy(j int) []int {
	if !f.initializesCluster(j) {
		return nil
	}
	var all []int
	for _, w := range f.Words(j) {
		for _, service := range f.Addresses(w, f.Nodes[j].Key.Namespace) {
			reachesPods := slices.ContainsFunc(f.byKey[service],
				func(s int) bool { return f.Nodes[s].Get("spec", "publishNotReadyAddresses").True() })
			for _, server := range f.Servers(service) {
				if server != j && (reachesPods || f.runsProgramOf(server, j)) && !slices.Contains(all, server) {
					all = append(all, server)
				}
			}
		}
	}
	return all
}

// Initialization returns the record of the command without which a container of a
// server is not ready, if there is one.
func (f *Facts) Initialization(server int) (knowledge.Initialization, bool) {
	n := &f.Nodes[server]
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, c := range tmpl.Value.Get("spec", "containers").Items() {
			if by, ok := f.Base.Initialization(c.Get("image").Text(), commandOf(c), probeOf(c)); ok {
				return by, true
			}
		}
	}
	return knowledge.Initialization{}, false
}

// AppliedKind is a kind of the manifests that a Job applies.
type AppliedKind struct {
	Kind knowledge.GroupKind
	// Field leads to the text with the manifest.
	Field string
}

// AppliedKinds returns the kinds of the manifests in the scripts and files of a Job that runs a
// client of the API server with a verb that creates or changes objects. A Job that creates the
// definition of a kind, too, does not need it before.
func (f *Facts) AppliedKinds(j int) (all []AppliedKind) {
	applies, replaces := false, false
	for _, command := range f.commandsOf(j) {
		is, replacing := f.Base.AppliesManifests(command)
		applies, replaces = applies || is, replaces || replacing
	}
	if !applies {
		return nil
	}
	for _, w := range f.Words(j) {
		kinds, defines := text.Manifests(w.Value)
		if defines && !replaces {
			return nil
		}
		for _, kind := range kinds {
			all = append(all, AppliedKind{kind, w.Field})
		}
	}
	return all
}
