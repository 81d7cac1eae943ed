package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/object"
)

// expansion is the work on one ApplicationSet. Parameters are as its templates see them:
// nested if typed (goTemplate), or else texts by paths such as path.basename
// (applicationset/generators of Argo CD).
type expansion struct {
	*work
	name    string
	typed   bool
	options []string
}

type params = map[string]any

// generate lists the parameters of a generator; outer are those of the first generator
// of a matrix.
func (e expansion) generate(g tree, outer params) ([]params, error) {
	if outer != nil {
		filled, err := e.fill(clone(g), outer)
		if err != nil {
			return nil, err
		}
		g = fieldsOf(filled)
	}
	var all []params
	var err error
	kinds := slices.DeleteFunc(sortedKeys(g), func(key string) bool { return key == "selector" })
	if len(kinds) != 1 {
		return nil, fmt.Errorf("a generator has the keys %s, and not one", strings.Join(kinds, ", "))
	}
	inner := fieldsOf(g[kinds[0]])
	switch kinds[0] {
	case "list":
		all, err = e.list(inner)
	case "git":
		all, err = e.git(inner)
	case "matrix":
		all, err = e.matrix(inner)
	case "merge":
		all, err = e.merged(inner)
	default:
		all, err = e.given(kinds[0], inner)
	}
	if err != nil {
		return nil, err
	}
	if inner["template"] != nil {
		err = fmt.Errorf("the generator %s has a template of its own, which is not applied", kinds[0])
	}
	return e.selected(all, fieldsOf(g["selector"])), err
}

// list is the generator list.
func (e expansion) list(g tree) ([]params, error) {
	elements, _ := g["elements"].([]any)
	if written := text(g["elementsYaml"]); written != "" {
		more, err := object.PlainText(written)
		list, is := more.([]any)
		if err != nil || !is {
			return nil, errors.New("elementsYaml is not a list")
		}
		elements = append(elements, list...)
	}
	var all []params
	for _, item := range elements {
		element := fieldsOf(clone(item))
		if !e.typed {
			flat := params{}
			flatten(element, "", flat)
			element = flat
		}
		all = append(all, element)
	}
	return all, nil
}

// given are parameters that the user has written, for what looks outside of the
// repository.
func (e expansion) given(kind string, g tree) ([]params, error) {
	known, is := e.Parameters[e.name][kind]
	if !is {
		return nil, fmt.Errorf("the generator %s looks outside of the repository, so its Applications are unknown", kind)
	}
	var all []params
	for _, p := range known {
		own := clone(p).(tree)
		if name := text(own["name"]); name != "" && own["nameNormalized"] == nil {
			own["nameNormalized"] = normalize(name)
		}
		if !e.typed {
			flat := params{}
			flatten(own, "", flat)
			own = flat
		}
		if err := e.values(own, fieldsOf(g["values"])); err != nil {
			return nil, err
		}
		all = append(all, own)
	}
	return all, nil
}

