package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/input"
)

// ExternalChart is the rule for an external chart of component.yaml that is
// neither vendored nor fetched. Callers that know the chart by name may ignore it.
const ExternalChart finding.Rule = "chart-elsewhere"

// Lock reads the lock file of the component, and reports whether it exists.
func (req Request) Lock() (remote.Lock, bool, error) {
	file := path.Join(req.Dir, remote.LockFile)
	if req.Repo == nil {
		return remote.Lock{}, false, nil
	}
	if _, err := fs.Stat(req.Repo, file); err != nil {
		return remote.Lock{}, false, nil // the renderer reports the problem with the directory
	}
	text, err := fs.ReadFile(req.Repo, file)
	if err != nil {
		return remote.Lock{}, true, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: req.show(file),
			Message: input.Cause(err), Remedy: input.UnreadableRemedy(err)}
	}
	lock, err := remote.ParseLock(req.show(file), text)
	return lock, true, err
}

// sources returns the component's remote sources and records their use; nil if
// nothing can be fetched.
func (req Request) sources() (*remote.Recorder, error) {
	from := remote.Sources{Network: req.Remote, Dir: req.show(req.Dir)}
	if !req.IgnoreVendored {
		lock, exists, err := req.Lock()
		if err != nil {
			return nil, err
		}
		if exists {
			from.Vendored = &remote.Vendored{Lock: lock,
				Read: func(file string) ([]byte, error) { return fs.ReadFile(req.Repo, path.Join(req.Dir, file)) },
				Show: func(file string) string { return req.show(path.Join(req.Dir, file)) }}
		}
	}
	if from.Network == nil && from.Vendored == nil {
		return nil, nil
	}
	return &remote.Recorder{From: from}, nil
}

// Vendored reports whether the chart of the component is vendored.
func (req Request) Vendored(c component.Chart) bool {
	lock, exists, err := req.Lock()
	if !exists || err != nil || !c.Remote() {
		return false
	}
	_, known := lock.Find(c.Ref())
	return known
}

// fetchFindings reports what was fetched: the versions that ranges resolved to, and
// cached content that may be stale.
func (opt options) fetchFindings() []finding.Finding {
	if opt.fetched == nil {
		return nil
	}
	var all []finding.Finding
	from, _ := opt.fetched.From.(remote.Sources)
	for _, f := range opt.fetched.Fetched() {
		if f.Content.Warning != "" {
			all = append(all, finding.Finding{Severity: finding.Warning, Rule: remote.Source, File: from.Dir,
				About: f.Ref.String(), Message: f.Ref.String() + ": " + f.Content.Warning,
				Remedy: "make the source reachable, or pin it with cmp vendor " + from.Dir})
		}
		if f.Exact() {
			continue
		}
		note := finding.Finding{Severity: finding.Note, Rule: remote.Source, File: from.Dir,
			About: fmt.Sprintf("%s %s", f.Ref, f.Content.Version), Message: fmt.Sprintf("%s resolves to %s", f.Ref, f.Content.Version)}
		switch {
		case from.Locked(f.Ref):
			note.Message += ", as " + remote.LockFile + " says"
		case f.Ref.Kind == remote.Chart:
			note.Severity = finding.Warning
			note.Message += " and will resolve to a newer version as soon as one is published"
			note.Remedy = "name that version, or pin it with cmp vendor " + from.Dir
		}
		all = append(all, note)
	}
	return all
}

// Fetch renders the component of a request only to fetch its sources.
func Fetch(ctx context.Context, req Request, base *knowledge.Base) error {
	req, opt, base, err := req.prepare(ctx, base)
	if err != nil {
		return err
	}
	_, err = req.render(ctx, opt, base)
	return err
}

// externalFiles is the location of a component's manifests outside its repository.
type externalFiles struct {
	fsys fs.FS
	dir  string
	show func(string) string
	// title is the prefix of the paths that show returns.
	title string
	// reference is the field of component.yaml that refers to them.
	reference finding.Finding
}

