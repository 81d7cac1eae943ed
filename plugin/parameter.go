package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph/hooks"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/wave"
)

// Settings are the parameters from one place: component.yaml, the environment,
// flags or the Application. Empty fields are not set.
type Settings struct {
	Name      string
	Namespace string
	Revision  string
	// Environment selects what component.yaml and ladder.yaml set for an environment.
	Environment string
	Values      input.Values
	KubeVersion string
	APIVersions []string
	// ArgoCD is the version of the Argo CD that syncs.
	ArgoCD string
	Waves  wave.Style
	// Hooks says how to treat Helm hooks.
	Hooks hooks.Mode
	// CRDs selects a part of the component.
	CRDs crds.Mode

	// changes are the parameters that only a rendering reads.
	changes []func(*options)
	// parameterNames are the names of the parameters that were set.
	parameterNames []string
}

// Parameter is an input of a rendering. One table defines the flags of the command
// line, the parameters of the plugin, the keys of component.yaml and the content of
// Argo CD's UI, so that the four cannot diverge.
type Parameter struct {
	// Name is the name of the plugin parameter, and in --param on the command line. component.yaml uses
	// camel case, the environment upper case with the prefix LADDER_.
	Name string
	// Visible gives the parameter a flag of its own, and Short a one-letter form of it.
	Visible bool
	Short   string
	Title   string
	// Tooltip describes the parameter in a sentence.
	Tooltip string
	// Flag replaces Tooltip on the command line if the meaning of file names or the default
	// differs there; empty means Tooltip.
	Flag string
	// Item is the type of a value: "string" or "boolean".
	Item string
	// Collection is the number of values: "string" for one, "array" or "map".
	Collection string
	// Default is the value of an unset parameter.
	Default string
	// Choices are the allowed values; empty means any.
	Choices []string
	// YAML means that a value is a YAML text. component.yaml may contain the YAML
	// itself.
	YAML bool
	// Verbatim means that the values of a map are strings, not Helm expressions.
	Verbatim bool
	// Kinds are the kinds of components that the parameter affects; empty means
	// all.
	Kinds []render.Kind

	// set stores values: one, the elements of an array, or for a map expressions of
	// the form key=value.
	set func(s *Settings, values []string) error
}

func rendererFault(name string) error {
	if slices.Contains(render.Kinds(), render.Kind(name)) {
		return nil
	}
	return finding.Fault(fmt.Sprintf("unknown renderer %q", name),
		"use helm, kustomize, helm-kustomize, template, plain or tree").Asking(finding.Suggest(name, words(render.Kinds()...)))
}

func namespaceFault(name string) error {
	if object.IsNamespaceName(name) {
		return nil
	}
	return finding.Fault(fmt.Sprintf("%q is not a valid namespace name", name), "use at most 63 lowercase letters, digits and \"-\"")
}

func kubeVersionFault(version string) error {
	if helm.ValidKubeVersion(version) {
		return nil
	}
	return finding.Fault(fmt.Sprintf("%q is not a Kubernetes version", version), "use a version such as 1.34.2")
}

// apiVersions matches "v1", or a group with a version and optionally a kind.
var apiVersions = lazyregexp.New(`^(v\d\w*|[\w.-]+(/[\w.-]+){1,2})$`)

func apiVersionFault(version string) error {
	if apiVersions.MatchString(version) {
		return nil
	}
	return finding.Fault(fmt.Sprintf("%q is not an API version", version), "use an API version such as apps/v1 or apps/v1/Deployment")
}

// WithoutValues returns the settings without values files and single values, for a component
// that accepts none.
func (s Settings) WithoutValues() Settings {
	s.Values = input.Values{Read: s.Values.Read}
	return s
}

// Set checks and stores the values of a parameter, wherever they were set; for a map,
// expressions of the form key=value.
func (p Parameter) Set(s *Settings, values []string) error {
	if len(values) == 0 {
		return nil
	}
	s.parameterNames = append(s.parameterNames, p.Name)
	if p.Collection == "array" && slices.Contains(values, "") {
		return p.fault("one of the values is empty", "remove the empty value")
	}
	if err := p.set(s, values); err != nil {
		var all []error
		for _, f := range finding.Of(err) {
			fault := p.fault(f.Message, f.Remedy)
			fault.Question = f.Question
			all = append(all, fault)
		}
		return errors.Join(all...)
	}
	if last := len(p.Choices) - 1; last > 0 && !slices.Contains(p.Choices, values[0]) {
		return p.fault(fmt.Sprintf("unknown value %q", values[0]),
			fmt.Sprintf("write %s or %s", strings.Join(p.Choices[:last], ", "), p.Choices[last])).Asking(finding.Suggest(values[0], p.Choices))
	}
	return nil
}