// git is the generator git, for directories or for files.
func (e expansion) git(g tree) ([]params, error) {
	if url := text(g["repoURL"]); !e.ours(url) {
		return nil, fmt.Errorf("the generator git reads the repository %s, which is not here", url)
	}
	prefix := text(g["pathParamPrefix"])
	values := fieldsOf(g["values"])
	if list, is := g["directories"].([]any); is {
		return e.directories(list, prefix, values)
	}
	list, _ := g["files"].([]any)
	var all []params
	found, err := e.files(list)
	if err != nil {
		return nil, err
	}
	for _, file := range found {
		text, err := fs.ReadFile(e.Repo, file)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read", file)
		}
		content, err := object.PlainText(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s is neither a mapping nor a list of mappings", file)
		}
		objects, several := content.([]any)
		if !several {
			objects = []any{content}
		}
		for _, item := range objects {
			o, p := fieldsOf(item), params{}
			if e.typed {
				maps.Copy(p, o)
			} else {
				flatten(o, "", p)
			}
			e.path(p, prefix, path.Dir(file), path.Base(file))
			if err := e.values(p, values); err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// directories are those of the repository that match a pattern and none that excludes.
func (e expansion) directories(list []any, prefix string, values tree) ([]params, error) {
	var all []params
	err := fs.WalkDir(e.Repo, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir() || p == ".":
			return err
		case strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		in, out := false, false
		for _, item := range list {
			pattern := fieldsOf(item)
			if match, err := path.Match(text(pattern["path"]), p); err == nil && match {
				in, out = in || pattern["exclude"] != true, out || pattern["exclude"] == true
			}
		}
		if !in || out {
			return nil
		}
		found := params{}
		e.path(found, prefix, p, "")
		all = append(all, found)
		return e.values(found, values)
	})
	return all, err
}

// files are those of the repository that match, as git matches paths: "*" is for slashes,
// too.
func (e expansion) files(list []any) ([]string, error) {
	var in, out []*regexp.Regexp
	for _, item := range list {
		f := fieldsOf(item)
		quoted := regexp.QuoteMeta(text(f["path"]))
		quoted = strings.NewReplacer(`\*\*/`, `(.*/)?`, `\*\*`, `.*`, `\*`, `.*`, `\?`, `.`).Replace(quoted)
		pattern, err := regexp.Compile("^" + quoted + "$")
		if err != nil {
			return nil, err
		}
		if f["exclude"] == true {
			out = append(out, pattern)
		} else {
			in = append(in, pattern)
		}
	}
	var all []string
	err := fs.WalkDir(e.Repo, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		match := func(r *regexp.Regexp) bool { return r.MatchString(p) }
		if slices.ContainsFunc(in, match) && !slices.ContainsFunc(out, match) {
			all = append(all, p)
		}
		return nil
	})
	return all, err
}

// path adds the parameters that say where something was found.
func (e expansion) path(p params, prefix, dir, file string) {
	segments := strings.Split(dir, "/")
	if e.typed {
		at := tree{"path": dir, "basename": path.Base(dir), "basenameNormalized": normalize(path.Base(dir)), "segments": segments}
		if file != "" {
			at["filename"], at["filenameNormalized"] = file, normalize(file)
		}
		if prefix != "" {
			p[prefix] = tree{"path": at}
		} else {
			p["path"] = at
		}
		return
	}
	name := "path"
	if prefix != "" {
		name = prefix + ".path"
	}
	p[name], p[name+".basename"], p[name+".basenameNormalized"] = dir, path.Base(dir), normalize(path.Base(dir))
	if file != "" {
		p[name+".filename"], p[name+".filenameNormalized"] = file, normalize(file)
	}
	for i, segment := range segments {
		p[name+"["+strconv.Itoa(i)+"]"] = segment
	}
}

// values adds those that a generator makes of its other parameters.
func (e expansion) values(p params, values tree) error {
	if len(values) == 0 {
		return nil
	}
	own := tree{}
	for key, value := range values {
		filled, err := e.replace(text(value), p)
		if err != nil {
			return fmt.Errorf("values.%s: %w", key, err)
		}
		own[key] = filled
		if !e.typed {
			p["values."+key] = filled
		}
	}
	if e.typed {
		p["values"] = own
	}
	return nil
}

// matrix pairs the parameters of two generators. The first win.
func (e expansion) matrix(g tree) ([]params, error) {
	list, _ := g["generators"].([]any)
	if len(list) != 2 {
		return nil, errors.New("the generator matrix has not two generators")
	}
	outer, err := e.generate(fieldsOf(list[0]), nil)
	if err != nil {
		return nil, err
	}
	var all []params
	for _, a := range outer {
		inner, err := e.generate(fieldsOf(list[1]), a)
		if err != nil {
			return nil, err
		}
		for _, b := range inner {
			layOver(b, a)
			all = append(all, b)
		}
	}
	return all, nil
}

// merged lays the parameters of later generators over those of the first with the same
// keys.
func (e expansion) merged(g tree) ([]params, error) {
	list, _ := g["generators"].([]any)
	keys, _ := g["mergeKeys"].([]any)
	if len(list) < 2 || len(keys) == 0 {
		return nil, errors.New("the generator merge has too few generators or no mergeKeys")
	}
	key := func(p params) string {
		var all []any
		for _, k := range keys {
			all = append(all, p[text(k)])
		}
		return asText(all)
	}
	all, err := e.generate(fieldsOf(list[0]), nil)
	if err != nil {
		return nil, err
	}
	for _, item := range list[1:] {
		more, err := e.generate(fieldsOf(item), nil)
		if err != nil {
			return nil, err
		}
		for _, over := range more {
			for _, base := range all {
				if key(base) == key(over) {
					layOver(base, over)
				}
			}
		}
	}
	return all, nil
}

