package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/ignore"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/object"
)

// helm renders a chart the way "helm template --include-crds" does, step by
// step. It does not go through Helm's action package, which does the same
// steps but links the whole of Helm's cluster client: that doubles the binary
// and its start-up time, for code that a rendering never reaches.
func (s source) helm() (Result, error) {
	caps, err := s.capabilities()
	if err != nil {
		return Result{}, err
	}
	ch, err := s.loadChart(s.dir, nil)
	if err != nil {
		return Result{}, err
	}
	vals, valuesErr := mergeValues(s.opt.Values)
	if err := errors.Join(s.checkChart(ch, caps), valuesErr); err != nil {
		return Result{}, err
	}
	if err := chartutil.ProcessDependencies(ch, vals); err != nil {
		return Result{}, s.fault("bad-dependencies", "Chart.yaml", err.Error(), "correct the dependencies and their values")
	}
	top, err := util.ToRenderValuesWithSchemaValidation(ch, vals, common.ReleaseOptions{
		Name: s.opt.Name, Namespace: s.opt.Namespace, Revision: 1, IsInstall: true,
	}, caps, true)
	if err != nil {
		return Result{}, s.fault("bad-values", "values.yaml", err.Error(), "correct the values")
	}
	findings, err := s.validateValues(ch, top["Values"].(common.Values))
	if err != nil {
		return Result{}, err
	}
	files, err := s.execute(engine.Engine{}, ch, top)
	if err != nil {
		return Result{}, err
	}
	docs, err := s.manifests(ch, files)
	if err != nil {
		return Result{}, err
	}
	res := Result{Findings: findings}
	var faults []error
	for _, d := range docs {
		objs, err := object.Parse(d.file, d.line, d.text)
		for _, o := range objs {
			res.Objects = append(res.Objects, o.Commented("# Source: "+d.source))
		}
		faults = append(faults, err)
	}
	return res, errors.Join(faults...)
}

// loadChart reads the chart in dir, with the charts that it refers to as
// file://. above holds the directories whose charts are being loaded, to find
// charts that depend on themselves.
func (s source) loadChart(dir string, above []string) (*chart.Chart, error) {
	files, err := chartFiles(s.fsys, dir)
	if err != nil {
		return nil, s.unreadable(err)
	}
	ch, err := loader.LoadFiles(files)
	if err != nil {
		return nil, s.loadFault(dir, err)
	}
	return ch, s.addLocalDependencies(ch, dir, append(above, dir))
}

// chartFiles reads the files of a chart directory as Helm does: .helmignore
// applies, symlinks are followed (inside the repository).
func chartFiles(fsys fs.FS, dir string) ([]*archive.BufferedFile, error) {
	rules := ignore.Empty()
	if data, err := fs.ReadFile(fsys, path.Join(dir, ignore.HelmIgnore)); err == nil {
		if rules, err = ignore.Parse(bytes.NewReader(data)); err != nil {
			return nil, &fs.PathError{Op: "parse", Path: path.Join(dir, ignore.HelmIgnore), Err: err}
		}
	}
	rules.AddDefaults()
	var files []*archive.BufferedFile
	var visit func(rel string, depth int) error
	visit = func(rel string, depth int) error {
		// A chain of symlinks to directories above ends at some depth; the
		// deepest tree of charts seen in 85 public charts has 9 levels.
		if depth > maxChartDepth {
			return &fs.PathError{Op: "read", Path: path.Join(dir, rel), Err: errors.New("directories are nested too deeply; is there a symlink loop?")}
		}
		entries, err := fs.ReadDir(fsys, path.Join(dir, rel))
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(rel, e.Name())
			info, err := fs.Stat(fsys, path.Join(dir, name)) // follows symlinks
			if err != nil {
				return err
			}
			if rules.Ignore(name, info) {
				continue
			}
			switch {
			case info.IsDir():
				if err := visit(name, depth+1); err != nil {
					return err
				}
			case !info.Mode().IsRegular():
				return &fs.PathError{Op: "read", Path: path.Join(dir, name), Err: errors.New("not a regular file")}
			default:
				data, err := fs.ReadFile(fsys, path.Join(dir, name))
				if err != nil {
					return err
				}
				files = append(files, &archive.BufferedFile{Name: name, ModTime: info.ModTime(), Data: bytes.TrimPrefix(data, []byte("\ufeff"))})
			}
		}
		return nil
	}
	return files, visit("", 0)
}