// inComponent converts a finding about such a file to the place in the component
// that the user can change.
func (e externalFiles) inComponent(f finding.Finding) finding.Finding {
	if f.File != e.title && !strings.HasPrefix(f.File, e.title+"/") {
		return f
	}
	moved := f
	moved.Remedy = ""
	f.File, f.Line, f.Object, f.Field, f.Message = e.reference.File, e.reference.Line, "", e.reference.Field, moved.Error()
	return f
}

// ignoredFiles reports files in the directory of a component with an external chart
// that would be a component otherwise.
func (req Request) ignoredFiles() []finding.Finding {
	if req.external == nil || req.Chart.Remote() {
		return nil
	}
	names, err := render.RenderableFiles(req.Repo, req.Dir)
	if err != nil {
		return nil // the directory is not rendered
	}
	var all []finding.Finding
	for _, name := range names {
		all = append(all, finding.Finding{Severity: finding.Warning, Rule: finding.NotRendered, File: req.show(path.Join(req.Dir, name)),
			Message: "not rendered: " + component.File + " names a remote chart",
			Remedy:  "make it a separate component, or use the chart in helmCharts of a kustomization"})
	}
	return all
}

// fetchChart fetches the chart that component.yaml names, and locates it in the
// archive.
func (req Request) fetchChart(ctx context.Context, c component.Chart, opt options) (*externalFiles, error) {
	fault := func(rule finding.Rule, message, remedy string) finding.Finding {
		return finding.Finding{Severity: finding.Error, Rule: rule, Message: message, Remedy: remedy}
	}
	if opt.render.Remote == nil {
		return nil, fault(ExternalChart, "the chart is in another repository, and fetching is disabled",
			"run cmp vendor "+req.show(req.Dir)+
				", allow the source with --allow-remote, or put the chart into this repository and name its directory as chart.path")
	}
	ref := c.Ref()
	got, err := opt.render.Remote.Fetch(ctx, ref)
	if f := finding.Of(err); len(f) == 1 && f[0].Rule == remote.NotVendored {
		f[0].Rule = ExternalChart
		return nil, f[0]
	}
	if err != nil {
		return nil, err
	}
	files, err := input.Unpack(got.Data)
	if err != nil {
		return nil, fault(remote.Source, ref.String()+" cannot be unpacked: "+err.Error(), "report this to the publisher of the chart")
	}
	from := &externalFiles{fsys: files, dir: path.Clean(strings.TrimLeft(c.Path, "/"))}
	title := strings.TrimSuffix(path.Base(strings.TrimRight(ref.URL, "/")), ".git") + "@" + got.Version
	if ref.Kind == remote.Chart {
		title = ref.Chart + "-" + got.Version
		if from.dir, err = chartDir(files); err != nil {
			return nil, fault(remote.Source, ref.String()+" is not a chart: "+err.Error(), "report this to the publisher of the chart")
		}
	}
	if info, err := fs.Stat(files, from.dir); err != nil || !info.IsDir() {
		return nil, fault(finding.BadSettings, fmt.Sprintf("directory %s not found in %s", c.Path, ref),
			"correct chart.path, which begins at the root of that repository")
	}
	from.title = title
	from.show = func(name string) string {
		if ref.Kind == remote.Chart && from.dir != "." {
			name = "./" + strings.TrimPrefix(strings.TrimPrefix(name, from.dir), "/")
		}
		return path.Join(title, name)
	}
	return from, nil
}

// chartDir returns the directory of a packaged chart that contains its Chart.yaml.
func chartDir(files fs.FS) (string, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if info, err := fs.Stat(files, path.Join(e.Name(), "Chart.yaml")); e.IsDir() && err == nil && !info.IsDir() {
			return e.Name(), nil
		}
	}
	return "", errors.New("it has no Chart.yaml")
}

// valueFile is a values file of a chart: in the repository of the component or of
// the chart, or at a URL.
type valueFile struct {
	chart bool
	name  string
	url   bool
}

