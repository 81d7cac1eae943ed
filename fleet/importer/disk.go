package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ladder-cmp/ladder/internal/appset"
	"github.com/ladder-cmp/ladder/internal/argocd"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/wave"
)

// Sources lists the locations to read Applications from.
type Sources struct {
	// Paths are files, "-" for Stdin, and directories.
	Paths []string
	Stdin io.Reader
	// Cluster is also read, unless it is nil.
	Cluster *argocd.Cluster
	Base    *knowledge.Base
	// Values and Others are those of the Input.
	Values appset.Values
	Others map[string]fs.FS
}

// Directory returns a directory in the repository: the first path that is one, otherwise the
// working directory.
func (s Sources) Directory() string {
	for _, p := range s.Paths {
		if p != "-" && manifests.IsDir(p) {
			return p
		}
		if p != "-" {
			return filepath.Dir(p)
		}
	}
	return "."
}

// Read reads all sources.
func (s Sources) Read(ctx context.Context, repo *checkout.Checkout) (Input, []finding.Finding, error) {
	in := Input{Repo: repo.Repo, Base: s.Base, Values: s.Values, Others: s.Others}
	var findings []finding.Finding
	var faults []error
	for _, p := range s.Paths {
		var objs []object.Object
		var found []finding.Finding
		var err error
		if p == "-" || !manifests.IsDir(p) {
			objs, err = manifests.Read(s.Stdin, p)
		} else {
			objs, found, err = s.directory(ctx, repo, p)
		}
		faults = append(faults, err)
		findings = append(findings, found...)
		in.Objects = append(in.Objects, objs...)
	}
	if s.Cluster != nil {
		found, err := s.Cluster.Applications(ctx)
		faults = append(faults, err)
		findings = append(findings, found.Findings...)
		in.Objects = append(in.Objects, found.Objects...)
	}
	return in, findings, errors.Join(faults...)
}

// directory reads the rendered manifests of a directory if it is a chart or a kustomization,
// otherwise the files below it.
func (s Sources) directory(ctx context.Context, repo *checkout.Checkout, dir string) ([]object.Object, []finding.Finding, error) {
	dir, err := repo.Rel(dir)
	if err != nil {
		return nil, nil, err
	}
	var findings []finding.Finding
	if kind, err := render.Detect(repo.Repo, dir); err == nil && (kind == render.Helm || kind == render.Kustomize) {
		req := plugin.Request{Repo: repo.Repo, NoRepository: repo.NoRepository, Dir: dir, Show: repo.Show, App: plugin.App{Name: "root", Namespace: "argocd"},
			Settings: []plugin.Settings{{Order: wave.Options{Waves: wave.Off}}}}
		res, err := plugin.Generate(ctx, req, s.Base)
		if err == nil {
			return res.Objects, nil, nil
		}
		for _, f := range finding.Of(err) {
			f.Severity = finding.Warning
			findings = append(findings, f)
		}
	}
	objs, more, err := Find(repo.Repo, dir, repo.Show)
	return objs, append(findings, more...), err
}

// Text returns all files as one text.
func (r Result) Text() string {
	var b strings.Builder
	for i, f := range r.Files {
		if i > 0 {
			b.WriteString("---\n")
		}
		fmt.Fprintf(&b, "# %s\n%s", finding.Sanitize(f.Path), f.Text)
	}
	return b.String()
}

// Summary lists what Write has written.
func (r Result) Summary(show func(string) string) string {
	var b strings.Builder
	for _, c := range r.Components {
		fmt.Fprintf(&b, "%s: %s\n", finding.Sanitize(show(c.File)), finding.Sanitize(c.String()))
	}
	fmt.Fprintf(&b, "%s written\n", finding.Counted(len(r.Files), "file"))
	return b.String()
}

// OpenOthers opens the checkouts of other repositories, each named as URL=DIR, for
// Input.Others.
func OpenOthers(others []string) (map[string]fs.FS, error) {
	all := map[string]fs.FS{}
	for _, name := range others {
		at := strings.LastIndexByte(name, '=')
		if at <= 0 {
			return nil, usage.New("--repo " + name + " is not of the form URL=DIR; write --repo https://git.example.com/values.git=../values")
		}
		dir := name[at+1:]
		if err := checkout.CheckDir(dir); err != nil {
			return nil, err
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		all[remote.RepositoryName(name[:at])] = root.FS()
	}
	return all, nil
}

// String describes what was imported of an Application.
func (c Component) String() string {
	return fmt.Sprintf("%s, %s, step %d", c.Name, c.Source, c.Step)
}

// Write writes all files, or none, below the directory of the repository. Unless force is set,
// existing files are an error.
func (r Result) Write(base string, show func(string) string, force bool) error {
	var all []wholefile.File
	var faults []error
	for _, f := range r.Files {
		name := filepath.Join(base, filepath.FromSlash(f.Path))
		if info, err := os.Lstat(filepath.Dir(name)); err == nil && !info.IsDir() {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "not-written", File: show(path.Dir(f.Path)), Message: "is not a directory", Remedy: "remove it first"})
			continue
		}
		switch info, err := os.Lstat(name); {
		case err == nil && !info.Mode().IsRegular():
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "not-written", File: show(f.Path), Message: "is not a regular file", Remedy: "remove it first"})
		case err == nil && !force:
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "not-written", File: show(f.Path), Message: "the file exists", Remedy: "use --force to replace it, or another directory"})
		}
		all = append(all, wholefile.File{Name: name, Shown: show(f.Path), Data: []byte(f.Text)})
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	for _, f := range all {
		if err := os.MkdirAll(filepath.Dir(f.Name), 0o755); err != nil {
			return fmt.Errorf("%s: %s; no file is written", f.Shown, wholefile.Reason(err))
		}
	}
	return wholefile.WriteAll(all)
}