const maxChartDepth = 64

// loadFault names the file that made a chart unreadable.
func (s source) loadFault(dir string, err error) finding.Finding {
	text := err.Error()
	name := "Chart.yaml"
	for _, candidate := range []string{"values.yaml", "Chart.lock", "requirements.yaml", "requirements.lock"} {
		if strings.Contains(text, "cannot load "+candidate) {
			name = candidate
		}
	}
	if inner, rest, ok := strings.Cut(text, "error unpacking subchart "); ok && inner == "" {
		sub, _, _ := strings.Cut(rest, " ")
		name = path.Join("charts", sub, name)
		if strings.HasSuffix(sub, ".tgz") {
			name = path.Join("charts", sub)
		}
	}
	f := valuesFault(path.Join(dir, name), err)
	if f.Rule, f.Remedy = "bad-chart", "correct the chart"; f.Line == 0 {
		f.Message = strings.TrimPrefix(f.Message, "not valid YAML: ")
	}
	return f
}

// addLocalDependencies does for file:// dependencies what "helm dependency
// build" would do by copying them into charts/. A vendored copy wins.
func (s source) addLocalDependencies(ch *chart.Chart, dir string, above []string) error {
	var faults []error
	for _, dep := range ch.Metadata.Dependencies {
		rel, local := strings.CutPrefix(dep.Repository, "file://")
		if !local || vendored(ch, dep.Name) {
			continue
		}
		bad := func(message, remedy string) {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "bad-dependency", File: path.Join(dir, dependencyFile(ch)),
				Field: "dependencies." + dep.Name, Message: message, Remedy: remedy})
		}
		at := path.Join(dir, rel)
		if strings.HasPrefix(rel, "/") || !fs.ValidPath(at) {
			bad("the path "+rel+" leaves the repository", "use a path relative to the chart, inside the repository")
			continue
		}
		if slices.Contains(above, at) {
			bad("the chart depends on itself through "+rel, "break the loop")
			continue
		}
		if !exists(s.fsys, path.Join(at, "Chart.yaml")) {
			bad("there is no chart in "+at, "correct the path "+dep.Repository)
			continue
		}
		sub, err := s.loadChart(at, above)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if !allows(dep.Version, sub.Metadata.Version) {
			bad(fmt.Sprintf("the chart in %s has version %s, not %s", at, sub.Metadata.Version, dep.Version), "change one of the two versions")
			continue
		}
		ch.AddDependency(sub)
	}
	return errors.Join(faults...)
}

// dependencyFile is where a chart lists its dependencies; charts of Helm 2
// have a file of their own for them.
func dependencyFile(ch *chart.Chart) string {
	if slices.ContainsFunc(ch.Raw, func(f *common.File) bool { return f.Name == "requirements.yaml" }) {
		return "requirements.yaml"
	}
	return "Chart.yaml"
}

func vendored(ch *chart.Chart, name string) bool {
	return slices.ContainsFunc(ch.Dependencies(), func(d *chart.Chart) bool { return d.Name() == name })
}

func allows(constraint, version string) bool {
	if constraint == "" {
		return true
	}
	c, err := semver.NewConstraint(constraint)
	if err != nil {
		return false
	}
	v, err := semver.NewVersion(version)
	return err == nil && c.Check(v)
}

