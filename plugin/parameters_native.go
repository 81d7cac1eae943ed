package plugin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/kustomize"
)

// The parameters in this file correspond to those of Argo CD's own sources for
// Helm, kustomize and directories (pkg/apis/application/v1alpha1,
// ApplicationSourceHelm, ApplicationSourceKustomize, ApplicationSourceDirectory).
// They have the same names where these are not taken.

var ofHelm = []Parameter{
	{
		Name: "values-object", Title: "Values as YAML", Item: "string", Collection: "string", YAML: true, Kinds: templated,
		Tooltip: "Values as YAML. They override values files, and are overridden by single values (set).",
		set:     list(func(s *Settings) *[]string { return &s.Values.Inline }),
	},
	{
		Name: "ignore-missing-value-files", Title: "Ignore missing values files", Item: "boolean", Collection: "string",
		Default: "false", Kinds: templated,
		Tooltip: "Ignore missing values files, and patterns that match no file.",
		set:     boolean(func(o *options) *bool { return &o.render.IgnoreMissing }),
	},
	{
		Name: "skip-crds", Title: "Skip crds/", Item: "boolean", Collection: "string", Default: "false", Kinds: charts,
		Tooltip: "Omit the files in a chart's crds/ directory, as helm template does. To omit CRDs in templates as well, set crds to skip.",
		set:     boolean(func(o *options) *bool { return &o.render.SkipCRDs }),
	},
	{
		Name: "skip-schema-validation", Title: "Skip schema validation", Item: "boolean", Collection: "string", Default: "false", Kinds: charts,
		Tooltip: "Do not check a chart's values against its values.schema.json.",
		set:     boolean(func(o *options) *bool { return &o.render.SkipSchema }),
	},
}

// kustomizations are the kinds of components that kustomize edits apply to.
var kustomizations = []render.Kind{render.Kustomize}

