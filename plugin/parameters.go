package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/wave"
)

// Settings are what one place (component.yaml, the environment, flags or
// parameters) says about a rendering. Empty fields leave a matter to others.
type Settings struct {
	Renderer    string
	Name        string
	Namespace   string
	Revision    string
	Values      render.Values
	KubeVersion string
	APIVersions []string
	SkipTests   *bool
	// Order says how to order, and Tests what becomes of Helm's tests: "smoke"
	// runs them last in a sync.
	Order wave.Options
	Tests string
	// CRDs says which part of the component is wanted, PruneCRDs what becomes of
	// definitions that are gone, and Upgraders what becomes of Jobs that write
	// definitions.
	CRDs      crds.Mode
	PruneCRDs *bool
	Upgraders string

	// native are what parameters say that Argo CD's own sources have, too.
	native []func(*options)
	// given names the parameters that were set.
	given []string
}

// Parameter is one input of a rendering. The same table makes the flags of the
// command line, the parameters of the plugin, the keys of component.yaml and
// what Argo CD's UI shows, so that the four cannot drift apart.
type Parameter struct {
	// Name is the name of the flag and of the plugin parameter; component.yaml
	// has it in camel case, the environment in upper case behind LADDER_.
	Name string
	// Short is the one-letter form of the flag, if there is one.
	Short string
	Title string
	// Tooltip says in a sentence what the parameter does.
	Tooltip string
	// Flag says it for the command line, where files and defaults are others;
	// empty means that the tooltip does.
	Flag string
	// Item is the type of a value: "string" or "boolean".
	Item string
	// Collection says how many values there are: "string" for one, "array" or
	// "map".
	Collection string
	// Default is what holds when nobody sets the parameter.
	Default string
	// Choices are the values that it takes; none means any.
	Choices []string
	// YAML means that a value is a text of YAML, in whose place component.yaml may
	// have what the text says.
	YAML bool
	// Verbatim means that the values of a map are texts, and no expressions of
	// Helm.
	Verbatim bool
	// Kinds are those of components to which it means something; none means all.
	Kinds []render.Kind

	// set stores values: one, the elements of an array, or for a map
	// expressions of the form key=value.
	set func(s *Settings, values []string) error
}

// Parameters returns the table, in the order in which people read it.
func Parameters() []Parameter { return parameters }

var parameters = slices.Concat(ofRendering, ofHelm, ofKustomize, ofDirectory, ofOrder)

// The kinds of components to which parameters mean something.
var (
	charts    = []render.Kind{render.Helm}
	templated = []render.Kind{render.Helm, render.Template}
)

