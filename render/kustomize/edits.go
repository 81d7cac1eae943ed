package kustomize

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
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
	"github.com/ladder-cmp/ladder/internal/overlay"
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
	// ForceCommonLabels and ForceCommonAnnotations override those of the
	// kustomization, which otherwise is an error.
	ForceCommonLabels, ForceCommonAnnotations bool
	// LabelWithoutSelector does not change selectors; LabelIncludeTemplates then
	// also labels Pods and PVCs.
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

// none reports whether there are no edits.
func (e Edits) none() bool {
	return e.NamePrefix+e.NameSuffix+e.Namespace == "" && len(e.Images)+len(e.Replicas)+len(e.CommonLabels)+len(e.CommonAnnotations)+len(e.Patches)+len(e.Components) == 0
}

// edited returns the component with the edits in its kustomization. Argo CD runs
// the commands of "kustomize edit" on a copy of the repository (util/kustomize,
// Build); here the same commands run in memory, in the same order.
func (s source) edited(ctx context.Context) (source, error) {
	e := s.opt.Edits
	if e.none() {
		return s, nil
	}
	name := path.Join(s.Dir, File(s.FS, s.Dir))
	data, err := fs.ReadFile(s.FS, name)
	if err != nil {
		return s, s.Unreadable(err)
	}
	a, t := s.assemble(ctx)
	file := &editedFile{repoFS: repoFS{a}, fsys: s.FS, dir: path.Join(t.at, s.Dir), file: path.Base(name), data: data}
	fault := func(field string, err error) error {
		text := strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "'"+file.dir+"/", "'")), " ")
		f := finding.Finding{Severity: finding.Error, Rule: "kustomize-edit", File: s.Show(name), Field: field, Message: strings.TrimSuffix(text, "."), Remedy: "change the parameter, or the kustomization"}
		if m := alreadySet.FindStringSubmatch(text); m != nil {
			f.Message, f.Remedy = fmt.Sprintf("the kustomization already sets the %s %s", m[1], m[2]), forceBy[m[1]]+", or set the "+m[1]+" in only one of the two places"
		}
		return f
	}
	for _, c := range e.commands(s) {
		if err := file.run(c.args); err != nil {
			return s, fault(c.field, err)
		}
	}
	if file.data, err = withPatches(file.data, e.Patches); err != nil {
		return s, fault("patches", err)
	}
	// As in Argo CD, this follows the patches: the commands keep all fields, but
	// rewrite the file.
	if components := e.presentComponents(s); len(components) > 0 {
		if err := file.run(append([]string{"add", "component"}, components...)); err != nil {
			return s, fault("components", err)
		}
	}
	s.FS = editedFS{overlay.FS{FS: s.FS, Files: map[string]string{name: string(file.data)}}, name, data}
	return s, nil
}

// alreadySet is the message of "kustomize edit add", which names a flag of that command.
var alreadySet = regexp.MustCompile(`^(label|annotation) (.+) already in kustomization file\. Use --force`)

// forceBy is how each may be replaced.
var forceBy = map[string]string{
	"label":      "set the parameter force-common-labels (forceCommonLabels: true in component.yaml) to replace it",
	"annotation": "set the parameter force-common-annotations (forceCommonAnnotations: true in component.yaml) to replace it",
}

// command is a "kustomize edit" command with its field of Edits.
type command struct {
	field string
	args  []string
}

func (e Edits) commands(s source) []command {
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
	run("commonAnnotations", len(e.CommonAnnotations) > 0, slices.Concat([]string{"add", "annotation"}, flag(e.ForceCommonAnnotations, "--force"), pairs(e.CommonAnnotations))...)
	run("kustomizeNamespace", e.Namespace != "", "set", "namespace", "--", e.Namespace)
	return all
}

func (e Edits) presentComponents(s source) []string {
	if !e.IgnoreMissingComponents {
		return e.Components
	}
	return slices.DeleteFunc(slices.Clone(e.Components), func(c string) bool {
		p, inside := input.RepoPath(s.Dir, c)
		return !inside || !input.Exists(s.FS, p)
	})
}

// withPatches adds entries to the patches of a kustomization.
func withPatches(data []byte, patches []string) ([]byte, error) {
	if len(patches) == 0 {
		return data, nil
	}
	var k map[string]any
	if err := yaml.Unmarshal(data, &k); err != nil {
		return nil, err
	}
	all, ok := k["patches"].([]any)
	if !ok && k["patches"] != nil {
		return nil, errors.New("the field of the kustomization is not a list")
	}
	for i, text := range patches {
		var patch map[string]any
		if err := yaml.Unmarshal([]byte(text), &patch); err != nil {
			return nil, fmt.Errorf("[%d] is not a patch with a target and a patch or path", i)
		}
		all = append(all, patch)
	}
	k["patches"] = all
	return yaml.Marshal(k)
}

// editedFile is the file system for the commands of "kustomize edit": the
// repository, relative to the kustomization, with one writable file.
type editedFile struct {
	repoFS
	fsys      fs.FS
	dir, file string
	data      []byte
}

func (f *editedFile) run(args []string) error {
	repo := provider.NewDefaultDepProvider()
	ldr := kv.NewLoader(loader.NewFileLoaderAtCwd(f), repo.GetFieldValidator())
	cmd := set.NewCmdSet(f, ldr, repo.GetFieldValidator(), repo.GetResourceFactory())
	if args[0] == "add" {
		cmd = add.NewCmdAdd(f, ldr, repo.GetResourceFactory())
	}
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(args[1:])
	return cmd.Execute()
}

// at converts a path of a command to one of the repository.
func (f *editedFile) at(p string) string {
	if path.IsAbs(p) {
		return p
	}
	return path.Join(f.dir, p)
}

func (f *editedFile) isFile(p string) bool { return f.at(p) == path.Join(f.dir, f.file) }

func (f *editedFile) ReadFile(p string) ([]byte, error) {
	if f.isFile(p) {
		return bytes.Clone(f.data), nil
	}
	return f.repoFS.ReadFile(f.at(p))
}

func (f *editedFile) WriteFile(p string, data []byte) error {
	if !f.isFile(p) {
		return errReadOnly
	}
	f.data = bytes.Clone(data)
	return nil
}

func (f *editedFile) Exists(p string) bool { return f.repoFS.Exists(f.at(p)) }
func (f *editedFile) IsDir(p string) bool  { return f.repoFS.IsDir(f.at(p)) }
func (f *editedFile) CleanedAbs(p string) (filesys.ConfirmedDir, string, error) {
	return f.repoFS.CleanedAbs(f.at(p))
}

// Glob expands components. Missing ones keep their names: the command would look
// for them in a git repository, and they are reported later.
func (f *editedFile) Glob(pattern string) ([]string, error) {
	_, dir, err := f.find(f.dir)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(f.fsys, path.Join(dir, pattern))
	if len(names) == 0 || err != nil {
		return []string{pattern}, err
	}
	for i, name := range names {
		if names[i], err = filepath.Rel(dir, name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// editedFS is a repository with an edited kustomization.
type editedFS struct {
	overlay.FS
	name string
	// was is the original content.
	original []byte
}