var ofKustomize = []Parameter{
	{
		Name: "name-prefix", Title: "Name prefix", Item: "string", Collection: "string", Kinds: kustomizations,
		Tooltip: "Prefix for all names in a kustomization, instead of its own namePrefix.",
		set:     checked(prefixFault, text(func(o *options) *string { return &o.render.Edits.NamePrefix })),
	},
	{
		Name: "name-suffix", Title: "Name suffix", Item: "string", Collection: "string", Kinds: kustomizations,
		Tooltip: "Suffix for all names in a kustomization, instead of its own nameSuffix.",
		set:     checked(suffixFault, text(func(o *options) *string { return &o.render.Edits.NameSuffix })),
	},
	{
		Name: "kustomize-namespace", Title: "Namespace of a kustomization", Item: "string", Collection: "string", Kinds: kustomizations,
		Tooltip: "Namespace that a kustomization sets on all objects, instead of its own namespace.",
		set:     checked(namespaceFault, text(func(o *options) *string { return &o.render.Edits.Namespace })),
	},
	{
		Name: "images", Title: "Images", Item: "string", Collection: "array", Kinds: kustomizations,
		Tooltip: "Images of a kustomization, such as app=registry/app:v2, in the syntax of kustomize edit set image.",
		set:     texts(func(o *options) *[]string { return &o.render.Edits.Images }),
	},
	{
		Name: "replicas", Title: "Replicas", Item: "string", Collection: "map", Verbatim: true, Kinds: kustomizations,
		Tooltip: "Replica counts of a kustomization's workloads by name, such as web: 3.",
		Flag:    "Replica counts of a kustomization's workloads by name, such as web=3",
		set:     checked(replicasFault, texts(func(o *options) *[]string { return &o.render.Edits.Replicas })),
	},
	{
		Name: "common-labels", Title: "Common labels", Item: "string", Collection: "map", Verbatim: true, Kinds: kustomizations,
		Tooltip: "Labels that a kustomization adds to all objects, and to selectors and templates.",
		set:     checked(labelFault, pairs(func(o *options) *map[string]string { return &o.render.Edits.CommonLabels })),
	},
	{
		Name: "force-common-labels", Title: "Force common labels", Item: "boolean", Collection: "string", Default: "false", Kinds: kustomizations,
		Tooltip: "Let common-labels replace labels of the kustomization.",
		set:     boolean(func(o *options) *bool { return &o.render.Edits.ForceCommonLabels }),
	},
	{
		Name: "label-without-selector", Title: "Labels without selectors", Item: "boolean", Collection: "string",
		Default: "false", Kinds: kustomizations,
		Tooltip: "Keep common-labels out of selectors and templates.",
		set:     boolean(func(o *options) *bool { return &o.render.Edits.LabelWithoutSelector }),
	},
	{
		Name: "label-include-templates", Title: "Labels in templates", Item: "boolean", Collection: "string",
		Default: "false", Kinds: kustomizations,
		Tooltip: "With label-without-selector, still add common-labels to templates.",
		set:     boolean(func(o *options) *bool { return &o.render.Edits.LabelIncludeTemplates }),
	},
	{
		Name: "common-annotations", Title: "Common annotations", Item: "string", Collection: "map", Verbatim: true, Kinds: kustomizations,
		Tooltip: "Annotations that a kustomization adds to all objects.",
		set:     checked(annotationFault, pairs(func(o *options) *map[string]string { return &o.render.Edits.CommonAnnotations })),
	},
	{
		Name: "force-common-annotations", Title: "Force common annotations", Item: "boolean", Collection: "string",
		Default: "false", Kinds: kustomizations,
		Tooltip: "Let common-annotations replace annotations of the kustomization.",
		set:     boolean(func(o *options) *bool { return &o.render.Edits.ForceCommonAnnotations }),
	},
	{
		Name: "common-annotations-envsubst", Title: "Variables in common annotations", Item: "boolean", Collection: "string",
		Default: "false", Kinds: kustomizations,
		Tooltip: "Replace names of the Application's variables, such as $ARGOCD_APP_NAME, with their values in common-annotations.",
		set:     boolean(func(o *options) *bool { return &o.fillAnnotations }),
	},
	{
		Name: "patches", Title: "Patches", Item: "string", Collection: "array", YAML: true, Kinds: kustomizations,
		Tooltip: "Patches of a kustomization in addition to its own, each as YAML with target and patch or path.",
		set:     texts(func(o *options) *[]string { return &o.render.Edits.Patches }),
	},
	{
		Name: "components", Title: "Components", Item: "string", Collection: "array", Kinds: kustomizations,
		Tooltip: "Components of a kustomization in addition to its own: directories relative to it.",
		set:     texts(func(o *options) *[]string { return &o.render.Edits.Components }),
	},
	{
		Name: "ignore-missing-components", Title: "Ignore missing components", Item: "boolean", Collection: "string",
		Default: "false", Kinds: kustomizations,
		Tooltip: "Ignore missing directories of components.",
		set:     boolean(func(o *options) *bool { return &o.render.Edits.IgnoreMissingComponents }),
	},
	{
		Name: "build-options", Title: "Build options", Item: "string", Collection: "string", Kinds: kustomizations,
		Tooltip: "Options of kustomize build, such as --load-restrictor=LoadRestrictionsNone, as in Argo CD's kustomize.buildOptions.",
		set: func(s *Settings, values []string) error {
			restricted, err := kustomize.BuildOptions(values[0])
			if err != nil {
				return err
			}
			s.changes = append(s.changes, func(o *options) { o.render.Unrestricted = !restricted })
			return nil
		},
	},
}

// directories are the kinds of components that are read file by file.
var directories = []render.Kind{render.Plain}