var ofRendering = []Parameter{
	{
		Name: "name", Kinds: templated, Title: "Release name", Item: "string", Collection: "string",
		Tooltip: "Name of the Helm release, and .Release.Name in templates. The Application's name if empty.",
		Flag:    "Name of the Helm release, and .Release.Name in templates (default: name in component.yaml, or the name of the directory)",
		set:     one(func(s *Settings) *string { return &s.Name }),
	},
	{
		Name: "namespace", Title: "Namespace", Item: "string", Collection: "string",
		Tooltip: "Namespace that templates see. The Application's destination if empty.",
		Flag:    "Namespace that templates see (default: namespace in component.yaml, or " + defaultNamespace + ")",
		set:     checked(namespaceFault, one(func(s *Settings) *string { return &s.Namespace })),
	},
	{
		Name: "renderer", Title: "Renderer", Item: "string", Collection: "string", Default: "detected",
		Tooltip: "How to render the directory: helm, kustomize, helm-kustomize, template, plain or tree. Found out from its files if empty; a tree never is.",
		Choices: words(render.Kinds()...),
		set: func(s *Settings, values []string) error {
			if !slices.Contains(render.Kinds(), render.Kind(values[0])) {
				return fmt.Errorf("there is no renderer %q; use helm, kustomize, helm-kustomize, template, plain or tree", values[0])
			}
			s.Renderer = values[0]
			return nil
		},
	},
	{
		Name: "values", Short: "f", Title: "Values files", Item: "string", Collection: "array",
		Tooltip: "Values files, later ones win. Relative to the component's directory; /path is relative to the repository.",
		Flag:    "Values files, later ones win. Relative to the working directory",
		set: func(s *Settings, values []string) error {
			s.Values.Files = append(s.Values.Files, values...)
			return nil
		},
	},
	{
		Name: "set", Title: "Values", Item: "string", Collection: "map",
		Tooltip: "Single values by their path, such as image.tag: v2. They win over values files.",
		set: func(s *Settings, values []string) error {
			s.Values.Set = append(s.Values.Set, values...)
			return nil
		},
	},
	{
		Name: "set-string", Title: "Text values", Item: "string", Collection: "map",
		Tooltip: "Like set, but the value is always text, also where it looks like a number.",
		set: func(s *Settings, values []string) error {
			s.Values.SetString = append(s.Values.SetString, values...)
			return nil
		},
	},
	{
		Name: "set-file", Title: "Values from files", Item: "string", Collection: "map",
		Tooltip: "Like set, but the value is the content of the file that is named.",
		Flag:    "Like set, but the value is the content of the file that is named, relative to the working directory",
		set: func(s *Settings, values []string) error {
			s.Values.SetFile = append(s.Values.SetFile, values...)
			return nil
		},
	},
	{
		Name: "kube-version", Kinds: templated, Title: "Kubernetes version", Item: "string", Collection: "string", Default: "the cluster's, or " + render.DefaultKubeVersion,
		Tooltip: "Kubernetes version that templates see, such as 1.34.2. The cluster's if empty.",
		set:     checked(kubeVersionFault, one(func(s *Settings) *string { return &s.KubeVersion })),
	},
	{
		Name: "api-versions", Kinds: templated, Short: "a", Title: "API versions", Item: "string", Collection: "array",
		Tooltip: "API versions that templates see besides the cluster's, such as monitoring.coreos.com/v1; capabilities: pinned leaves out the cluster's.",
		set: checked(apiVersionFault, func(s *Settings, values []string) error {
			s.APIVersions = append(s.APIVersions, values...)
			return nil
		}),
	},
	{
		Name: "capabilities", Title: "Capabilities", Item: "string", Collection: "string", Default: capabilitiesOfCluster, Kinds: templated,
		Tooltip: "Which API versions templates see besides Kubernetes' own: cluster adds api-versions to the cluster's, pinned takes api-versions alone, fleet too, to which fleet commands add what components of earlier phases install.",
		Choices: words(capabilitiesOfCluster, capabilitiesPinned, CapabilitiesOfFleet),
		set: func(s *Settings, values []string) error {
			s.native = append(s.native, func(o *options) { o.capabilities = values[0] })
			return nil
		},
	},
	{
		Name: "skip-tests", Kinds: charts, Title: "Skip tests", Item: "boolean", Collection: "string", Default: "false",
		Tooltip: "Leave out the test hooks of charts. Argo CD never applies them either way.",
		set:     boolean(func(s *Settings) **bool { return &s.SkipTests }),
	},
}