// layOver lays parameters over others: mappings are merged.
func layOver(into, over params) {
	for key, value := range over {
		if below, is := value.(tree); is && fieldsOf(into[key]) != nil {
			layOver(fieldsOf(into[key]), below)
		} else {
			into[key] = clone(value)
		}
	}
}

// selected are the parameters that a selector of a generator leaves.
func (e expansion) selected(all []params, selector tree) []params {
	if selector == nil {
		return all
	}
	expressions, _ := selector["matchExpressions"].([]any)
	return slices.DeleteFunc(all, func(p params) bool {
		flat := params{}
		flatten(p, "", flat)
		for key, value := range fieldsOf(selector["matchLabels"]) {
			if text(flat[key]) != text(value) {
				return true
			}
		}
		return slices.ContainsFunc(expressions, func(item any) bool {
			x := fieldsOf(item)
			value, there := flat[text(x["key"])]
			return !matches(text(x["operator"]), text(value), there, x["values"])
		})
	})
}

// flatten writes what is nested as texts by paths.
func flatten(v any, under string, into params) {
	switch v := v.(type) {
	case tree:
		for key, value := range v {
			if under != "" {
				key = under + "." + key
			}
			flatten(value, key, into)
		}
	case []any:
		for i, value := range v {
			flatten(value, under+"."+strconv.Itoa(i), into)
		}
	case []string:
		for i, value := range v {
			into[under+"."+strconv.Itoa(i)] = value
		}
	default:
		into[under] = text(v)
	}
}

// fill fills in every text of a value, and every key.
func (e expansion) fill(v any, p params) (any, error) {
	switch v := v.(type) {
	case string:
		return e.replace(v, p)
	case []any:
		for i := range v {
			filled, err := e.fill(v[i], p)
			if err != nil {
				return nil, err
			}
			v[i] = filled
		}
	case tree:
		for _, key := range sortedKeys(v) {
			filled, err := e.fill(v[key], p)
			if err != nil {
				return nil, err
			}
			name, err := e.replace(key, p)
			if err != nil {
				return nil, err
			}
			delete(v, key)
			v[name] = filled
		}
	}
	return v, nil
}

var tag = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

// replace fills in one text.
func (e expansion) replace(s string, p params) (string, error) {
	if !strings.Contains(s, "{{") {
		return s, nil
	}
	if !e.typed {
		return tag.ReplaceAllStringFunc(s, func(found string) string {
			if value, known := p[strings.TrimSpace(found[2:len(found)-2])].(string); known {
				return value
			}
			return found
		}), nil
	}
	t, err := template.New("").Funcs(functions).Option(e.options...).Parse(s)
	if err != nil {
		return "", fmt.Errorf("the template %q cannot be read: %w", s, err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return "", fmt.Errorf("the template %q cannot be filled in: %w", s, err)
	}
	return b.String(), nil
}

// functions are those of Argo CD's templates. What tells of the environment is not among
// them, neither there nor here.
var functions = func() template.FuncMap {
	all := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(all, name)
	}
	all["normalize"] = normalize
	all["toYaml"] = func(v any) string { return strings.TrimSuffix(asText(v), "\n") }
	all["fromYaml"] = func(s string) (v tree, err error) { return v, yaml.Unmarshal([]byte(s), &v) }
	all["fromYamlArray"] = func(s string) (v []any, err error) { return v, yaml.Unmarshal([]byte(s), &v) }
	return all
}()

var notInNames = regexp.MustCompile(`[^-a-z0-9.]`)

// normalize makes a name that Kubernetes takes, as Argo CD does.
func normalize(name string) string {
	name = notInNames.ReplaceAllString(strings.ToLower(name), "-")
	return strings.Trim(name[:min(len(name), 253)], "-.")
}
