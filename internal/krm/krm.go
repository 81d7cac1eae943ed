// Package krm implements Ladder as a KRM function: a resource list in, the same
// list with sync waves out, as kustomize and kpt run functions
// (https://github.com/kubernetes-sigs/kustomize/blob/master/cmd/config/docs/api-conventions/functions-spec.md).
//
// The output of a function depends only on its input: it runs in containers without
// a disk, so the list contains everything, including a ladder.yaml. The items stay
// in order, because their positions in files do; Argo CD sorts them by wave.
package krm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/nearest"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
)

// LadderKey is the entry of a functionConfig with the content of a ladder.yaml.
const LadderKey = "ladder.yaml"

// Parameters lists the entries of a functionConfig: the plugin's parameters for
// ordering, and LadderKey.
func Parameters(ordering []string) []string { return append(slices.Clone(ordering), LadderKey) }

// IsList reports whether a text is a ResourceList. It need not be a valid one.
func IsList(text []byte) bool {
	if !bytes.Contains(text, []byte(listKind)) { // most texts are long manifests
		return false
	}
	var doc struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
	}
	err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&doc)
	return err == nil && doc.Kind == listKind && strings.HasPrefix(doc.APIVersion, "config.kubernetes.io/")
}

const listKind = "ResourceList"

// Peek reads a file, or standard input ("-"), and reports whether it is a ResourceList. rest
// is the same input to read again. Unreadable input is not a ResourceList.
func Peek(stdin io.Reader, file string) (list bool, rest io.Reader) {
	if file != "-" {
		text, err := os.ReadFile(file)
		return err == nil && IsList(text), bytes.NewReader(text)
	}
	text, err := io.ReadAll(stdin)
	rest = bytes.NewReader(text)
	if err != nil {
		rest = io.MultiReader(rest, stdin) // which fails again
	}
	return err == nil && IsList(text), rest
}

// Run reads a list from in and returns it with waves and findings. ordering lists
// the parameters of the plugin that a functionConfig may set.
//
// The error joins all findings that prevent waves. The list is still returned then,
// with these findings as results, unless in contains no list.
func Run(in io.Reader, base *knowledge.Base, ordering []string) (list []byte, findings []finding.Finding, err error) {
	given, err := io.ReadAll(in)
	if err != nil {
		return nil, nil, err
	}
	if err := typeFaults(given); err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	rw := &kio.ByteReadWriter{Reader: bytes.NewReader(given), Writer: &out, KeepReaderAnnotations: true, OmitReaderAnnotations: true}
	var faults error
	err = framework.Execute(framework.ResourceListProcessorFunc(func(rl *framework.ResourceList) error {
		if rw.WrappingKind == "" {
			return notAList("not a list of resources")
		}
		f := function{list: rl}
		findings, faults = f.run(base, ordering)
		f.tell(append(slices.Clone(findings), finding.Of(faults)...))
		return nil
	}), rw)
	var fault finding.Finding
	switch {
	case errors.As(err, &fault):
		return nil, nil, fault
	case err != nil:
		return nil, nil, unreadable(err)
	}
	return out.Bytes(), findings, faults
}

// typeFaults reports parts of a list with an invalid type, which the library
// ignores. It reports unreadable input itself.
func typeFaults(list []byte) error {
	var doc yaml.Node
	if yaml.Unmarshal(list, &doc) != nil || len(doc.Content) == 0 {
		return nil
	}
	var faults []error
	bad := func(v object.Value, field, message, remedy string) {
		f := notAList(message)
		f.Line, f.Field, f.Remedy = v.Line(), field, remedy
		faults = append(faults, f)
	}
	root := object.ValueOf(doc.Content[0])
	items, config := root.Get("items"), root.Get("functionConfig")
	if items.Exists() && !items.IsList() {
		bad(items, "items", "not a list", "write a list of resources, or [] for none")
	}
	for i, item := range items.Items() {
		if !item.IsMap() {
			bad(item, fmt.Sprintf("items[%d]", i), "not a resource", "write a mapping with apiVersion, kind and metadata")
		}
	}
	if config.Exists() && !config.IsMap() {
		bad(config, "functionConfig", "not a resource", "write a ConfigMap of v1 whose data are parameters, or leave it out")
	}
	return errors.Join(faults...)
}

