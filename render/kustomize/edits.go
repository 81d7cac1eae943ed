package kustomize

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/kv"
	"sigs.k8s.io/kustomize/api/pkg/loader"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kustomize/v5/commands/edit/add"
	"sigs.k8s.io/kustomize/kustomize/v5/commands/edit/set"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/vfs"
	"github.com/ladder-cmp/ladder/render/input"
)

// Edits are applied to a kustomization before it is built, like source.kustomize of
// an Application. The names are those of its fields.
type Edits struct {
	NamePrefix, NameSuffix, Namespace string
	// Images are overrides such as "app=registry/app:v2", in the syntax of
	// "kustomize edit set image"; Replicas are overrides such as "web=3".
	Images, Replicas                []string
	CommonLabels, CommonAnnotations map[string]string
	// ForceCommonLabels and ForceCommonAnnotations let CommonLabels and CommonAnnotations
	// replace those of the kustomization; otherwise a conflict is an error.
	ForceCommonLabels, ForceCommonAnnotations bool
	// LabelWithoutSelector keeps CommonLabels out of selectors and templates. With it,
	// LabelIncludeTemplates adds them to the templates of Pods and PVCs.
	LabelWithoutSelector, LabelIncludeTemplates bool
	// Patches are entries of the kustomization's patches, each as YAML.
	Patches []string
	// Components are directories, relative to the kustomization.
	Components []string
	// IgnoreMissingComponents ignores missing Components.
	IgnoreMissingComponents bool
}

