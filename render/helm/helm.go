// Package helm renders charts, and templated YAML, which also runs in Helm's
// engine.
//
// Helm runs inside the process. Only this package, the values of package input and
// the packaging of charts in package fetch depend on Helm, which keeps its size,
// its globals and its quirks in one place.
package helm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/random"
)

// Options are the inputs of a chart or of templated YAML, apart from its files.
type Options struct {
	// Name is the name of the release, Namespace its namespace.
	Name, Namespace string
	// Revision is the rendered commit; templated YAML may print it.
	Revision string
	// Values override the values of the chart; later ones take precedence.
	Values []input.Values
	// IgnoreMissing ignores values files that do not exist.
	IgnoreMissing bool
	// KubeVersion is the version of the cluster, such as "1.34.2".
	KubeVersion string
	// APIVersions are API versions of the cluster besides Helm's default ones, as
	// "group/version" or "group/version/Kind".
	APIVersions []string
	// SkipTests excludes test hooks, SkipHooks all hooks, SkipCRDs the files of
	// crds/. SkipSchema disables validation of the values against the schema.
	SkipTests, SkipHooks, SkipCRDs, SkipSchema bool
	// AllCRDs requests Result.Chart and Result.Values, and findings about the files of
	// crds/.
	AllCRDs bool
	// Memory caches data between renderings; it may be nil.
	Memory *input.Memory
	// Prune leaves out branches of templates that did not run before, by the Memory. The error may be
	// ErrPruned.
	Prune bool
	// Probe receives the templates before they run, and returns functions that
	// replace Helm's; nil replaces none.
	Probe func([]TemplateText) template.FuncMap
	// Random provides the functions with random or time-dependent results; nil
	// means Helm's own.
	Random *random.Rendering
	// Remote fetches dependencies that are not in the repository; nil disables
	// fetching.
	Remote remote.Fetcher
}

// Result is the rendering of a chart or of templated YAML.
type Result struct {
	Documents []Document
	// Findings are problems that did not stop the rendering.
	Findings []finding.Finding
	// Chart and Values are the chart with all subcharts and the effective values,
	// if Options.AllCRDs is set.
	Chart  *crds.Chart
	Values crds.Values
	// Revision reports whether Options.Revision may have affected the output.
	Revision bool
}

// Document is a part of the output: one document of a template, with Line 0, or a whole file
// of crds/.
type Document struct {
	Source string // Helm's name of the file
	File   string // its name in the repository
	Line   int
	Text   string

	parsed *input.Parsed // of Text, if it was parsed
}

// with returns the document with another text.
func (d Document) with(text string) Document {
	d.Text, d.parsed = text, nil
	return d
}

// Parse returns the objects of documents, in their order.
func Parse(docs []Document, memory *input.Memory) []input.Parsed {
	all := make([]input.Parsed, len(docs))
	var texts []input.Text
	var of []int
	for i, d := range docs {
		if d.parsed != nil {
			all[i] = *d.parsed
			continue
		}
		texts = append(texts, input.Text{File: d.File, Line: d.Line, Text: d.Text})
		of = append(of, i)
	}
	for i, parsed := range memory.ParseAll(texts) {
		all[of[i]] = parsed
	}
	return all
}

// Print writes a document in the format of "helm template".
func (d Document) Print(to *strings.Builder) {
	fmt.Fprintf(to, "---\n# Source: %s\n%s", d.Source, d.Text)
	if !strings.HasSuffix(d.Text, "\n") {
		to.WriteByte('\n')
	}
}

// source is a chart, or a directory of templated YAML, with its other inputs.
type source struct {
	input.Source
	opt Options
}

