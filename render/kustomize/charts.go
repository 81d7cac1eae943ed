package kustomize

//lint:file-ignore SA1019 people still write the deprecated fields of kustomizations

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
)

// inflation is a chart of a kustomization, with the options for all charts, in the
// form of a generator's configuration.
type inflation struct {
	types.HelmGlobals
	types.HelmChart
}

// fieldInflation is an inflation with the field of the kustomization that configures it.
type fieldInflation struct {
	field string
	inflation
}

// renderCharts renders the charts of a kustomization and passes the output to kustomize
// as if its own generator had produced it: after the resources and the other
// built-in generators, before components and transformations, and marked so that
// the namespace of the kustomization does not apply.
func (c *checker) renderCharts(k *types.Kustomization) {
	old, globals := types.SplitHelmParameters(k.HelmChartInflationGenerator)
	if k.HelmGlobals != nil {
		globals = *k.HelmGlobals
	}
	var all []fieldInflation
	add := func(field string, charts []types.HelmChart) {
		for i, chart := range charts {
			if chart.Namespace == "" {
				chart.Namespace = c.namespace
				c.inherits = true
			}
			all = append(all, fieldInflation{fmt.Sprintf("%s[%d]", field, i), inflation{globals, chart}})
		}
	}
	add("helmCharts", k.HelmCharts)
	add("helmChartInflationGenerator", old)
	all = append(all, c.inflations...)
	k.HelmCharts, k.HelmChartInflationGenerator, k.HelmGlobals = nil, nil, nil
	if len(all) == 0 {
		return
	}
	c.assembly.inflated, c.changed = true, true
	// A component shares the objects of its kustomization; a separate kustomization
	// marks only the charts.
	inner := types.Kustomization{Transformers: []string{generatedMark}}
	files := map[string]string{}
	for i, chart := range all {
		text := c.inflate(chart)
		if text == "" {
			continue
		}
		name := fmt.Sprintf("chart-%d.yaml", i)
		inner.Resources = append(inner.Resources, name)
		files["charts/"+name] = text
	}
	if len(inner.Resources) == 0 {
		return
	}
	files["charts/kustomization.yaml"] = mustYAML(inner)
	files["kustomization.yaml"] = mustYAML(types.Kustomization{TypeMeta: types.TypeMeta{APIVersion: types.ComponentVersion,
		Kind: types.ComponentKind}, Resources: []string{"charts"}})
	k.Components = append([]string{c.relativePath(c.dir, c.addGenerated(files), ".")}, k.Components...)
}

// generatedMark is a transformer that sets the annotation by which kustomize
// recognizes objects of charts. kustomize removes it at the end.
const generatedMark = "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: generated}\n" +
	"annotations: {" + konfig.HelmGeneratedAnnotation + ": \"true\"}\nfieldSpecs: [{path: metadata/annotations, create: true}]\n"

// mustYAML encodes a generated kustomization.
func mustYAML(k types.Kustomization) string {
	text, err := yaml.Marshal(k)
	if err != nil {
		panic(err) // strings and lists of strings always encode
	}
	return string(text)
}