var ofDirectory = []Parameter{
	{
		Name: "recurse", Title: "Recurse", Item: "boolean", Collection: "string", Default: "true", Kinds: directories,
		Tooltip: "Also read plain YAML in subdirectories. Argo CD's own directory sources do not by default; set false to behave like them.",
		set:     boolValue(func(o *options, recurse bool) { o.render.Directory.Flat = !recurse }),
	},
	{
		Name: "include", Title: "Include", Item: "string", Collection: "string", Kinds: directories,
		Tooltip: "Read only the plain YAML files that match a pattern, such as {*.yaml,*.jsonnet}; * also matches slashes.",
		set:     checked(patternFault, text(func(o *options) *string { return &o.render.Directory.Include })),
	},
	{
		Name: "exclude", Title: "Exclude", Item: "string", Collection: "string", Kinds: directories,
		Tooltip: "Exclude the plain YAML files that match a pattern, such as {test/*,values*.yaml}, even if include matches them.",
		set:     checked(patternFault, text(func(o *options) *string { return &o.render.Directory.Exclude })),
	},
	{
		Name: "tlas", Title: "Jsonnet arguments", Item: "string", Collection: "map", Verbatim: true, Kinds: directories,
		Tooltip: "Top-level arguments of jsonnet files, as text.",
		set:     jsonnetVariables(func(j *render.Jsonnet) *[]render.Variable { return &j.TLAs }, false),
	},
	{
		Name: "tlas-code", Title: "Jsonnet arguments as code", Item: "string", Collection: "map", Verbatim: true, Kinds: directories,
		Tooltip: "Top-level arguments of jsonnet files, as code, such as replicas: 3.",
		Flag:    "Top-level arguments of jsonnet files, as code, such as replicas=3",
		set:     jsonnetVariables(func(j *render.Jsonnet) *[]render.Variable { return &j.TLAs }, true),
	},
	{
		Name: "ext-vars", Title: "Jsonnet variables", Item: "string", Collection: "map", Verbatim: true, Kinds: directories,
		Tooltip: "External variables (std.extVar) of jsonnet files, as text.",
		set:     jsonnetVariables(func(j *render.Jsonnet) *[]render.Variable { return &j.ExtVars }, false),
	},
	{
		Name: "ext-vars-code", Title: "Jsonnet variables as code", Item: "string", Collection: "map", Verbatim: true, Kinds: directories,
		Tooltip: "External variables (std.extVar) of jsonnet files, as code, such as ports: [80, 443].",
		Flag:    "External variables (std.extVar) of jsonnet files, as code, such as ports=[80, 443]",
		set:     jsonnetVariables(func(j *render.Jsonnet) *[]render.Variable { return &j.ExtVars }, true),
	},
	{
		Name: "libs", Title: "Jsonnet libraries", Item: "string", Collection: "array", Kinds: directories,
		Tooltip: "Directories in which jsonnet files find their imports, relative to the root of the repository.",
		set:     texts(func(o *options) *[]string { return &o.render.Directory.Jsonnet.Libs }),
	},
}

func boolValue(set func(*options, bool)) func(*Settings, []string) error {
	return func(s *Settings, values []string) error {
		b, err := strconv.ParseBool(values[0])
		if err != nil {
			return finding.Fault(fmt.Sprintf("%q is neither true nor false", values[0]), "write true or false")
		}
		s.changes = append(s.changes, func(o *options) { set(o, b) })
		return nil
	}
}

func boolean(field func(*options) *bool) func(*Settings, []string) error {
	return boolValue(func(o *options, b bool) { *field(o) = b })
}

func text[T ~string](field func(*options) *T) func(*Settings, []string) error {
	return func(s *Settings, values []string) error {
		s.changes = append(s.changes, func(o *options) { *field(o) = T(values[0]) })
		return nil
	}
}

func texts(field func(*options) *[]string) func(*Settings, []string) error {
	return func(s *Settings, values []string) error {
		s.changes = append(s.changes, func(o *options) { *field(o) = append(*field(o), values...) })
		return nil
	}
}