// BuildOptions parses the options of "kustomize build" that are allowed in Argo
// CD's kustomize.buildOptions: restricted reports whether a kustomization may only
// read files below its directory. Options that run programs are errors; those about
// output order have no effect.
func BuildOptions(text string) (restricted bool, err error) {
	flags := flag.NewFlagSet("kustomize build", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	restrictor := flags.String("load-restrictor", types.LoadRestrictionsRootOnly.String(), "")
	off := map[string]*bool{}
	for _, name := range []string{"enable-alpha-plugins", "enable-exec", "enable-star", "network", "mount", "as-current-user"} {
		off[name] = flags.Bool(name, false, "")
	}
	flags.Bool("enable-helm", false, "")
	flags.String("reorder", "", "")
	if err := flags.Parse(strings.Fields(text)); err != nil {
		return true, finding.Fault(err.Error(), "use --load-restrictor and --enable-helm")
	}
	if len(flags.Args()) > 0 {
		return true, finding.Fault(fmt.Sprintf("unknown option %q", flags.Arg(0)), "remove it")
	}
	for name, on := range off {
		if *on {
			return true, finding.Fault(fmt.Sprintf("--%s runs programs, which Ladder never does", name), "remove it")
		}
	}
	switch *restrictor {
	case types.LoadRestrictionsNone.String():
		return false, nil
	case types.LoadRestrictionsRootOnly.String():
		return true, nil
	}
	return true, finding.Fault(fmt.Sprintf("unknown load restrictor %q", *restrictor), "use LoadRestrictionsNone or LoadRestrictionsRootOnly")
}

// isEmpty reports whether there are no edits.
func (e Edits) isEmpty() bool {
	return e.NamePrefix+e.NameSuffix+e.Namespace == "" &&
		len(e.Images)+len(e.Replicas)+len(e.CommonLabels)+len(e.CommonAnnotations)+len(e.Patches)+len(e.Components) == 0
}

// withEdits returns the component with the edits in its kustomization. Argo CD runs
// the commands of "kustomize edit" on a copy of the repository (util/kustomize,
// Build); here the same commands run in memory, in the same order.
func (s source) withEdits() (source, error) {
	e := s.opt.Edits
	if e.isEmpty() {
		return s, nil
	}
	name := path.Join(s.Dir, File(s.FS, s.Dir))
	data, err := fs.ReadFile(s.FS, name)
	if err != nil {
		return s, s.Unreadable(err)
	}
	fault := func(field string, err error) error {
		text := strings.Join(strings.Fields(err.Error()), " ")
		f := finding.Finding{Severity: finding.Error, Rule: finding.BadKustomization, File: s.Show(name), Field: field,
			Message: strings.TrimSuffix(text, "."), Remedy: "change the parameter, or the kustomization"}
		if m := alreadySet.FindStringSubmatch(text); m != nil {
			f.Message, f.Remedy = fmt.Sprintf("the kustomization already sets the %s %s", m[1], m[2]),
				forceBy[m[1]]+", or set the "+m[1]+" in only one of the two places"
		}
		return f
	}
	// The commands read and write only the kustomization.
	dir := filesys.MakeFsInMemory()
	for _, file := range names {
		if text, err := fs.ReadFile(s.FS, path.Join(s.Dir, file)); err == nil {
			if err := dir.WriteFile(file, text); err != nil {
				return s, fault("", err)
			}
		}
	}
	for _, c := range e.commands() {
		if err := edit(dir, c.args); err != nil {
			return s, fault(c.field, err)
		}
	}
	result, err := dir.ReadFile(path.Base(name))
	if err != nil {
		return s, fault("", err)
	}
	if result, err = e.withEntries(result, s); err != nil {
		return s, fault("patches", err)
	}
	s.FS = editedFS{vfs.Overlay{FS: s.FS, Files: map[string]string{name: string(result)}}, name, data}
	return s, nil
}

// edit runs a command of "kustomize edit" in a directory.
func edit(dir filesys.FileSystem, args []string) error {
	repo := provider.NewDefaultDepProvider()
	ldr := kv.NewLoader(loader.NewFileLoaderAtCwd(dir), repo.GetFieldValidator())
	cmd := set.NewCmdSet(dir, ldr, repo.GetFieldValidator(), repo.GetResourceFactory())
	if args[0] == "add" {
		cmd = add.NewCmdAdd(dir, ldr, repo.GetResourceFactory())
	}
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(args[1:])
	return cmd.Execute()
}

// alreadySet is the message of "kustomize edit add", which names a flag of that command.
var alreadySet = lazyregexp.New(`^(label|annotation) (.+) already in kustomization file\. Use --force`)

// forceBy is how each may be replaced.
var forceBy = map[string]string{
	"label":      "set the force-common-labels parameter (forceCommonLabels: true in component.yaml) to replace the label",
	"annotation": "set the force-common-annotations parameter (forceCommonAnnotations: true in component.yaml) to replace the annotation",
}

// command is a "kustomize edit" command with its field of Edits.
type command struct {
	field string
	args  []string
}

func (e Edits) commands() []command {
	var all []command
	run := func(field string, given bool, args ...string) {
		if given {
			all = append(all, command{field, args})
		}
	}
	flag := func(on bool, name string) []string {
		if on {
			return []string{name}
		}
		return nil
	}
	pairs := func(m map[string]string) []string {
		var all []string
		for _, key := range slices.Sorted(maps.Keys(m)) {
			all = append(all, key+":"+m[key])
		}
		return all
	}
	run("namePrefix", e.NamePrefix != "", "set", "nameprefix", "--", e.NamePrefix)
	run("nameSuffix", e.NameSuffix != "", "set", "namesuffix", "--", e.NameSuffix)
	run("images", len(e.Images) > 0, append([]string{"set", "image"}, e.Images...)...)
	run("replicas", len(e.Replicas) > 0, append([]string{"set", "replicas"}, e.Replicas...)...)
	run("commonLabels", len(e.CommonLabels) > 0, slices.Concat([]string{"add", "label"}, flag(e.ForceCommonLabels, "--force"),
		flag(e.LabelWithoutSelector, "--without-selector"), flag(e.LabelIncludeTemplates, "--include-templates"), pairs(e.CommonLabels))...)
	run("commonAnnotations", len(e.CommonAnnotations) > 0,
		slices.Concat([]string{"add", "annotation"}, flag(e.ForceCommonAnnotations, "--force"), pairs(e.CommonAnnotations))...)
	run("kustomizeNamespace", e.Namespace != "", "set", "namespace", "--", e.Namespace)
	return all
}

// withEntries adds the patches and components to a kustomization. The commands for them
// would look for components that are missing in a git repository.
func (e Edits) withEntries(data []byte, s source) ([]byte, error) {
	if len(e.Patches)+len(e.Components) == 0 {
		return data, nil
	}
	var k map[string]any
	if err := yaml.Unmarshal(data, &k); err != nil {
		return nil, err
	}
	patches, ok := k["patches"].([]any)
	if !ok && k["patches"] != nil {
		return nil, errors.New("the field of the kustomization is not a list")
	}
	for i, text := range e.Patches {
		var patch map[string]any
		if err := yaml.Unmarshal([]byte(text), &patch); err != nil {
			return nil, fmt.Errorf("[%d] is not a patch with a target and a patch or path", i)
		}
		patches = append(patches, patch)
	}
	components, _ := k["components"].([]any)
	for _, pattern := range e.Components {
		if p, inside := input.RepoPath(s.Dir, pattern); e.IgnoreMissingComponents && !(inside && input.Exists(s.FS, p)) {
			continue
		}
		for _, c := range componentsIn(s, pattern) {
			if !slices.Contains(components, any(c)) {
				components = append(components, c)
			}
		}
	}
	k["patches"], k["components"] = patches, components
	return yaml.Marshal(k)
}

// componentsIn expands a pattern. A missing component is reported when it is built.
func componentsIn(s source, pattern string) []string {
	names, err := fs.Glob(s.FS, path.Join(s.Dir, pattern))
	if err != nil || len(names) == 0 {
		return []string{pattern}
	}
	for i, name := range names {
		if rel, err := filepath.Rel(s.Dir, name); err == nil {
			names[i] = filepath.ToSlash(rel)
		}
	}
	return names
}

// editedFS is a repository with an edited kustomization.
type editedFS struct {
	vfs.Overlay
	name string
	// original is the content before the edits.
	original []byte
}
