package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/render/input"
)

// RenderTemplates renders templated YAML: the *.yaml.tmpl and *.gotmpl files of a
// directory, and plain manifests next to them. The language is that of chart
// templates, run by the same engine, so there is nothing new to learn: .Values,
// .Release.Name, .Release.Namespace, include, tpl, required, toYaml, sprig. Files
// whose names start with "_" contain only definitions.
//
// Two rules are stricter than in charts, because no existing templates depend on
// them: undeclared values are errors, and functions that depend on the machine
// (clock, environment, network, random numbers) fail, so that renderings are
// deterministic.
func RenderTemplates(of input.Source, opt Options) (Result, error) {
	s := source{of, opt}
	caps, err := s.capabilities()
	if err != nil {
		return Result{}, err
	}
	ch, err := s.templateChart()
	funcs := MachineFuncs()
	for name, f := range s.probed(ch) {
		if funcs[name] == nil {
			funcs[name] = f
		}
	}
	vals, valuesErr := input.MergeValues(s.opt.Values, s.opt.IgnoreMissing)
	if err := errors.Join(err, valuesErr); err != nil {
		return Result{}, err
	}
	replaced := s.replacedDefaults(ch, vals)
	top, err := util.ToRenderValuesWithSchemaValidation(ch, vals,
		common.ReleaseOptions{Name: s.opt.Name, Namespace: s.opt.Namespace}, caps, true)
	if err != nil {
		return Result{}, s.Fault(finding.BadValues, "values.yaml", goValue.ReplaceAllLiteralString(err.Error(), " a single value"),
			"correct the values")
	}
	vals = top["Values"].(common.Values)
	replaced = append(replaced, s.valuesWarnings(ch, nil, vals, vals)...)
	var ships crdContent
	if s.opt.AllCRDs {
		if ships, err = s.describeCRDs(ch, vals); err != nil {
			return Result{}, err
		}
	}
	findings, err := s.validateValues(ch, vals)
	if err != nil {
		return Result{}, err
	}
	declareNulls(vals, ch.Values)
	top["Release"] = map[string]any{"Name": s.opt.Name, "Namespace": s.opt.Namespace, "Revision": s.opt.Revision, "Service": "Ladder"}
	files, err := s.execute(engine.Engine{Strict: true, CustomTemplateFuncs: funcs}, ch, top)
	if err != nil {
		return Result{Findings: slices.Concat(ships.findings, replaced, findings)}, err
	}
	res := Result{Findings: slices.Concat(ships.findings, replaced, findings), Chart: ships.chart, Values: ships.values,
		Revision: printsRevision(ch, vals)}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file, _ := s.templateFile(ch, name)
		res.Documents = append(res.Documents, Document{Source: name, File: file, Text: files[name]})
	}
	return res, nil
}

// An action can print the revision directly, or as a part of the release or of the
// root.
var (
	ofRelease  = lazyregexp.New(`\bRelease\b(\.\w+)?`)
	printsRoot = lazyregexp.New(`\b(to\w+|print\w*|quote|squote|cat|join|list|dict|tuple|values|deepCopy|merge\w*` +
		`|range|index|get|dig|pluck)\b[^{}]*?[\s(](\.|\$)(\s|\)|\}|\||$)|\{\{-?\s*(\.|\$)\s*(\||-?\}\})`)
)

// printsRevision reports whether a template may use the revision. Values count,
// too, since templates may run them. False positives are possible.
func printsRevision(ch *chart.Chart, vals map[string]any) bool {
	texts := []string{fmt.Sprint(vals)}
	for _, t := range ch.Templates {
		texts = append(texts, string(t.Data))
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		for _, use := range ofRelease.FindAllStringSubmatch(text, -1) {
			if !slices.Contains([]string{".Name", ".Namespace", ".Service"}, use[1]) {
				return true
			}
		}
		return strings.Contains(text, "Revision") || printsRoot.MatchString(text)
	})
}

// declareNulls restores keys that are null in values.yaml. Helm drops them when
// merging, but here they declare an optional value.
func declareNulls(vals, declared map[string]any) {
	for key, d := range declared {
		v, set := vals[key]
		if d == nil && !set {
			vals[key] = nil
		}
		if inner, ok := v.(map[string]any); ok {
			if below, ok := d.(map[string]any); ok {
				declareNulls(inner, below)
			}
		}
	}
}

// templateChart presents the directory to the engine as a chart.
func (s source) templateChart() (*chart.Chart, error) {
	ch := &chart.Chart{Metadata: &chart.Metadata{Name: "component", APIVersion: chart.APIVersionV2}}
	var faults []error
	err := input.Walk(s.FS, s.Dir, func(name string) error {
		if !IsTemplate(name) && !IsValues(name) && name != "values.schema.json" && path.Ext(name) != ".tpl" {
			return nil
		}
		data, err := fs.ReadFile(s.FS, path.Join(s.Dir, name))
		if err != nil {
			return err
		}
		file := &common.File{Name: name, Data: data}
		ch.Raw = append(ch.Raw, file)
		switch {
		case name == "values.yaml":
			if ch.Values, err = loader.LoadValues(bytes.NewReader(data)); err != nil {
				faults = append(faults, input.InvalidValues(s.Show(path.Join(s.Dir, name)), data, err))
			}
		case name == "values.schema.json":
			ch.Schema = data
		case IsTemplate(name):
			ch.Templates = append(ch.Templates, file)
		case path.Ext(name) == ".tpl":
			// The engine recognizes files with definitions by the underscore.
			if !strings.HasPrefix(path.Base(name), "_") {
				file.Name = path.Join(path.Dir(name), "_"+path.Base(name))
			}
			ch.Templates = append(ch.Templates, file)
		}
		return nil
	})
	if err != nil {
		faults = append(faults, s.Unreadable(err))
	}
	return ch, errors.Join(faults...)
}

// IsValues reports whether a file next to templates contains values: values.yaml
// and its variants, such as values-prod.yaml.
func IsValues(name string) bool {
	stem, ext, ok := strings.Cut(name, ".")
	return ok && (ext == "yaml" || ext == "yml") && (stem == "values" || strings.HasPrefix(stem, "values-"))
}

// disabled is the error of a function that MachineFuncs replaces, after its name.
const disabled = "is disabled in templated YAML, because the output must be deterministic"

// MachineFuncs replaces the functions whose result does not depend on their
// arguments alone. sprig lists its own; the others create keys, certificates and
// hashes with a random part, or read the clock or its time zone.
func MachineFuncs() template.FuncMap {
	repeatable := sprig.HermeticTxtFuncMap()
	for _, name := range []string{"ago", "bcrypt", "htpasswd", "encryptAES", "genPrivateKey", "genCA", "genCAWithKey",
		"genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey", "randInt", "shuffle",
		"toDate", "mustToDate", "must_date_modify", "mustDateModify"} {
		delete(repeatable, name)
	}
	off := template.FuncMap{}
	for name := range sprig.TxtFuncMap() {
		if _, ok := repeatable[name]; !ok {
			off[name] = func(...any) (string, error) {
				return "", fmt.Errorf("%s %s", name, disabled)
			}
		}
	}
	return off
}

// IsTemplate reports whether a file is a template of templated YAML.
func IsTemplate(name string) bool {
	for _, ext := range []string{".yaml.tmpl", ".yml.tmpl", ".json.tmpl", ".gotmpl"} {
		if strings.HasSuffix(name, ext) {
			return true
		}
	}
	return false
}