// checkChart reports what makes "helm template" refuse a chart before it
// renders anything.
func (s source) checkChart(ch *chart.Chart, caps *common.Capabilities) error {
	var faults []error
	bad := func(rule, field, message, remedy string) {
		f := s.fault(rule, "Chart.yaml", message, remedy)
		if field == "dependencies" {
			f = s.fault(rule, dependencyFile(ch), message, remedy)
		}
		f.Field = field
		faults = append(faults, f)
	}
	switch ch.Metadata.Type {
	case "", "application":
	case "library":
		bad("library-chart", "type", "a library chart renders nothing by itself", "render a chart that depends on it")
	default:
		bad("bad-chart", "type", "there is no chart type "+ch.Metadata.Type, "use application or library")
	}
	for _, dep := range ch.Metadata.Dependencies {
		if !vendored(ch, dep.Name) {
			bad("missing-dependency", "dependencies", fmt.Sprintf("chart %s %s (from %s) is not in charts/", dep.Name, dep.Version, orUnnamed(dep.Repository)),
				"run helm dependency build "+s.dir+" and commit charts/")
		}
	}
	if err := chartutil.ValidateReleaseName(s.opt.Name); err != nil {
		faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "bad-name", Field: "name",
			Message: fmt.Sprintf("%q cannot be a release name: %v", s.opt.Name, err), Remedy: "set the parameter name to a shorter or plainer one"})
	}
	if want := ch.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, caps.KubeVersion.String()) {
		bad("kube-version", "kubeVersion", fmt.Sprintf("the chart wants Kubernetes %s, which %s is not", want, caps.KubeVersion.Version),
			"set kube-version to the cluster's version, or take another release of the chart")
	}
	return errors.Join(faults...)
}

func orUnnamed(repository string) string {
	if repository == "" {
		return "no repository"
	}
	return repository
}

// capabilities are what templates see of the cluster.
func (s source) capabilities() (*common.Capabilities, error) {
	kube, err := common.ParseKubeVersion(s.opt.KubeVersion)
	if err != nil {
		return nil, finding.Finding{Severity: finding.Error, Rule: "bad-kube-version", Field: "kube-version",
			Message: fmt.Sprintf("%q is no Kubernetes version", s.opt.KubeVersion), Remedy: "write it like 1.34.2"}
	}
	caps := common.DefaultCapabilities.Copy()
	caps.KubeVersion = *kube
	caps.APIVersions = append(slices.Clone(caps.APIVersions), s.opt.APIVersions...)
	return caps, nil
}

// maxTemplateFaults bounds the search for further faults after a template
// failed, which renders the chart once more for each.
const maxTemplateFaults = 20

// execute runs the templates of a chart. When one fails it goes on without
// that one, so that all faults are found at once.
func (s source) execute(e engine.Engine, ch *chart.Chart, top common.Values) (map[string]string, error) {
	files, err := e.Render(ch, top)
	if err == nil {
		return files, nil
	}
	var faults []finding.Finding
	for range maxTemplateFaults {
		fault, failed := s.templateFault(ch, err)
		faults = append(faults, fault)
		// A parse error leaves definitions missing, and every error after
		// it would be about those.
		if failed == nil || strings.HasPrefix(err.Error(), "parse error") {
			break
		}
		// The engine does not run files whose name begins with "_", but
		// what they define stays there for the others.
		failed.Name = path.Join(path.Dir(failed.Name), "_"+path.Base(failed.Name))
		if _, err = e.Render(ch, top); err == nil {
			break
		}
	}
	finding.Sort(faults)
	return nil, finding.Err(faults)
}

// templatePlace finds the place in a message of the engine, such as
// "shop/templates/web.yaml:3:14" or "(shop/templates/web.yaml:3)".
var templatePlace = regexp.MustCompile(`\(?([^\s():]+):(\d+)(?::\d+)?\)?`)