var ofOrder = []Parameter{
	{
		Name: "waves", Title: "Waves", Item: "string", Collection: "string", Default: string(wave.Rungs),
		Tooltip: "How many waves: rungs makes one for each gate, compact only those without which something fails, off writes none.",
		Choices: words(wave.Rungs, wave.Compact, wave.Off),
		set:     choice(func(s *Settings) *wave.Style { return &s.Order.Waves }),
	},
	{
		Name: "author-waves", Title: "Waves in the manifests", Item: "string", Collection: "string", Default: string(wave.Refine),
		Tooltip: "What becomes of sync waves that are there: refine splits one only if something in it would fail, keep leaves them, override replaces them.",
		Choices: words(wave.Refine, wave.Keep, wave.Override),
		set:     choice(func(s *Settings) *wave.AuthorPolicy { return &s.Order.Author }),
	},
	{
		Name: "jobs", Title: "Jobs", Item: "string", Collection: "string", Default: string(wave.AsTheyAre),
		Tooltip: "What becomes of plain Jobs that configure or validate what runs: hook makes them Sync hooks that are deleted before they run again, keep leaves them.",
		Choices: words(wave.AsTheyAre, wave.AsHooks),
		set:     choice(func(s *Settings) *wave.Jobs { return &s.Order.Jobs }),
	},
	{
		Name: "tests", Title: "Tests", Item: "string", Collection: "string", Default: testsLeft,
		Tooltip: "What becomes of Helm's test hooks, which Argo CD never applies: smoke runs them last in a sync, keep leaves them.",
		Choices: words(testsLeft, testsAsSmoke),
		set:     choice(func(s *Settings) *string { return &s.Tests }),
	},
	{
		Name: "crds", Title: "CRDs", Item: "string", Collection: "string", Default: string(crds.Include),
		Tooltip: "Which part of the component: include is what its values say, only every CRD that it can ship and nothing else, skip what its values say without the CRDs.",
		Choices: words(crds.Include, crds.Only, crds.Skip),
		set:     choice(func(s *Settings) *crds.Mode { return &s.CRDs }),
	},
	{
		Name: "crds-prune", Title: "Prune CRDs", Item: "boolean", Collection: "string", Default: "false",
		Tooltip: "With crds: only, let Argo CD prune CRDs that are gone, and with them every object of their kinds.",
		set:     boolean(func(s *Settings) **bool { return &s.PruneCRDs }),
	},
	{
		Name: "crds-upgraders", Title: "CRD upgraders", Item: "string", Collection: "string", Default: upgradersLeft,
		Tooltip: "What becomes of a chart's Jobs that write CRDs when they run: off turns them off by the chart's values, keep leaves them.",
		Choices: words(upgradersLeft, upgradersOff),
		set:     choice(func(s *Settings) *string { return &s.Upgraders }),
	},
}

// boolean sets a field to what a text says.
func boolean(field func(*Settings) **bool) func(*Settings, []string) error {
	return boolValue(func(s *Settings, b bool) { *field(s) = &b })
}

// Which API versions templates see.
const (
	capabilitiesOfCluster = "cluster"
	capabilitiesPinned    = "pinned"
	// CapabilitiesOfFleet are those that are pinned, with what the fleet installs
	// before.
	CapabilitiesOfFleet = "fleet"
)

// What may become of Helm's tests.
const (
	testsLeft    = "keep"
	testsAsSmoke = "smoke"
)

// choice sets a field to one of the parameter's Choices.
func choice[T ~string](field func(*Settings) *T) func(*Settings, []string) error {
	return func(s *Settings, values []string) error {
		*field(s) = T(values[0])
		return nil
	}
}

func words[T ~string](all ...T) []string {
	var names []string
	for _, w := range all {
		names = append(names, string(w))
	}
	return names
}

func one(field func(*Settings) *string) func(*Settings, []string) error {
	return func(s *Settings, values []string) error {
		*field(s) = values[0]
		return nil
	}
}

// checked refuses values that can mean nothing, whatever is rendered. What
// Argo CD says of the cluster does not come this way.
func checked(fault func(value string) string, set func(*Settings, []string) error) func(*Settings, []string) error {
	return func(s *Settings, values []string) error {
		var faults []error
		for _, v := range values {
			if text := fault(v); text != "" {
				faults = append(faults, errors.New(text))
			}
		}
		if len(faults) > 0 {
			return errors.Join(faults...)
		}
		return set(s, values)
	}
}

// namespaceNames are those that the API server allows (RFC 1123).
var namespaceNames = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func namespaceFault(name string) string {
	if namespaceNames.MatchString(name) {
		return ""
	}
	return fmt.Sprintf("%q cannot be a namespace, whose name has at most 63 small letters, digits and \"-\" between them; correct it", name)
}

func kubeVersionFault(version string) string {
	if render.ValidKubeVersion(version) {
		return ""
	}
	return fmt.Sprintf("%q is no Kubernetes version; write it like 1.34.2", version)
}

// apiVersions are "v1", and a group with a version and perhaps a kind.
var apiVersions = regexp.MustCompile(`^(v\d\w*|[\w.-]+(/[\w.-]+){1,2})$`)

func apiVersionFault(version string) string {
	if apiVersions.MatchString(version) {
		return ""
	}
	return fmt.Sprintf("%q is no API version; write it like apps/v1 or apps/v1/Deployment", version)
}

