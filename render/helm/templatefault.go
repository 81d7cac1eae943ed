package helm

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
)

// templatePlace matches a place in a message of the engine, such as
// "shop/templates/web.yaml:3:14" or "(shop/templates/web.yaml:3)".
var templatePlace = lazyregexp.New(`\(?([^\s():]+):(\d+)(?::\d+)?\)?`)

// disabledCall matches the error of a disabled function, without its place.
var disabledCall = lazyregexp.New(`\w+ ` + disabled)

// nestedReference matches the error of a template that includes itself more often than the
// engine allows, for which the engine has no type.
var nestedReference = lazyregexp.New(`rendering template has a nested reference name: (.*): unable to execute template$`)

// endlessInclude returns the finding for a template that includes itself, at the innermost
// place in the chart, and the template that was executed, which is at the outermost place.
// The message of the engine repeats the places of all nested calls.
func (s source) endlessInclude(ch *chart.Chart, f finding.Finding) (_ finding.Finding, executed *common.File, is bool) {
	nested := nestedReference.FindStringSubmatch(f.Message)
	if nested == nil {
		return f, nil, false
	}
	name, _ := s.templateFile(ch, nested[1])
	for _, place := range templatePlace.FindAllStringSubmatch(f.Message, -1) {
		file, t := s.templateFile(ch, place[1])
		if t == nil {
			continue // the text given to tpl, or an argument
		}
		if executed == nil {
			executed = t
		}
		f.File = file
		f.Line, _ = strconv.Atoi(place[2])
	}
	f.Message = "template " + strconv.Quote(name) + " includes itself, and Helm stops after 1000 nested references"
	f.Remedy = "end the recursion with a condition, or remove the include"
	f.About = f.Message
	return f, executed, true
}

// hidden returns the texts that no message may show: values from outside the repository that are
// not in the chart, too.
func (s source) hidden(ch *chart.Chart) input.Hidden {
	h := input.Outside(s.opt.Values)
	var except func(ch *chart.Chart)
	except = func(ch *chart.Chart) {
		for _, f := range ch.Raw {
			h.Except(f.Data)
		}
		for _, sub := range ch.Dependencies() {
			except(sub)
		}
	}
	except(ch)
	return h
}

// templateFault converts an error of the engine to a finding, and returns the
// template, if known.
func (s source) templateFault(ch *chart.Chart, vals any, err error) (finding.Finding, *common.File) {
	message, escape := withoutTplText(s.hidden(ch).From(err.Error()), vals)
	f := finding.Finding{Severity: finding.Error, Rule: FailedTemplate, File: s.Show(s.Dir), Message: message,
		Remedy: cmp.Or(escape, "correct the template, or set the value that it needs")}
	if endless, executed, is := s.endlessInclude(ch, f); is {
		return endless, executed
	}
	m := templatePlace.FindStringSubmatchIndex(f.Message)
	if m == nil {
		f.About = f.Message
		return f, nil
	}
	name := f.Message[m[2]:m[3]]
	f.Line, _ = strconv.Atoi(f.Message[m[4]:m[5]])
	message = f.Message[:m[0]] + f.Message[m[1]:]
	message, isSyntax := strings.CutPrefix(message, "parse error at ")
	message = strings.TrimLeft(strings.TrimPrefix(message, "template: "), ": \n")
	message, own := strings.CutPrefix(message, "execution error at : ")
	f.Message = s.withoutEngine(ch, message)
	switch call, root := disabledCall.FindString(f.Message), ofRoot.FindStringSubmatch(message); {
	case isSyntax && noFunction.MatchString(f.Message):
		f = suggestFunction(f, noFunction.FindStringSubmatch(f.Message)[1])
	case isSyntax && ofPrometheus.MatchString(f.Message):
		f.Remedy = "escape the braces, which are meant for Prometheus: {{`{{ … }}`}}"
	case isSyntax:
		f.Remedy = "correct the syntax of the template"
	case own: // of the functions fail and required
		f.Message, f.Remedy = reported+f.Message, "change the values that cause it"
	case notMapping.MatchString(message):
		f = blameValue(f, name, notMapping.FindStringSubmatch(message)[1], vals)
	case noTemplate.MatchString(message):
		f.Remedy = "define the template, or correct its name"
		f = f.Asking(finding.Suggest(noTemplate.FindStringSubmatch(message)[1], definedIn(ch)))
	case call != "":
		f.Message, f.Remedy = call, "read the value from .Values instead"
	case strings.Contains(message, "at <.Release."):
		f.Remedy = "correct the template, which reads what this version of Helm does not set"
	case root != nil:
		f.Remedy = "in range and with, the dot is another value: write $." + root[1] +
			"; a template that include calls needs the root as its argument"
	}
	f.About = f.Message // the engine has only a text
	var failed *common.File
	f.File, failed = s.templateFile(ch, name)
	return f, failed
}