// templateFault turns an error of the engine into a finding, and returns the
// template it is about if that is known.
func (s source) templateFault(ch *chart.Chart, err error) (finding.Finding, *common.File) {
	f := finding.Finding{Severity: finding.Error, Rule: "template", File: s.dir, Message: err.Error(), Remedy: "correct the template, or set the value it needs"}
	m := templatePlace.FindStringSubmatchIndex(f.Message)
	if m == nil {
		return f, nil
	}
	name := f.Message[m[2]:m[3]]
	f.Line, _ = strconv.Atoi(f.Message[m[4]:m[5]])
	message := f.Message[:m[0]] + f.Message[m[1]:]
	message = strings.TrimPrefix(strings.TrimPrefix(message, "parse error at "), "template: ")
	f.Message = strings.TrimPrefix(strings.TrimLeft(message, ": \n"), "execution error at : ")
	var failed *common.File
	f.File, failed = s.templateFile(ch, name)
	if failed != nil && strings.HasPrefix(path.Base(failed.Name), "_") {
		// The fault lies in a helper; what must go is the template that
		// included it, which the message does not begin with.
		failed = nil
	}
	return f, failed
}

// templateFile finds the template that the engine calls name.
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

// chartFile names a file of a chart by its path in the repository. The
// directory of a subchart is taken to be named like the chart.
func (s source) chartFile(ch *chart.Chart, name string) string {
	root := ch.Root().Name()
	return path.Join(s.dir, strings.TrimPrefix(ch.ChartFullPath(), root), name)
}

// rendered is a piece of the output: the text of one document, or a whole file
// of crds/, where lines are known.
type rendered struct {
	source string // as Helm names it
	file   string // as the repository names it
	line   int
	text   string
}

// manifests puts the output into the order of "helm template": crds/, then
// what the templates made, then hooks.
func (s source) manifests(ch *chart.Chart, files map[string]string) ([]rendered, error) {
	for name := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(files, name)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, s.manifestFaults(ch, files, err)
	}
	var docs []rendered
	for _, crd := range ch.CRDObjects() {
		docs = append(docs, rendered{crd.Filename, s.crdFile(crd), 1, string(crd.File.Data)})
	}
	add := func(name, text string) {
		file, _ := s.templateFile(ch, name)
		docs = append(docs, rendered{name, file, 0, text})
	}
	for _, m := range manifests {
		add(m.Name, m.Content)
	}
	last := len(docs)
	for _, h := range hooks {
		if s.opt.SkipTests && slices.Contains(h.Events, release.HookTest) {
			continue
		}
		add(h.Path, h.Manifest)
	}
	keepTrailingLines(docs, last)
	return docs, nil
}

// keepTrailingLines gives documents the line ends that "helm template" prints
// behind them: one more than they have, but just one behind the last manifest.
// They mean something to a block scalar that ends a document; other documents
// are left tidy.
func keepTrailingLines(docs []rendered, manifests int) {
	for i, d := range docs {
		switch {
		case !keepsLines(d.text):
		case i == manifests-1:
			docs[i].text = strings.TrimRight(d.text, " \t\r\n") + "\n"
		default:
			docs[i].text += "\n"
		}
	}
}

// keepsLines reports whether a text may hold the head of a block scalar that
// keeps the blank lines behind it: "|+", ">+", "|2+".
func keepsLines(text string) bool {
	for at := 0; ; at++ {
		plus := strings.IndexByte(text[at:], '+')
		if plus < 0 {
			return false
		}
		at += plus
		head := strings.TrimRight(text[max(0, at-2):at], "0123456789")
		if strings.HasSuffix(head, "|") || strings.HasSuffix(head, ">") {
			return true
		}
	}
}

func (s source) crdFile(crd chart.CRD) string {
	_, below, _ := strings.Cut(crd.Filename, "/")
	return path.Join(s.dir, below)
}

// manifestFaults finds every document that is no YAML; Helm stops at the first.
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
	file := s.dir
	if name, rest, ok := strings.Cut(strings.TrimPrefix(message, "YAML parse error on "), ": "); ok {
		file, _ = s.templateFile(ch, name)
		message = rest
	}
	return finding.Finding{Severity: finding.Error, Rule: "invalid-yaml", File: file, Message: message, Remedy: "correct the template or the values it prints"}
}