// Set stores values of a parameter as the command line gives them: for a map,
// expressions of the form key=value.
func (p Parameter) Set(s *Settings, values []string) error {
	if len(values) == 0 {
		return nil
	}
	s.given = append(s.given, p.Name)
	if p.Collection == "array" && slices.Contains(values, "") {
		return p.fault("one of the names is empty; drop it")
	}
	if err := p.set(s, values); err != nil {
		all := []error{err}
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			all = several.Unwrap()
		}
		for i, err := range all {
			all[i] = p.fault(err.Error())
		}
		return errors.Join(all...)
	}
	if last := len(p.Choices) - 1; last > 0 && !slices.Contains(p.Choices, values[0]) {
		return p.fault(fmt.Sprintf("%q means nothing here; write %s or %s", values[0], strings.Join(p.Choices[:last], ", "), p.Choices[last]))
	}
	return nil
}

func (p Parameter) fault(message string) finding.Finding {
	message, remedy, _ := strings.Cut(message, "; ")
	return finding.Finding{Severity: finding.Error, Rule: "bad-parameter", Field: "parameter " + p.Name, Message: message, Remedy: remedy}
}

// Key is the parameter's name in component.yaml: api-versions, apiVersions.
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

// Variable is the parameter's name among the variables of an Application.
func (p Parameter) Variable() string {
	return "LADDER_" + strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_"))
}

// given is a parameter as Argo CD passes it.
type given struct {
	Name   string             `json:"name"`
	String *string            `json:"string"`
	Array  *[]string          `json:"array"`
	Map    *map[string]string `json:"map"`
}

// givenInJSON reads ARGOCD_APP_PARAMETERS.
func givenInJSON(text string) ([]given, []error) {
	if text == "" || text == "null" {
		return nil, nil
	}
	var all []given
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		_, message := object.SyntaxError(err)
		return nil, []error{finding.Finding{Severity: finding.Error, Rule: "bad-parameter", Field: "ARGOCD_APP_PARAMETERS",
			Message: "not a list of parameters: " + message, Remedy: "write spec.source.plugin.parameters as a list of name with string, array or map"}}
	}
	return all, nil
}

// settingsFromGiven reads parameters. All faults are reported.
func settingsFromGiven(all []given) (Settings, []error) {
	var s Settings
	var faults []error
	seen := map[string]bool{}
	for i, g := range all {
		if g.Name == "" {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "bad-parameter", Field: fmt.Sprintf("parameters[%d]", i),
				Message: "the parameter has no name", Remedy: "give it one, or drop it"})
			continue
		}
		p, ok := find(func(p Parameter) bool { return p.Name == g.Name })
		if !ok {
			faults = append(faults, unknown("parameter "+g.Name, func(p Parameter) string { return p.Name }))
			continue
		}
		values, err := p.values(g)
		if seen[g.Name] {
			err = p.fault("it is given twice; keep one of the two")
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

// values checks the type of a given parameter and flattens it.
func (p Parameter) values(g given) ([]string, error) {
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
		have := "a " + got
		if got == "array" {
			have = "an array"
		} else if got == "" {
			have = "nothing"
		}
		return nil, p.fault(fmt.Sprintf("got %s, want %s; write %s", have, article(p.Collection), p.example()))
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

// expressions writes a map as Helm's --set expects it. A comma separates
// values there, so one inside a value is escaped, unless the value is a list
// in braces; Argo CD treats its own Helm parameters the same way
// (util/helm/helm.go).
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

func find(is func(Parameter) bool) (Parameter, bool) {
	if i := slices.IndexFunc(parameters, is); i >= 0 {
		return parameters[i], true
	}
	return Parameter{}, false
}

// unknown reports a name that no parameter has, with those there are.
func unknown(field string, name func(Parameter) string) finding.Finding {
	var names []string
	for _, p := range parameters {
		names = append(names, name(p))
	}
	return finding.Finding{Severity: finding.Error, Rule: "unknown-parameter", Field: field, Message: "there is no such parameter",
		Remedy: "use one of " + strings.Join(names, ", ")}
}