// Render renders a chart like "helm template --include-crds", with the same steps
// in the same order. It does not use Helm's action package, which links Helm's
// whole cluster client: that would double the size and start-up time of the binary
// for code that is never used.
func Render(ctx context.Context, of input.Source, opt Options) (Result, error) {
	s := source{of, opt}
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("render %s: %w", s.Dir, err)
	}
	caps, err := s.capabilities()
	if err != nil {
		return Result{}, err
	}
	in := &chartSize{maxFiles: maxChartFiles}
	ch, loadErr := s.loadChart(s.Dir, nil, in)
	if ch == nil {
		return Result{}, loadErr
	}
	nulls := onlyNulls(ch.Values) // which the next steps remove
	vals, valuesErr := input.MergeValues(s.opt.Values, s.opt.IgnoreMissing)
	remoteErr := s.addRemoteDependencies(ctx, ch, vals, in)
	if err := errors.Join(loadErr, s.checkChart(ch, caps), remoteErr, valuesErr); err != nil {
		return Result{}, err
	}
	var ships crdContent
	if s.opt.AllCRDs {
		// This must come before disabled subcharts are removed.
		if ships, err = s.describeCRDs(ch, vals); err != nil {
			return Result{}, err
		}
	}
	replaced := append(s.chartWarnings(ch), s.replacedDefaults(ch, vals)...)
	if err := chartutil.ProcessDependencies(ch, vals); err != nil {
		return Result{}, s.Fault(finding.BadChart, "Chart.yaml", err.Error(), "correct the dependencies and their values")
	}
	top, err := util.ToRenderValuesWithSchemaValidation(ch, vals, common.ReleaseOptions{
		Name: s.opt.Name, Namespace: s.opt.Namespace, Revision: 1, IsInstall: true,
	}, caps, true)
	if err != nil {
		return Result{}, s.Fault(finding.BadValues, "values.yaml",
			goValue.ReplaceAllLiteralString(err.Error(), " a single value"), "correct the values")
	}
	replaced = append(replaced, s.valuesWarnings(ch, nulls, vals, top["Values"].(common.Values))...)
	var findings []finding.Finding
	if !s.opt.SkipSchema {
		if findings, err = s.validateValues(ch, top["Values"].(common.Values)); err != nil {
			return Result{}, err
		}
	}
	probed := s.probed(ch)
	funcs, called := s.random(ch, func() any { return top["Values"] })
	maps.Copy(funcs, probed)
	var files map[string]string
	p, e := s.prune(ch, funcs), engine.Engine{CustomTemplateFuncs: funcs}
	if p.prunes() {
		files, err = e.Render(ch, top)
		if files = withoutMarkers(files); !p.finish(err) {
			return Result{}, ErrPruned
		}
	} else if files, err = s.execute(e, ch, top); p != nil {
		p.finish(err)
	}
	if err != nil {
		return Result{Findings: slices.Concat(ships.findings, replaced, findings)}, err
	}
	docs, err := s.manifests(ch, files)
	findings = slices.Concat(ships.findings, replaced, findings, s.nonDeterministic(docs, called))
	return Result{Documents: docs, Findings: findings, Chart: ships.chart, Values: ships.values}, err
}

// goValue matches how Go prints a value of the wrong type, which may be a secret.
var goValue = lazyregexp.New(`(?s) %!\w\(.*\)`)

// BadName is the rule for invalid release names, which other packages check for.
const BadName finding.Rule = "bad-name"

// ValidReleaseNames is the remedy for an invalid release name.
const ValidReleaseNames = "use at most 53 lowercase letters, digits, \"-\" and \".\""

// InvalidRelease returns the finding for an invalid release name, without a place.
func InvalidRelease(name string) (f finding.Finding, invalid bool) {
	return finding.Finding{Severity: finding.Error, Rule: BadName, Field: "name",
		Message: fmt.Sprintf("%q is not a valid release name", name),
		Remedy:  ValidReleaseNames + `; set the name with the "name" parameter or the --name flag`}, chartutil.ValidateReleaseName(name) != nil
}

// ValidKubeVersion reports whether a Kubernetes version is valid.
func ValidKubeVersion(version string) bool {
	_, err := common.ParseKubeVersion(version)
	return err == nil
}

// InvalidKubeVersion returns the finding for an invalid Kubernetes version.
func InvalidKubeVersion(version string) (f finding.Finding, invalid bool) {
	return finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Field: "kube-version",
		Message: fmt.Sprintf("%q is not a Kubernetes version", version), Remedy: "use a version such as 1.34.2"}, !ValidKubeVersion(version)
}

// capabilities returns what templates see of the cluster.
func (s source) capabilities() (*common.Capabilities, error) {
	kube, err := common.ParseKubeVersion(s.opt.KubeVersion)
	if err != nil {
		f, _ := InvalidKubeVersion(s.opt.KubeVersion)
		return nil, f
	}
	caps := common.DefaultCapabilities.Copy()
	caps.KubeVersion = *kube
	caps.APIVersions = append(slices.Clone(caps.APIVersions), s.opt.APIVersions...)
	return caps, nil
}