func (p Parameter) fault(message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Field: "parameter " + p.Name, Message: message, Remedy: remedy}
}

// Key returns the parameter's name in component.yaml, such as apiVersions for
// api-versions.
func (p Parameter) Key() string {
	var b strings.Builder
	upper := false
	for _, r := range p.Name {
		if r == '-' {
			upper = true
			continue
		}
		if upper {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
		upper = false
	}
	return b.String()
}

// Variable returns the parameter's name as a variable of an Application.
func (p Parameter) Variable() string {
	return "LADDER_" + strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_"))
}

// passedParameter is a parameter as Argo CD passes it.
type passedParameter struct {
	Name   string             `json:"name"`
	String *string            `json:"string"`
	Array  *[]string          `json:"array"`
	Map    *map[string]string `json:"map"`
}

// parametersFromJSON reads ARGOCD_APP_PARAMETERS.
func parametersFromJSON(text string) ([]passedParameter, []error) {
	if text == "" || text == "null" {
		return nil, nil
	}
	var all []passedParameter
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		_, message := object.SyntaxError(err)
		return nil, []error{finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Field: "ARGOCD_APP_PARAMETERS",
			Message: "not a list of parameters: " + message,
			Remedy:  "write spec.source.plugin.parameters as a list of name with string, array or map"}}
	}
	return all, nil
}

// settingsFromParameters reads parameters. It reports all problems.
func settingsFromParameters(all []passedParameter) (Settings, []error) {
	var s Settings
	var faults []error
	seen := map[string]bool{}
	for i, g := range all {
		if g.Name == "" {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Field: fmt.Sprintf("parameters[%d]", i),
				Message: "the parameter has no name", Remedy: "add a name, or remove the parameter"})
			continue
		}
		p, ok := find(func(p Parameter) bool { return p.Name == g.Name })
		if !ok {
			faults = append(faults, unknown("parameter "+g.Name, g.Name, func(p Parameter) string { return p.Name }))
			continue
		}
		values, err := p.values(g)
		if seen[g.Name] {
			err = p.fault("the parameter is set twice", "keep one of the two")
		}
		seen[g.Name] = true
		if err == nil {
			err = p.Set(&s, values)
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	return s, faults
}

// values checks the type of a passed parameter and flattens it.
func (p Parameter) values(g passedParameter) ([]string, error) {
	got := ""
	switch {
	case g.Map != nil:
		got = "map"
	case g.Array != nil:
		got = "array"
	case g.String != nil:
		got = "string"
	}
	if got != p.Collection {
		message := fmt.Sprintf("must be %s, not %s", article(p.Collection), article(got))
		if got == "" {
			message = fmt.Sprintf("must be %s, but has no value", article(p.Collection))
		}
		return nil, p.fault(message, "write "+p.example())
	}
	switch got {
	case "array":
		return *g.Array, nil
	case "map":
		return p.expressions(*g.Map), nil
	}
	if *g.String == "" {
		return nil, nil // an empty field of the UI
	}
	return []string{*g.String}, nil
}

func article(collection string) string {
	if collection == "array" {
		return "an array"
	}
	return "a " + collection
}

func (p Parameter) example() string {
	switch p.Collection {
	case "array":
		return "array: [...]"
	case "map":
		return "map: {key: value}"
	}
	if p.Item == "boolean" {
		return `string: "true"`
	}
	return "string: ..."
}

// expressions formats a map as Helm's --set expects it. A comma separates values
// there, so one inside a value is escaped, unless the value is a list in braces.
// Argo CD treats its own Helm parameters the same way (util/helm/helm.go).
func (p Parameter) expressions(m map[string]string) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		value := m[key]
		if list := strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}"); !p.Verbatim && !list {
			value = escapeCommas(value)
		}
		all = append(all, key+"="+value)
	}
	return all
}

func escapeCommas(value string) string {
	var b strings.Builder
	for i, r := range value {
		if r == ',' && (i == 0 || value[i-1] != '\\') {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func find(matches func(Parameter) bool) (Parameter, bool) {
	if i := slices.IndexFunc(parameters, matches); i >= 0 {
		return parameters[i], true
	}
	return Parameter{}, false
}

// unknown reports an unknown parameter.
func unknown(field, word string, name func(Parameter) string) finding.Finding {
	var names []string
	for _, p := range parameters {
		names = append(names, name(p))
	}
	return finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Field: field, Message: "unknown parameter",
		Remedy: "remove it; cmp render --help-all lists the parameters"}.Asking(finding.Suggest(word, names))
}