func pairs(field func(*options) *map[string]string) func(*Settings, []string) error {
	return eachPair(func(o *options, key, value string) {
		if *field(o) == nil {
			*field(o) = map[string]string{}
		}
		(*field(o))[key] = value
	})
}

func jsonnetVariables(field func(*render.Jsonnet) *[]render.Variable, code bool) func(*Settings, []string) error {
	set := eachPair(func(o *options, key, value string) {
		all := field(&o.render.Directory.Jsonnet)
		*all = append(*all, render.Variable{Name: key, Value: value, Code: code})
	})
	return func(s *Settings, values []string) error {
		if err := set(s, values); err != nil {
			return err
		}
		var o options
		o.add(*s)
		seen := map[string]bool{}
		for _, v := range *field(&o.render.Directory.Jsonnet) {
			if seen[v.Name] {
				return finding.Fault(fmt.Sprintf("%s is set both as text and as code", v.Name), "keep one of the two")
			}
			seen[v.Name] = true
		}
		return nil
	}
}

// eachPair splits values of the form key=value.
func eachPair(set func(o *options, key, value string)) func(*Settings, []string) error {
	return func(s *Settings, values []string) error {
		seen := map[string]bool{}
		for i, pair := range values {
			key, value, ok := strings.Cut(pair, "=")
			if !ok || key == "" {
				// The value may be a secret, so it is not quoted.
				return finding.Fault(fmt.Sprintf("entry %d is not key=value", i+1), "write key=value")
			}
			if seen[key] {
				return finding.Fault(fmt.Sprintf("%s is set twice", key), "keep one of the two")
			}
			seen[key] = true
			s.changes = append(s.changes, func(o *options) { set(o, key, value) })
		}
		return nil
	}
}

func patternFault(pattern string) error {
	if render.ValidPattern(pattern) {
		return nil
	}
	return finding.Fault(fmt.Sprintf("%q is not a valid pattern", pattern),
		`close every "[" and "{"; write "\[" or "\{" if the character is part of a name`)
}

// prefixFault and suffixFault say why a prefix or suffix of object names is
// invalid. A few kinds (RBAC) accept more, but the prefix is added to all names.
func prefixFault(prefix string) error { return nameFault(prefix, prefix+"a", "begin") }
func suffixFault(suffix string) error { return nameFault(suffix, "a"+suffix, "end") }

func nameFault(text, name, verb string) error {
	if object.IsName(name) {
		return nil
	}
	return finding.Fault(fmt.Sprintf("no name can %s with %q", verb, text), "use lowercase letters, digits, \"-\" and \".\"")
}

func labelFault(pair string) error {
	key, value, _ := strings.Cut(pair, "=")
	if fault := annotationFault(pair); fault != nil {
		return fault
	}
	filled := expandKnown(value, func(name string) (string, bool) { return "a", slices.Contains(substitutable, name) })
	if object.IsLabelValue(filled) {
		return nil
	}
	return finding.Fault(fmt.Sprintf("the value of %s is not a valid label value", key),
		"use at most 63 letters, digits, \"-\", \"_\" and \".\"")
}

// annotationFault says why a label or annotation key is invalid.
func annotationFault(pair string) error {
	key, _, valued := strings.Cut(pair, "=")
	if key == "" || !valued {
		return nil // reported by eachPair; the value may be a secret
	}
	if object.IsLabelKey(key) {
		return nil
	}
	return finding.Fault(fmt.Sprintf("%q is not a valid key", key), "use a key such as team or example.com/team")
}

func replicasFault(pair string) error {
	name, count, ok := strings.Cut(pair, "=")
	if n, err := strconv.Atoi(count); ok && name != "" && err == nil && n >= 0 {
		return nil
	}
	return finding.Fault(fmt.Sprintf("%q does not set a number of replicas", pair), "use NAME=NUMBER, such as web=3, or web: 3 in a map")
}