// chartValues returns the values files that component.yaml names for its chart. home
// is the directory of component.yaml; req.Dir is the directory of the chart if that is in
// this repository.
func (req Request) chartValues(ctx context.Context, d component.Description, opt options, home string) input.Values {
	own := req.values()
	at := func(name string) (valueFile, fs.FS) {
		file := req.valueFile(name)
		if file.chart {
			return file, req.external.fsys
		}
		return file, req.Repo
	}
	bad := func(name, message, remedy string) error {
		return finding.Finding{Severity: finding.Error, Rule: finding.BadSettings,
			Message: finding.WithoutCredentials(name) + " " + message, Remedy: remedy}
	}
	v := input.Values{Files: d.Chart.ValueFiles, IgnoreMissing: d.Chart.IgnoreMissing, NamedBy: map[string]input.NamedBy{}}
	for i, name := range v.Files {
		field := fmt.Sprintf("chart.valueFiles[%d]", i)
		v.NamedBy[name] = input.NamedBy{File: req.show(path.Join(home, component.File)),
			Line: cmp.Or(d.Line(field), d.Line("chart")), Field: field, Ignore: "chart.ignoreMissingValueFiles"}
	}
	v.Read = func(name string) ([]byte, error) {
		file, fsys := at(name)
		switch {
		case file.url && opt.render.Remote == nil:
			return nil, bad(name, "is a remote file, and fetching is disabled", remote.Remedy(req.show(home)))
		case file.url:
			got, err := opt.render.Remote.Fetch(ctx, remote.Ref{Kind: remote.File, URL: file.name})
			return got.Data, err
		case !fs.ValidPath(file.name):
			return nil, bad(name, "leaves the repository", "name a file inside the repository")
		}
		if info, err := fs.Stat(fsys, file.name); err == nil && info.IsDir() {
			return nil, bad(name, "is a directory", "name a file in it, or write "+path.Join(name, "*.yaml"))
		}
		return fs.ReadFile(fsys, file.name)
	}
	v.Glob = func(pattern string) ([]string, error) {
		file, fsys := at(pattern)
		switch {
		case file.url:
			return []string{pattern}, nil
		case !fs.ValidPath(file.name):
			return nil, bad(pattern, "leaves the repository", "name files inside the repository")
		}
		found, err := doublestar.Glob(fsys, file.name, doublestar.WithFilesOnly())
		if err != nil {
			return nil, bad(pattern, "is not a valid pattern", `write "*" for any part of a name, "**" for any directories`)
		}
		for i, name := range found {
			if found[i] = "/" + name; file.chart {
				below, err := filepath.Rel(req.external.dir, name)
				if err != nil {
					return nil, err
				}
				found[i] = "./" + filepath.ToSlash(below)
			}
		}
		return found, nil
	}
	v.Path = func(name string) string {
		switch file, _ := at(name); {
		case file.url:
			return finding.WithoutCredentials(file.name)
		case file.chart:
			return req.external.show(file.name)
		default:
			return own.Path("/" + file.name)
		}
	}
	return v
}

// valueFile locates a values file: "/" and "$name/" refer to the root of the
// component's repository, everything else to the chart.
func (req Request) valueFile(name string) valueFile {
	if strings.Contains(name, "://") {
		return valueFile{name: name, url: true}
	}
	if rest, ref := strings.CutPrefix(name, "$"); ref {
		_, rest, _ = strings.Cut(rest, "/")
		name = "/" + rest
	}
	if strings.HasPrefix(name, "/") {
		return valueFile{name: path.Clean(strings.TrimLeft(name, "/"))}
	}
	if req.external != nil {
		return valueFile{chart: true, name: path.Join(req.external.dir, name)}
	}
	return valueFile{name: path.Join(req.Dir, name)}
}

// atPlace returns findings about an external chart, at the place that names it.
func atPlace(err error, file string, line int, field string) error {
	var all []error
	for _, f := range finding.Of(err) {
		if f.File == "" {
			f.File, f.Line, f.Field = file, line, cmp.Or(f.Field, field)
		}
		all = append(all, f)
	}
	return errors.Join(all...)
}