var (
	engineWords = lazyregexp.New(`executing "[^"]*" (at )|template: |gotpl:\d+:(?:\d+:)? | associated with template "gotpl"`)
	nilPointer  = lazyregexp.New(`nil pointer evaluating (?:interface \{\}|\S+?)\.([\w-]+)`)
	noField     = lazyregexp.New(`can't evaluate field ([\w-]+) in type interface \{\}`)
	ofRoot      = lazyregexp.New(
		`(?:can't evaluate field|evaluating interface \{\}\.)\s?(Values|Release|Chart|Files|Capabilities|Template|Subcharts)\b`)
	notMapping = lazyregexp.New(`<\$?\.Values((?:\.\w+){2,})>:\s+can't evaluate field \w+ in type interface \{\}\s*$`)
	isDefined  = lazyregexp.New(`\{\{-?\s*(?:define|block)\s+"([^"]+)"`)
	// ofPrometheus matches the variables of Prometheus' own templates (prometheus, rules/alerting.go).
	ofPrometheus = lazyregexp.New(`undefined variable "\$(?:labels|value|externalLabels|externalURL)"`)
	noFunction   = lazyregexp.New(`function "(\w+)" not defined`)
)

var (
	tplText   = lazyregexp.New(`(cannot parse template|error during tpl function execution for) "(?:[^"\\]|\\.)*": `)
	undefined = lazyregexp.New(`(?:function|variable) "([^"]+)"`)
)

// withoutTplText removes the argument of tpl, which the engine quotes in full, usually a value.
// If it cannot be parsed, because it contains braces for another program, it also returns what
// to do about the values that may be meant.
func withoutTplText(message string, vals any) (text, remedy string) {
	at := tplText.FindStringSubmatchIndex(message)
	if at == nil {
		return message, ""
	}
	rest, remedy := withoutTplText(message[at[1]:], vals)
	if message[at[2]:at[3]] != "cannot parse template" {
		return message[:at[0]] + "in the text given to tpl: " + rest, remedy
	}
	remedy = "escape the braces in the value that the template gives to tpl: {{`{{ … }}`}}"
	if word := undefined.FindStringSubmatch(rest); word != nil {
		if keys := valuesWith(vals, word[1], ""); len(keys) > 0 {
			remedy = "escape the braces in the value " + strings.Join(keys[:min(len(keys), 3)], ", ") + ": {{`{{ … }}`}}"
		}
	}
	return message[:at[0]] + "the text given to tpl cannot be parsed: " + rest, remedy
}

// valuesWith returns the keys of the values that contain an action with a word.
func valuesWith(value any, word, key string) (keys []string) {
	switch v := value.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			keys = append(keys, valuesWith(v[k], word, strings.TrimPrefix(key+"."+k, "."))...)
		}
	case []any:
		for i, item := range v {
			keys = append(keys, valuesWith(item, word, key+"["+strconv.Itoa(i)+"]")...)
		}
	case string:
		if _, action, found := strings.Cut(v, "{{"); found && strings.Contains(action, word) {
			keys = append(keys, key)
		}
	}
	return keys
}

// withoutEngine replaces the engine's names of templates by files, and says of missing values
// what Go's words do not.
func (s source) withoutEngine(ch *chart.Chart, message string) string {
	message = engineWords.ReplaceAllString(message, "$1")
	message = nilPointer.ReplaceAllString(message, "nil pointer: \"$1\" is read from a value that is not set")
	message = noField.ReplaceAllString(message, "cannot read \"$1\": "+parentless)
	return templatePlace.ReplaceAllStringFunc(message, func(place string) string {
		m := templatePlace.FindStringSubmatch(place)
		if file, t := s.templateFile(ch, m[1]); t != nil {
			return file + ":" + m[2]
		}
		return place
	})
}

const parentless = "its parent has no such field (the parent may be a string or a number instead of a map)"

