package appset

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/argocd"
)

// params are the parameters of one Application as its templates see them: nested for
// Go templates, otherwise strings by path, such as path.basename.
type params = map[string]any

// generated is the result of a generator.
type generated struct {
	params []params
	// template is the template of the ApplicationSet, overridden by that of the
	// generator.
	template map[string]any
}

// outsideError says that a generator needs data outside of the available repositories.
type outsideError struct{ message string }

func (e outsideError) Error() string { return e.message }

// generatorTypes are the keys of generators. All but the first four need data outside
// of repositories.
var generatorTypes = []string{"list", "git", "matrix", "merge", "clusters", "clusterDecisionResource", "plugin",
	"pullRequest", "scmProvider"}

// transform returns the parameters of a generator that its selector selects. outer are
// the parameters of the first generator of a matrix.
func (e expansion) transform(g, template map[string]any, outer params) ([]generated, error) {
	var selects *argocd.Selector
	if err := decode(g["selector"], &selects); err != nil {
		return nil, fmt.Errorf("the selector of a generator is invalid: %w", err)
	}
	var all []generated
	for _, typ := range slices.Sorted(maps.Keys(g)) {
		if typ == "selector" || g[typ] == nil {
			continue
		}
		if !slices.Contains(generatorTypes, typ) {
			return nil, fmt.Errorf("unknown generator %q", typ)
		}
		inner, err := e.interpolate(typ, g[typ], outer)
		if err != nil {
			return nil, err
		}
		found, err := e.generate(typ, inner)
		if err != nil {
			return nil, err
		}
		if selects != nil {
			if found, err = filter(found, *selects); err != nil {
				return nil, err
			}
		}
		own, _ := clone(mapping(mapping(g[typ])["template"])).(map[string]any)
		all = append(all, generated{found, fillEmpty(own, template)})
	}
	return all, nil
}

// generate returns the parameters of a generator.
func (e expansion) generate(typ string, g any) ([]params, error) {
	switch typ {
	case "list":
		return e.list(g)
	case "git":
		return e.git(g)
	case "matrix":
		return e.matrix(g)
	case "merge":
		return e.merge(g)
	}
	return e.valuesOf(typ, g)
}

// nestedParams returns the parameters of a generator within a matrix or merge.
func (e expansion) nestedParams(g map[string]any, outer params) ([]params, error) {
	all, err := e.transform(g, nil, outer)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("each entry of a matrix or merge must have exactly one generator; an entry has %d", len(all))
	}
	if err != nil {
		return nil, err
	}
	return all[0].params, nil
}

// interpolate renders the second generator of a matrix with the parameters of the first.
func (e expansion) interpolate(typ string, g any, outer params) (any, error) {
	m := mapping(g)
	if len(outer) == 0 || m == nil {
		return g, nil
	}
	m = maps.Clone(m)
	values := mapping(m["values"])
	if typ != "list" { // its values are rendered once more, with its own parameters
		delete(m, "values")
	}
	filled, err := e.fill(m, outer)
	if err != nil || typ == "list" || values == nil {
		return filled, err
	}
	own := map[string]any{}
	for key, value := range values {
		text, _ := value.(string)
		if own[key], err = e.fillEarly(text, outer); err != nil {
			return nil, fmt.Errorf("values.%s: %w", key, err)
		}
	}
	mapping(filled)["values"] = own
	return filled, nil
}

// fillEarly renders a value that may use parameters which are not known yet.
func (e expansion) fillEarly(text string, p params) (string, error) {
	if !e.GoTemplate {
		return substitute(text, p)
	}
	filled, err := execute(text, p, append(slices.Clone(e.GoTemplateOptions), "missingkey=error"))
	var unknown template.ExecError
	if errors.As(err, &unknown) {
		return text, nil
	}
	return filled, err
}

// list returns the parameters of a list generator.
func (e expansion) list(g any) ([]params, error) {
	var list struct {
		Elements     []map[string]any `json:"elements"`
		ElementsYAML string           `json:"elementsYaml"`
	}
	if err := decode(g, &list); err != nil {
		return nil, fmt.Errorf("the list generator is invalid: %w", err)
	}
	all := list.Elements
	if !e.GoTemplate {
		for i, element := range all {
			flat := params{}
			for key, value := range element {
				if inner := mapping(value); key == "values" && inner != nil {
					for name, value := range inner {
						flat["values."+name] = value
					}
				} else {
					flat[key] = value
				}
			}
			for key, value := range flat {
				if _, is := value.(string); !is {
					return nil, fmt.Errorf("%s in an element of the list generator is not a string; values other than strings need goTemplate: true",
						key)
				}
			}
			all[i] = flat
		}
	}
	if list.ElementsYAML != "" {
		var more []map[string]any
		if err := yaml.Unmarshal([]byte(list.ElementsYAML), &more); err != nil {
			return nil, errors.New("elementsYaml of the list generator is not a list of mappings")
		}
		all = append(all, more...)
	}
	return all, nil
}