// inflate renders a chart like kustomize with helm.
func (c *checker) inflate(in fieldInflation) string {
	failed := func(err error) string {
		c.faults = append(c.faults, err)
		return ""
	}
	bad := func(message, remedy string) string { return failed(c.chartFinding(in, message, remedy)) }
	have := len(c.faults)
	if in.Name == "" {
		return bad("the chart has no name", "add name")
	}
	if in.ValuesMerge != "" && !slices.Contains(valuesMerges, in.ValuesMerge) {
		bad(fmt.Sprintf("unknown valuesMerge %q", in.ValuesMerge), "use "+strings.Join(valuesMerges[:2], ", ")+" or "+valuesMerges[2])
	}
	if in.ReleaseName != "" && in.NameTemplate != "" {
		bad("releaseName and nameTemplate both name the release", "keep one of the two")
	}
	release, err := in.release()
	if err != nil {
		bad("nameTemplate: "+err.Error(), "correct the template, and use only deterministic functions")
	} else if f, ok := helm.InvalidRelease(release); ok {
		f.Remedy = helm.ValidReleaseNames
		failed(c.atChartField(in, f, ".releaseName"))
	}
	if in.KubeVersion != "" {
		if f, ok := helm.InvalidKubeVersion(in.KubeVersion); ok {
			failed(c.atChartField(in, f, ".kubeVersion"))
		}
	}
	src := c.chart(in)
	values := c.values(in, src)
	if len(c.faults) > have {
		return ""
	}
	opt := helm.Options{
		Name: release, Namespace: in.Namespace, Values: []input.Values{values},
		KubeVersion: c.component.opt.KubeVersion, APIVersions: c.component.opt.APIVersions,
		SkipTests: in.SkipTests, SkipHooks: in.SkipHooks, SkipCRDs: !in.IncludeCRDs,
		Memory: c.component.opt.Memory, Remote: c.component.opt.Remote, Probe: c.component.opt.Probe,
		Random: c.component.opt.Random,
	}
	if opt.Namespace == "" {
		opt.Namespace = "default" // helm's default, which does not depend on the component
	}
	if in.KubeVersion != "" {
		opt.KubeVersion = in.KubeVersion
	}
	if len(in.ApiVersions) > 0 {
		opt.APIVersions = in.ApiVersions
	}
	res, err := helm.Render(c.ctx, src, opt)
	if err != nil {
		return failed(c.atInlineValues(in, err))
	}
	c.assembly.findings = append(c.assembly.findings, res.Findings...)
	var b strings.Builder
	for _, d := range res.Documents {
		c.checkObjects(c.component.opt.Memory.Parse(d.File, d.Line, d.Text))
		d.Print(&b)
	}
	return b.String()
}

// chartInline is the field with inline values of a chart.
const chartInline = "valuesInline"

// atChartField sets the place of a finding to a field of an inflation.
func (c *checker) atChartField(in fieldInflation, f finding.Finding, below string) finding.Finding {
	f.File, f.Line, f.Field = c.Show(c.file), c.lineOfChart(in), in.field+below
	return f
}

// atInlineValues sets the places of findings about valuesInline.
func (c *checker) atInlineValues(in fieldInflation, err error) error {
	all := finding.Of(err)
	for i, f := range all {
		if f.File == chartInline {
			all[i] = c.atChartField(in, f, ".valuesInline."+f.Field)
		}
	}
	return finding.Err(all)
}

// valuesMerges are the ways to merge valuesInline with the values file; the first
// is the default.
var valuesMerges = []string{"override", "merge", "replace"}

// chartFinding returns a finding about an inflation.
func (c *checker) chartFinding(in fieldInflation, message, remedy string) finding.Finding {
	f := c.finding(finding.Error, in.field, "", message, remedy)
	f.Line = c.lineOfChart(in)
	return f
}

// lineOfChart returns the line of a chart's name in the kustomization.
func (c *checker) lineOfChart(in fieldInflation) int {
	if at := input.LineOf(c.written, fieldSteps(in.field)); at > 0 {
		return at
	}
	return lineOfEntry(c.written, in.Name)
}