// unreadable reports invalid YAML. Other messages of the library may quote the
// list.
func unreadable(err error) finding.Finding {
	f := notAList("the list cannot be read")
	_, text, ok := strings.Cut(err.Error(), "yaml: ")
	if ok {
		f.Line, f.Message = object.SyntaxError(errors.New(text))
		f.Message = "not valid YAML: " + f.Message
	}
	return f
}

func notAList(message string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: "no-resource-list", File: finding.StandardInput, Message: message,
		Remedy: "pass a ResourceList, as kustomize and kpt do; cmp annotate takes manifests"}
}

// function is a run of the function.
type function struct {
	list *framework.ResourceList
	// items are the items to apply, parallel to objs.
	items []*yaml.RNode
	objs  []object.Object
	// findings are about the input.
	findings []finding.Finding
}

// run adds waves to the items.
func (f *function) run(base *knowledge.Base, ordering []string) ([]finding.Finding, error) {
	settings, base, err := f.config(base, ordering)
	if err := errors.Join(err, f.read()); err != nil {
		return nil, err
	}
	if len(f.objs) == 0 {
		return f.findings, nil
	}
	marked := make([]object.Object, len(f.objs))
	for i, o := range f.objs {
		marked[i] = o.WithComment(mark + strconv.Itoa(i))
	}
	res, err := plugin.Annotate(marked, base, settings)
	if err != nil {
		return nil, err
	}
	return append(f.findings, res.Findings...), f.write(res.Objects)
}

// mark starts the comment that identifies an item.
const mark = "# item "

// config reads the functionConfig.
func (f *function) config(base *knowledge.Base, ordering []string) (plugin.Settings, *knowledge.Base, error) {
	var settings plugin.Settings
	config := f.list.FunctionConfig
	if config.IsNilOrEmpty() {
		return settings, base, nil
	}
	bad := func(field, message, remedy string) finding.Finding {
		return finding.Finding{Severity: finding.Error, Rule: "bad-function-config", Object: "functionConfig", Field: field, Message: message, Remedy: remedy}
	}
	if config.GetKind() != "ConfigMap" || config.GetApiVersion() != "v1" {
		message := fmt.Sprintf("it is a %s of %s", config.GetKind(), config.GetApiVersion())
		if config.GetKind() == "" || config.GetApiVersion() == "" {
			message = "it has no apiVersion or no kind"
		}
		return settings, base, bad("kind", message, "write a ConfigMap of v1 whose data are parameters, such as waves: compact")
	}
	var faults []error
	known := Parameters(ordering)
	given := object.ValueOf(config.YNode()).Get("data")
	if given.Exists() && !given.IsMap() {
		return settings, base, bad("data", "not a mapping", "write parameters and their values, such as waves: compact")
	}
	data := config.GetDataMap()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		value := data[key]
		field := "data." + key
		if v := given.Get(key); v.IsMap() || v.IsList() {
			faults = append(faults, bad(field, "not text", "write one value"))
			continue
		}
		if key == LadderKey {
			with, err := base.With(LadderKey+" in the functionConfig", value)
			if err != nil {
				faults = append(faults, err)
			} else {
				base = with
			}
			continue
		}
		i := slices.IndexFunc(plugin.Parameters(), func(p plugin.Parameter) bool { return p.Name == key })
		if i < 0 || !slices.Contains(ordering, key) {
			faults = append(faults, bad(field, "unknown parameter", "use one of "+strings.Join(known, ", ")).Asking(nearest.Suggest(key, known)))
			continue
		}
		if err := plugin.Parameters()[i].Set(&settings, []string{value}); err != nil {
			for _, fault := range finding.Of(err) {
				f := bad(field, fault.Message, fault.Remedy)
				f.Question = fault.Question
				faults = append(faults, f)
			}
		}
	}
	return settings, base, errors.Join(faults...)
}