// blameValue says which value a template reads a field of although it is not a mapping, where
// the template names it by its path from .Values.
func blameValue(f finding.Finding, template, dotted string, vals any) finding.Finding {
	steps := strings.Split(dotted[1:], ".")
	var below []string // the values of a subchart are below its name
	for i, part := range strings.Split(template, "/") {
		if i > 1 && strings.Split(template, "/")[i-1] == "charts" {
			below = append(below, part)
		}
	}
	value := vals
	for i, step := range append(below, steps...) {
		m, ok := value.(map[string]any)
		if ok {
			value = m[step]
			continue
		}
		words := map[bool]string{true: "a string", false: "a single value"}
		if _, isList := value.([]any); isList || value == nil || i <= len(below) {
			return f
		}
		_, text := value.(string)
		key, field := strings.Join(append(below, steps...)[:i], "."), step
		f.Message = strings.Replace(f.Message, parentless, "the value "+key+" is set to "+words[text]+", not to a mapping", 1)
		f.Remedy = "write the value " + key + " as a mapping with the key " + field + ", or correct the template"
		return f
	}
	return f
}

// ofEngine are the functions that Helm's engine adds to those of sprig, and values that are
// often written without their dot.
var (
	ofEngine = []string{"fail", "fromJson", "fromJsonArray", "fromToml", "fromYaml", "fromYamlArray", "include", "lookup",
		"mustToJson", "mustToYaml", "required", "toJson", "toToml", "toYaml", "toYamlPretty", "tpl"}
	rootKeys = []string{"Capabilities", "Chart", "Files", "Release", "Subcharts", "Template", "Values"}
)

// suggestFunction suggests what an undefined function may be.
func suggestFunction(f finding.Finding, name string) finding.Finding {
	if slices.Contains(rootKeys, name) {
		f.Remedy = "write ." + name + ", with a dot"
		return f
	}
	f.Remedy = "correct the name, or use a function of Helm"
	return f.Asking(finding.Suggest(name, append(slices.Collect(maps.Keys(sprig.TxtFuncMap())), ofEngine...)))
}

// definedIn lists the templates that a chart and its dependencies define.
func definedIn(ch *chart.Chart) (names []string) {
	for _, t := range ch.Templates {
		for _, m := range isDefined.FindAllSubmatch(t.Data, -1) {
			names = append(names, string(m[1]))
		}
	}
	for _, d := range ch.Dependencies() {
		names = append(names, definedIn(d)...)
	}
	return names
}

// templateFile finds the template by the engine's name.
func (s source) templateFile(ch *chart.Chart, name string) (string, *common.File) {
	for _, t := range ch.Templates {
		if path.Join(ch.ChartFullPath(), t.Name) == name {
			return s.chartFile(ch, t.Name), t
		}
	}
	for _, d := range ch.Dependencies() {
		if file, t := s.templateFile(d, name); t != nil {
			return file, t
		}
	}
	return name, nil
}

// templateFiles sets the file of each template, as templateFile finds it, by the engine's name.
func (s source) templateFiles(ch *chart.Chart, all map[string]string) {
	full := ch.ChartFullPath()
	for _, t := range ch.Templates {
		if name := path.Join(full, t.Name); all[name] == "" {
			all[name] = s.chartFile(ch, t.Name)
		}
	}
	for _, d := range ch.Dependencies() {
		s.templateFiles(d, all)
	}
}

// chartFile returns the path of a file of a chart. It assumes that a subchart's
// directory is named after the chart.
func (s source) chartFile(ch *chart.Chart, name string) string {
	root := ch.Root().Name()
	return s.Show(path.Join(s.Dir, strings.TrimPrefix(ch.ChartFullPath(), root), name))
}

// manifestFaults finds every invalid YAML document; Helm stops at the first.
func (s source) manifestFaults(ch *chart.Chart, files map[string]string, first error) error {
	var faults []error
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		file, _ := s.templateFile(ch, name)
		if _, err := object.Parse(file, 0, files[name]); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	message := first.Error()
	file := s.Show(s.Dir)
	if name, rest, ok := strings.Cut(strings.TrimPrefix(message, "YAML parse error on "), ": "); ok {
		file, _ = s.templateFile(ch, name)
		message = rest
	}
	return finding.Finding{Severity: finding.Error, Rule: object.InvalidYAML, File: file, Message: message,
		Remedy: "correct the template or the values it prints"}
}