// fieldSteps splits a field such as helmCharts[1].valuesFile.
func fieldSteps(field string) []string {
	return strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// release returns the release name. Without one, it is the fixed default of "helm
// template", not a generated one.
func (in inflation) release() (string, error) {
	if in.NameTemplate == "" {
		if in.ReleaseName == "" {
			return "release-name", nil
		}
		return in.ReleaseName, nil
	}
	t, err := template.New("nameTemplate").Funcs(sprig.TxtFuncMap()).Funcs(helm.MachineFuncs()).Parse(in.NameTemplate)
	if err != nil {
		return "", input.Innermost(err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, nil); err != nil {
		return "", input.Innermost(err)
	}
	return b.String(), nil
}

// chart returns a chart from the chart directory of the kustomization, or fetches
// it. It reports a chart that is not there.
func (c *checker) chart(in fieldInflation) (none input.Source) {
	bad := func(message, remedy string) input.Source {
		c.faults = append(c.faults, c.chartFinding(in, message, remedy))
		return none
	}
	home := in.ChartHome
	if home == "" {
		home = types.HelmDefaultHome
	}
	at := path.Join(c.dir, home)
	if in.Version != "" && in.Repo != "" {
		at = path.Join(at, in.Name+"-"+in.Version)
	}
	at = path.Join(at, in.Name)
	if path.IsAbs(home) || !fs.ValidPath(path.Join(c.dir, home)) || !strings.HasPrefix(at, input.Prefix(path.Join(c.dir, home))) {
		return bad("the chart "+in.Name+" in "+home+" leaves the repository",
			"name a chartHome inside the repository, relative to the kustomization")
	}
	src := c.tree.Source
	if info, err := fs.Stat(c.FS, at); err == nil && info.IsDir() {
		src.Dir = at
		return src
	}
	if in.Repo == "" {
		return bad("no chart in "+c.Show(at), "add it there, or set repo to fetch it")
	}
	ref := remote.Ref{Kind: remote.Chart, URL: in.Repo, Chart: in.Name, Version: in.Version}
	if in.Devel && in.Version == "" {
		ref.Version = ">0.0.0-0"
	}
	content, err := c.fetch(ref)
	if err != nil {
		c.unavailable(in.field, in.Name, ref.String(), err)
		return none
	}
	if content.Warning != "" {
		f := c.chartFinding(in, content.Warning, "make sure that the chart can be fetched again")
		f.Severity = finding.Warning
		c.assembly.findings = append(c.assembly.findings, f)
	}
	files, err := c.unpack(content.Data)
	if err != nil {
		return bad(ref.String()+": "+err.Error(), "make sure that this is a chart")
	}
	if !input.FileExists(files, path.Join(in.Name, "Chart.yaml")) {
		return bad("what was fetched for "+ref.String()+" contains no chart of that name", "correct the name, or the repo")
	}
	src.FS, src.Dir = files, in.Name
	// The path where kustomize would have unpacked it.
	src.ShowPath = func(p string) string { return c.Show(path.Join(path.Dir(at), p)) }
	return src
}

// values returns the values of a chart: its own or another file, valuesInline, and
// then the additional files. It reports those that cannot be read.
func (c *checker) values(in fieldInflation, chart input.Source) input.Values {
	texts := map[string][]byte{}
	load := func(field, name string) {
		p, ok := c.resolveLocal(field, name)
		if !ok {
			return
		}
		data, err := fs.ReadFile(c.FS, p)
		if err != nil {
			c.faults = append(c.faults, c.Unreadable(err))
		}
		texts[c.Show(p)] = data
	}
	first := in.ValuesFile
	switch {
	case first == "" && chart.FS == nil:
	case first == "":
		first = path.Join(chart.Dir, "values.yaml")
		data, err := fs.ReadFile(chart.FS, first)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.faults = append(c.faults, chart.Unreadable(err))
		}
		first = chart.Show(first)
		texts[first] = data
	case isWeb(first):
		content, err := c.fileAt(first)
		if err != nil {
			c.unavailable(in.field+".valuesFile", first, "the remote file "+first, err)
		} else {
			c.warn(in.field+".valuesFile", first, content)
		}
		texts[first] = content.Data
	default:
		load(in.field+".valuesFile", first)
		first = c.Show(path.Join(c.dir, first))
	}
	v := input.Values{Files: []string{first}, Read: func(name string) ([]byte, error) { return texts[name], nil }}
	for i, name := range in.AdditionalValuesFiles {
		load(fmt.Sprintf("%s.additionalValuesFiles[%d]", in.field, i), name)
		v.Files = append(v.Files, c.Show(path.Join(c.dir, name)))
	}
	if len(in.ValuesInline) > 0 {
		merged, err := in.mergeInline(texts[first])
		if err != nil {
			c.faults = append(c.faults, input.InvalidYAML(first, err))
		}
		v.Files[0] = chartInline
		texts[chartInline] = merged
	}
	return v
}

// mergeInline merges valuesInline with the values of a file, using the functions of
// kustomize. A null removes the key from the other side and is not passed to helm,
// which would remove the key from the chart's own values.
func (in inflation) mergeInline(file []byte) ([]byte, error) {
	values := in.ValuesInline
	if in.ValuesMerge != "replace" {
		ofFile, err := kyaml.Parse(string(file))
		if err != nil && strings.TrimSpace(string(file)) != "" {
			return nil, err
		}
		if err != nil {
			ofFile = kyaml.NewMapRNode(nil)
		}
		inline, err := kyaml.FromMap(values)
		if err != nil {
			return nil, err
		}
		from, to := inline, ofFile
		if in.ValuesMerge == "merge" {
			from, to = ofFile, inline
		}
		merged, err := merge2.Merge(from, to, kyaml.MergeOptions{})
		if err != nil {
			return nil, err
		}
		if values, err = merged.Map(); err != nil {
			return nil, err
		}
	}
	return yaml.Marshal(values)
}