// read reads the items to apply.
func (f *function) read() error {
	var faults []error
	for i, item := range f.list.Items {
		if isLocal(item) {
			continue
		}
		text, err := item.String()
		if err != nil {
			return err
		}
		place, _, _ := kioutil.GetFileAnnotations(item)
		objs, err := object.Parse(place, 0, text)
		if err != nil {
			for _, fault := range finding.Of(err) {
				// Items without a name are identified by index.
				fault.Message = fmt.Sprintf("items[%d]: %s", i, fault.Message)
				faults = append(faults, fault)
			}
			continue
		}
		switch {
		case len(objs) == 1 && objs[0].ID.Kind == item.GetKind():
			f.items, f.objs = append(f.items, item), append(f.objs, objs[0])
		case len(objs) > 0:
			f.findings = append(f.findings, finding.Finding{Severity: finding.Warning, Rule: "list-in-list", File: place, Message: fmt.Sprintf("items[%d]: the objects of a %s get no waves, because it is itself an item", i, item.GetKind()),
				Remedy: "write them as items of their own"})
		}
	}
	return errors.Join(faults...)
}

// isLocal reports whether an item is only for tools.
func isLocal(item *yaml.RNode) bool {
	if local, set := item.GetAnnotations()["config.kubernetes.io/local-config"]; set && local != "false" {
		return true
	}
	group, _, _ := strings.Cut(item.GetApiVersion(), "/")
	return slices.Contains([]string{"kpt.dev", "kustomize.config.k8s.io"}, group)
}

// write replaces the items by annotated objects, and removes unwanted items.
func (f *function) write(annotated []object.Object) error {
	made := map[*yaml.RNode]*yaml.RNode{}
	for _, o := range annotated {
		first, text, _ := strings.Cut(o.Text(), "\n")
		i, err := strconv.Atoi(strings.TrimPrefix(first, mark))
		if err != nil {
			return fmt.Errorf("%s came back as another item", o.ID)
		}
		if made[f.items[i]], err = yaml.Parse(text); err != nil {
			return err
		}
	}
	var all []*yaml.RNode
	for _, item := range f.list.Items {
		switch {
		case made[item] != nil:
			all = append(all, made[item])
		case !slices.Contains(f.items, item):
			all = append(all, item)
		}
	}
	f.list.Items = all
	return nil
}

// tell adds findings as results of the function.
func (f *function) tell(findings []finding.Finding) {
	severities := map[finding.Severity]framework.Severity{finding.Error: framework.Error, finding.Warning: framework.Warning, finding.Note: framework.Info}
	for _, found := range findings {
		found = found.Redacted()
		text := finding.Finding{Message: found.Message, Remedy: found.Remedy, Question: found.Question}.Error()
		r := &framework.Result{Severity: severities[found.Severity], Message: text, Tags: map[string]string{"rule": found.Rule}}
		if found.Field != "" {
			r.Field = &framework.Field{Path: found.Field}
		}
		if found.File != "" {
			r.File = &framework.File{Path: found.File}
		}
		if i := f.about(found); i >= 0 {
			o := f.objs[i]
			r.ResourceRef = &yaml.ResourceIdentifier{TypeMeta: yaml.TypeMeta{APIVersion: o.APIVersion, Kind: o.ID.Kind}, NameMeta: yaml.NameMeta{Name: o.ID.Name, Namespace: o.ID.Namespace}}
			if place, index, err := kioutil.GetFileAnnotations(f.items[i]); err == nil && place != "" {
				n, _ := strconv.Atoi(index) // 0 if there is none
				r.File = &framework.File{Path: place, Index: n}
			}
		} else if found.Object != "" {
			r.Message = found.Object + ": " + r.Message
		}
		f.list.Results = append(f.list.Results, r)
	}
}

// about returns the item of a finding; -1 means none. A finding contains the
// namespace that an object will get, which the object itself may omit.
func (f *function) about(found finding.Finding) int {
	return slices.IndexFunc(f.objs, func(o object.Object) bool {
		if o.ID.String() == found.Object {
			return true
		}
		return o.ID.Namespace == "" && strings.HasPrefix(found.Object, o.ID.Kind+" ") && strings.HasSuffix(found.Object, "/"+o.ID.Name)
	})
}