// valuesOf returns the parameters that the user provided for a generator that needs
// data outside of the repositories.
func (e expansion) valuesOf(typ string, g any) ([]params, error) {
	var common struct {
		Values   map[string]string `json:"values"`
		Selector argocd.Selector   `json:"selector"`
		FlatList bool              `json:"flatList"`
	}
	known, own := e.Values[e.name][typ]
	if !own {
		var is bool
		if known, is = e.Values[allSets][typ]; !is {
			return nil, outsideError{fmt.Sprintf("the %q generator queries data outside the repository, so Ladder does not know its Applications",
				typ)}
		}
	}
	if typ == "clusters" { // other selectors have other forms
		if err := decode(g, &common); err != nil {
			return nil, fmt.Errorf("the %s generator is invalid: %w", typ, err)
		}
	} else if err := decode(mapping(g)["values"], &common.Values); err != nil {
		return nil, fmt.Errorf("the values of the %s generator are invalid: %w", typ, err)
	}
	var all []params
	for _, found := range known {
		p, _ := clone(found).(map[string]any)
		flat := flatten(p)
		if typ == "clusters" {
			if !own && !common.Selector.IsEmpty() {
				if is, err := common.Selector.Matches(labelsOf(p)); err != nil {
					return nil, err
				} else if !is {
					continue
				}
			}
			addClusterDefaults(p)
			flat = flatten(p)
		}
		if !e.GoTemplate {
			p = flat
		}
		if err := e.addValues(p, common.Values); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if common.FlatList {
		list := make([]any, len(all))
		for i, p := range all {
			list[i] = p
		}
		all = []params{{"clusters": list}}
	}
	return all, nil
}

// addClusterDefaults adds the parameters that every cluster has.
func addClusterDefaults(p params) {
	name, _ := p["name"].(string)
	for key, value := range map[string]any{"nameNormalized": normalize(name), "project": "", "metadata": map[string]any{}} {
		if p[key] == nil {
			p[key] = value
		}
	}
}

func labelsOf(p params) map[string]string {
	labels := map[string]string{}
	for key, value := range mapping(mapping(p["metadata"])["labels"]) {
		labels[key] = fmt.Sprint(value)
	}
	return labels
}

// addValues adds the parameters of the generator's values field, which are templates
// of its other parameters.
func (e expansion) addValues(p params, values map[string]string) error {
	own := map[string]any{}
	for key, value := range values {
		filled, err := e.replace(value, p)
		if err != nil {
			return fmt.Errorf("values.%s: %w", key, err)
		}
		own[key] = filled
	}
	switch {
	case len(values) == 0:
	case e.GoTemplate:
		p["values"] = own
	default:
		for key, value := range own {
			p["values."+key] = value
		}
	}
	return nil
}

// generators is the specification of a matrix or merge generator.
type generators struct {
	Generators []map[string]any `json:"generators"`
	MergeKeys  []string         `json:"mergeKeys"`
}

// matrix pairs the parameters of two generators.
func (e expansion) matrix(g any) ([]params, error) {
	var m generators
	if err := decode(g, &m); err != nil {
		return nil, fmt.Errorf("the matrix generator is invalid: %w", err)
	}
	if len(m.Generators) != 2 {
		return nil, fmt.Errorf("the matrix generator takes two generators; it has %d", len(m.Generators))
	}
	outer, err := e.nestedParams(m.Generators[0], nil)
	if err != nil {
		return nil, err
	}
	var all []params
	for _, a := range outer {
		inner, err := e.nestedParams(m.Generators[1], a)
		if err != nil {
			return nil, err
		}
		for _, b := range inner {
			both, err := e.combine(a, b)
			if err != nil {
				return nil, err
			}
			all = append(all, both)
		}
	}
	return all, nil
}

// combine joins the parameters a and b. With Go templates, a takes precedence; without
// them, it is an error if both have a parameter with different values.
func (e expansion) combine(a, b params) (params, error) {
	if e.GoTemplate {
		both, _ := clone(b).(map[string]any)
		override(both, a)
		return both, nil
	}
	both := params{}
	for _, p := range []params{a, b} {
		for key, value := range p {
			text := fmt.Sprint(value)
			if known, is := both[key]; is && known != text {
				return nil, fmt.Errorf("both generators of the matrix have the parameter %s, with the values %q and %q", key, known, text)
			}
			both[key] = text
		}
	}
	return both, nil
}

// merge overrides the parameters of the first generator with those of later generators
// that have the same merge keys.
func (e expansion) merge(g any) ([]params, error) {
	var m generators
	if err := decode(g, &m); err != nil {
		return nil, fmt.Errorf("the merge generator is invalid: %w", err)
	}
	if len(m.Generators) < 2 || len(m.MergeKeys) == 0 {
		return nil, errors.New("the merge generator needs two or more generators, and mergeKeys")
	}
	var all []params
	at := map[string]int{}
	for i, inner := range m.Generators {
		found, err := e.nestedParams(inner, nil)
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for _, p := range found {
			key := keyOf(p, m.MergeKeys)
			if seen[key] {
				return nil, fmt.Errorf("a generator within a merge generator has two results with the same merge keys: %s", key)
			}
			seen[key] = true
			base, there := at[key]
			switch {
			case i == 0:
				at[key] = len(all)
				own, _ := clone(p).(map[string]any)
				all = append(all, own)
			case there && e.GoTemplate:
				override(all[base], p)
			case there:
				maps.Copy(all[base], p)
			}
		}
	}
	return all, nil
}

func keyOf(p params, keys []string) string {
	own := map[string]any{}
	for _, key := range keys {
		own[key] = p[key]
	}
	text, _ := json.Marshal(own) // cannot fail: the values come from YAML
	return string(text)
}

// filter returns the parameters that a selector selects.
func filter(all []params, s argocd.Selector) ([]params, error) {
	var kept []params
	for _, p := range all {
		labels := map[string]string{}
		for key, value := range flatten(p) {
			labels[key], _ = value.(string)
		}
		is, err := s.Matches(labels)
		if err != nil {
			return nil, err
		}
		if is {
			kept = append(kept, p)
		}
	}
	return kept, nil
}
