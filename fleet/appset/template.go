package appset

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// finalizer makes Argo CD delete the resources of an Application when the Application
// is deleted.
const finalizer = "resources-finalizer.argocd.argoproj.io"

// render returns the Application that the template renders to with the parameters p.
func (e expansion) render(template map[string]any, p params) (map[string]any, error) {
	manifest := map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
	for key, value := range template {
		if key != "apiVersion" && key != "kind" {
			manifest[key] = clone(value)
		}
	}
	if len(p) > 0 {
		filled, err := e.fill(manifest, p)
		if err != nil {
			return nil, err
		}
		manifest = mapping(filled)
		metadata := mapping(manifest["metadata"])
		if list, _ := metadata["finalizers"].([]any); metadata != nil && !e.SyncPolicy.Preserve && len(list) == 0 {
			metadata["finalizers"] = []any{finalizer}
		}
	}
	if e.TemplatePatch != "" {
		if err := e.patch(manifest, p); err != nil {
			return nil, fmt.Errorf("templatePatch: %w", err)
		}
	}
	metadata := mapping(manifest["metadata"])
	if name, _ := metadata["name"].(string); name == "" {
		return nil, errors.New("the template has no metadata.name")
	}
	delete(metadata, "namespace")
	if e.namespace != "" { // an Application is always next to its ApplicationSet
		metadata["namespace"] = e.namespace
	}
	return manifest, nil
}

// patch applies templatePatch. It may change anything except the project.
func (e expansion) patch(made map[string]any, p params) error {
	text, err := e.replace(e.TemplatePatch, p)
	if err != nil {
		return err
	}
	var over map[string]any
	if err := yaml.Unmarshal([]byte(text), &over); err != nil {
		return errors.New("it does not render to a YAML mapping")
	}
	project, set := mapping(made["spec"])["project"]
	finalizers, _ := mapping(made["metadata"])["finalizers"].([]any)
	mergePatch(made, over)
	if metadata := mapping(made["metadata"]); mapping(over["metadata"])["finalizers"] != nil {
		list, _ := metadata["finalizers"].([]any) // the only list that is merged
		for _, f := range finalizers {
			if !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
		metadata["finalizers"] = list
	}
	if spec := mapping(made["spec"]); spec != nil {
		delete(spec, "project")
		if set {
			spec["project"] = project
		}
	}
	return nil
}

// mergePatch is a strategic merge: null deletes, mappings are merged unless a directive says
// otherwise, and everything else is replaced.
func mergePatch(into, patch map[string]any) {
	for key, value := range patch {
		below := mapping(value)
		switch {
		case value == nil || below["$patch"] == "delete":
			delete(into, key)
		case below != nil && below["$patch"] == "replace":
			replacement := maps.Clone(below)
			delete(replacement, "$patch")
			into[key] = replacement
		case below != nil:
			inner := mapping(into[key])
			if inner == nil {
				inner = map[string]any{}
				into[key] = inner
			}
			mergePatch(inner, below)
		default:
			into[key] = value
		}
	}
}

// fill renders every text of a value, and every key.
func (e expansion) fill(v any, p params) (any, error) {
	switch v := v.(type) {
	case string:
		return e.replace(v, p)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			var err error
			if all[i], err = e.fill(v[i], p); err != nil {
				return nil, err
			}
		}
		return all, nil
	case map[string]any:
		all := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			value, err := e.fill(v[key], p)
			if err != nil {
				return nil, err
			}
			name, err := e.replace(key, p)
			if err != nil {
				return nil, err
			}
			all[name] = value
		}
		return all, nil
	}
	return v, nil
}

// replace renders one text.
func (e expansion) replace(s string, p params) (string, error) {
	if !e.GoTemplate {
		return substitute(s, p)
	}
	return execute(s, p, e.GoTemplateOptions)
}

func execute(s string, p params, options []string) (text string, err error) {
	if !strings.Contains(s, "{{") {
		return s, nil
	}
	defer func() {
		if bad := recover(); bad != nil { // Option panics
			err = fmt.Errorf("goTemplateOptions: %v", bad)
		}
	}()
	t, err := template.New("").Funcs(functions).Option(options...).Parse(s)
	if err != nil {
		return "", fmt.Errorf("the template %q is invalid: %w", s, err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return "", fmt.Errorf("the template %q cannot be rendered: %w", s, err)
	}
	return b.String(), nil
}

// tagPattern matches the strings that Argo CD treats as templates: those with a tag
// {{…}} within one line.
var tagPattern = lazyregexp.New(`\{\{.*\}\}`)

// substitute renders a text without Go templates. Unknown parameters stay as they are.
func substitute(s string, p params) (string, error) {
	if !tagPattern.MatchString(s) {
		return s, nil
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return "", fmt.Errorf("the template %q has {{ without }}", s)
		}
		if value, known := p[strings.TrimSpace(name)].(string); known && strings.TrimSpace(name) != "" {
			b.WriteString(value)
		} else {
			b.WriteString("{{" + name + "}}")
		}
		s = after
	}
}

// functions are the template functions of Argo CD. As in Argo CD, those that read the
// environment are missing.
var functions = func() template.FuncMap {
	all := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(all, name)
	}
	all["normalize"] = normalize
	all["slugify"] = slugify
	all["toYaml"] = func(v any) (string, error) {
		text, err := yaml.Marshal(v)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	all["fromYaml"] = func(s string) (map[string]any, error) {
		v := map[string]any{}
		err := yaml.Unmarshal([]byte(s), &v)
		return v, err
	}
	all["fromYamlArray"] = func(s string) ([]any, error) {
		v := []any{}
		err := yaml.Unmarshal([]byte(s), &v)
		return v, err
	}
	return all
}()

var (
	notInNames = lazyregexp.New(`[^-a-z0-9.]`)
	notInSlugs = lazyregexp.New(`[^-a-z0-9_]+|-+`)
	dashes     = lazyregexp.New(`-+`)
)

// normalize converts a string to a valid Kubernetes name.
func normalize(name string) string {
	name = notInNames.ReplaceAllString(strings.ToLower(name), "-")
	return strings.Trim(name[:min(len(name), 253)], "-.")
}

// slugify converts a string to a slug. Its arguments are the length (50), whether to
// cut between words (true), and the string.
func slugify(args ...any) (string, error) {
	length, smart, name := 50, true, ""
	ok := len(args) > 0 && len(args) <= 3
	if ok {
		name, ok = args[len(args)-1].(string)
	}
	if ok && len(args) > 1 {
		length, ok = args[0].(int)
	}
	if ok && len(args) > 2 {
		smart, ok = args[1].(bool)
	}
	if !ok {
		return "", errors.New("slugify takes up to three arguments: a length, a boolean and a string")
	}
	name = normalize(name)
	if !smart {
		name = name[:min(len(name), max(length, 0))]
	}
	name = strings.Trim(dashes.ReplaceAllString(notInSlugs.ReplaceAllString(name, "-"), "-"), "-_")
	if !smart || length <= 0 || len(name) <= length {
		return name, nil
	}
	if at := strings.LastIndexByte(name[:length+1], '-'); at >= 0 {
		return name[:at], nil
	}
	return name[:length], nil
}