// maxTemplateFaults limits the search for further findings after a template failed.
// Each needs another rendering.
const maxTemplateFaults = 20

// FailedTemplate is the rule of errors about templates that cannot be executed.
const FailedTemplate finding.Rule = "template"

// reported begins the message about what the author of a template reports, with fail or
// required.
const reported = "the template reports: "

// execute runs the templates of a chart. If one fails, it continues without that
// one, to find all problems at once.
func (s source) execute(e engine.Engine, ch *chart.Chart, top common.Values) (map[string]string, error) {
	files, err := e.Render(ch, top)
	if err == nil {
		return withoutMarkers(files), nil
	}
	var faults []finding.Finding
	unparsed := false // the first of them is a syntax error
	for range maxTemplateFaults {
		parsing := strings.HasPrefix(err.Error(), "parse error")
		if unparsed && !parsing {
			// Without a template that cannot be parsed, definitions are missing,
			// and every further error would be about those.
			break
		}
		fault, failed := s.templateFault(ch, map[string]any(top["Values"].(common.Values)), err)
		unparsed = unparsed || len(faults) == 0 && parsing
		// Templates may share a helper that includes itself, or include one that failed.
		if !slices.Contains(faults, fault) && !s.includesFailed(ch, err) {
			faults = append(faults, fault)
		}
		switch {
		case failed == nil:
		case parsing:
			failed.Data = nil
		case strings.HasPrefix(path.Base(failed.Name), "_"):
			// The problem is in a helper. The message does not name the template that
			// includes the helper, so no template can be excluded.
			failed = nil
		default:
			// The engine does not run files whose name starts with "_", but their
			// definitions remain available to others.
			failed.Name = path.Join(path.Dir(failed.Name), "_"+path.Base(failed.Name))
		}
		if failed == nil {
			break
		}
		if _, err = e.Render(ch, top); err == nil {
			break
		}
	}
	finding.Sort(faults)
	return nil, finding.Err(authorsFirst(causes(faults)))
}

// causes leaves out the errors of templates that only include another one which fails by
// itself, such as for a checksum of it, and says their number.
func causes(faults []finding.Finding) []finding.Finding {
	var all []finding.Finding
	followers := map[finding.Finding]int{}
	for _, f := range faults {
		i := slices.IndexFunc(faults, func(cause finding.Finding) bool {
			included := fmt.Sprintf("error calling include: %s:%d %s", cause.File, cause.Line, cause.Message)
			return strings.HasSuffix(strings.Join(strings.Fields(f.Message), " "), strings.Join(strings.Fields(included), " "))
		})
		if i < 0 {
			all = append(all, f)
		} else {
			followers[faults[i]]++
		}
	}
	for i, f := range all {
		if n := followers[f]; n > 0 {
			all[i].Remedy += fmt.Sprintf("; templates that include this one and fail, too: %d", n)
		}
	}
	return all
}

// noTemplate matches the error of an include that finds nothing.
var noTemplate = lazyregexp.New(`no template "([^"]*)" associated`)

// includesFailed reports whether an error is about the include of a template that failed, and
// that was excluded for it.
func (s source) includesFailed(ch *chart.Chart, err error) bool {
	missing := noTemplate.FindStringSubmatch(err.Error())
	if missing == nil {
		return false
	}
	_, excluded := s.templateFile(ch, path.Join(path.Dir(missing[1]), "_"+path.Base(missing[1])))
	return excluded != nil
}

// authorsFirst returns only what the author of the chart reports, if anything: the value that
// this is about is often the cause of the other errors, of which it says the number.
func authorsFirst(faults []finding.Finding) []finding.Finding {
	own := slices.DeleteFunc(slices.Clone(faults), func(f finding.Finding) bool { return !strings.HasPrefix(f.Message, reported) })
	if rest := len(faults) - len(own); len(own) > 0 && rest > 0 {
		last := &own[len(own)-1]
		last.Remedy += fmt.Sprintf("; templates that fail otherwise, perhaps for the same reason: %d", rest)
	}
	if len(own) == 0 {
		return faults
	}
	return own
}

func (s source) crdFile(crd chart.CRD) string {
	_, below, _ := strings.Cut(crd.Filename, "/")
	return s.Show(path.Join(s.Dir, below))
}
