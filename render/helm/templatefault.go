package helm

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// templatePlace matches a place in a message of the engine, such as
// "shop/templates/web.yaml:3:14" or "(shop/templates/web.yaml:3)".
var templatePlace = regexp.MustCompile(`\(?([^\s():]+):(\d+)(?::\d+)?\)?`)

// disabledCall matches the error of a disabled function, without its place.
var disabledCall = regexp.MustCompile(`\w+ ` + disabled)

// nestedReference matches the error of a template that includes itself more often than the
// engine allows, for which the engine has no type.
var nestedReference = regexp.MustCompile(`rendering template has a nested reference name: (.*): unable to execute template$`)

// endlessInclude returns the finding for a template that includes itself, at the innermost
// place in the chart, and the template that was executed, which is at the outermost place.
// The message of the engine repeats the places of all nested calls.
func (s source) endlessInclude(ch *chart.Chart, f finding.Finding) (_ finding.Finding, executed *common.File, is bool) {
	nested := nestedReference.FindStringSubmatch(f.Message)
	if nested == nil {
		return f, nil, false
	}
	name := "a template" // defined in a value
	if file, t := s.templateFile(ch, nested[1]); t != nil || inTemplates(ch, nested[1]) {
		name = "template " + strconv.Quote(file)
	}
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
	f.Message = name + " includes itself, and Helm stops after 1000 nested references"
	f.Remedy = "end the recursion with a condition, or remove the include"
	f.About = f.Message
	return f, executed, true
}

// templateFault converts an error of the engine to a finding, and returns the
// template, if known.
func (s source) templateFault(ch *chart.Chart, err error) (finding.Finding, *common.File) {
	f := finding.Finding{Severity: finding.Error, Rule: FailedTemplate, File: s.Show(s.Dir), Message: withoutTplText(err.Error()), Remedy: "correct the template, or set the value that it needs"}
	if endless, executed, is := s.endlessInclude(ch, f); is {
		return endless, executed
	}
	m := templatePlace.FindStringSubmatchIndex(f.Message)
	if m == nil {
		f.Message = withoutArguments(ch, f.Message)
		f.About = f.Message
		return f, nil
	}
	name := f.Message[m[2]:m[3]]
	f.Line, _ = strconv.Atoi(f.Message[m[4]:m[5]])
	message := f.Message[:m[0]] + f.Message[m[1]:]
	message, unparsed := strings.CutPrefix(message, "parse error at ")
	message, own := strings.CutPrefix(strings.TrimLeft(strings.TrimPrefix(message, "template: "), ": \n"), "execution error at : ")
	f.Message = s.withoutEngine(ch, message)
	switch call := disabledCall.FindString(f.Message); {
	case unparsed:
		f.Remedy = "correct the syntax of the template"
	case own: // of the functions fail and required
		f.Message, f.Remedy = "the template reports: "+f.Message, "change the values that cause it"
	case call != "":
		f.Message, f.Remedy = call, "read the value from .Values instead"
	}
	f.About = f.Message // the engine has only a text
	var failed *common.File
	f.File, failed = s.templateFile(ch, name)
	return f, failed
}

var (
	engineWords = regexp.MustCompile(`executing "[^"]*" (at )|template: |gotpl:\d+:(?:\d+:)? | associated with template "gotpl"`)
	nilPointer  = regexp.MustCompile(`nil pointer evaluating (?:interface \{\}|\S+?)\.([\w-]+)`)
	noField     = regexp.MustCompile(`can't evaluate field ([\w-]+) in type (?:map\[string\])?(?:interface \{\}|\S+)`)
	goTypes     = strings.NewReplacer("map[string]interface {}", "mapping", "[]interface {}", "list", "interface {}", "value")
)

var (
	tplText  = regexp.MustCompile(`(cannot parse template|error during tpl function execution for) "(?:[^"\\]|\\.)*": `)
	quotedIn = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// withoutTplText removes the argument of tpl, which the engine quotes in full: it
// is usually a value, and may contain a password. If it cannot be parsed, the
// offending words are removed, too.
func withoutTplText(message string) string {
	at := tplText.FindStringSubmatchIndex(message)
	if at == nil {
		return message
	}
	before, rest := message[:at[0]], withoutTplText(message[at[1]:])
	if message[at[2]:at[3]] == "cannot parse template" {
		return before + "the text given to tpl cannot be parsed: " + quotedIn.ReplaceAllLiteralString(rest, "(a value)")
	}
	return before + "in the text given to tpl: " + rest
}

var (
	ofFunction = regexp.MustCompile(`error calling \w+:\s`)
	quotedText = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")
)

// withoutArguments removes function arguments from error messages, unless they are
// literals in a template. They may be passwords.
func withoutArguments(ch *chart.Chart, message string) string {
	calls := ofFunction.FindAllStringIndex(message, -1)
	if calls == nil {
		return message
	}
	at := calls[len(calls)-1][1]
	return message[:at] + quotedText.ReplaceAllStringFunc(message[at:], func(quoted string) string {
		if inTemplates(ch, quoted[1:len(quoted)-1]) {
			return quoted
		}
		return "(a value)"
	})
}

// inTemplates reports whether a template of a chart contains a text.
func inTemplates(ch *chart.Chart, text string) bool {
	return slices.ContainsFunc(ch.Templates, func(t *common.File) bool { return bytes.Contains(t.Data, []byte(text)) }) ||
		slices.ContainsFunc(ch.Dependencies(), func(d *chart.Chart) bool { return inTemplates(d, text) })
}

// withoutEngine replaces the engine's names of templates by files, and Go types by
// words.
func (s source) withoutEngine(ch *chart.Chart, message string) string {
	message = withoutArguments(ch, engineWords.ReplaceAllString(message, "$1"))
	message = nilPointer.ReplaceAllString(message, "nil pointer: \"$1\" is read from a value that is not set")
	message = noField.ReplaceAllString(message, "cannot read \"$1\": its parent has no such field (the parent may be a string or a number instead of a map)")
	message = templatePlace.ReplaceAllStringFunc(message, func(place string) string {
		m := templatePlace.FindStringSubmatch(place)
		if file, t := s.templateFile(ch, m[1]); t != nil {
			return file + ":" + m[2]
		}
		return place
	})
	return goTypes.Replace(message)
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
	return finding.Finding{Severity: finding.Error, Rule: object.InvalidYAML, File: file, Message: message, Remedy: "correct the template or the values it prints"}
}
