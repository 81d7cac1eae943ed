package inplace

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
)

// written is what files contain.
type written struct {
	objects []object.Object
	// around are AppProjects and clusters.
	around []object.Object
	// units are directories with Applications that are only seen when they are rendered: charts
	// and jsonnet, and a kustomization that the user named.
	units    []string
	findings []finding.Finding

	in       Input
	unparsed []string
}

// applicationsAtTop matches files of manifests, which others such as the tasks of Ansible are not.
var applicationsAtTop = regexp.MustCompile(`(?m)^kind:\s*["']?Application(Set)?\b`)

var applications = regexp.MustCompile(`kind["']?\s*[:=]\s*["']?Application(Set)?\b`)

// surroundings matches what AppProjects and the Secrets of clusters have.
var surroundings = regexp.MustCompile(`(?m)^kind:\s*["']?AppProject\b|argocd.argoproj.io/secret-type`)

// mentions reports whether a text may contain Applications.
func mentions(text string) bool {
	return strings.Contains(text, "argoproj.io") && applications.MatchString(text)
}

// collect finds the Applications in files and directories.
func collect(in Input) (written, error) {
	w := written{in: in}
	for _, name := range in.Paths {
		info, err := fs.Stat(in.Repo, path.Clean(name))
		if err != nil {
			return w, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: w.show(name), Message: "file or directory not found",
				Remedy: "name a file or a directory with Applications"}
		}
		if !info.IsDir() {
			if err := w.file(name, true); err != nil {
				return w, err
			}
			continue
		}
		if err := w.walk(path.Clean(name)); err != nil {
			return w, err
		}
	}
	if n := len(w.unparsed); n > 0 {
		w.findings = append(w.findings, finding.Finding{Severity: finding.Note, Rule: finding.NotRendered, File: w.unparsed[0],
			Message: "not YAML, so the Applications in it are unknown; all such files: " + finding.Few(w.unparsed),
			Remedy:  "render them, and pass the output with -"})
	}
	return w, nil
}

func (w *written) show(name string) string {
	if w.in.Show == nil {
		return name
	}
	return w.in.Show(name)
}

// walk reads a directory. A kustomization that the user named is rendered as a whole.
func (w *written) walk(top string) error {
	return fs.WalkDir(w.in.Repo, top, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && p != ".":
			return fs.SkipDir
		case d.IsDir():
			return w.directory(p, p == top)
		case slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(p)):
			return w.file(p, false)
		}
		return nil
	})
}

// directory skips directories whose files are not read one by one.
func (w *written) directory(dir string, isTop bool) error {
	entries, err := fs.ReadDir(w.in.Repo, dir)
	if err != nil {
		return err
	}
	kind := render.Kind("")
	jsonnet := false
	for _, e := range entries {
		switch k := render.KindOfFile(e.Name()); {
		case e.IsDir():
		case k == render.Helm || k == render.Kustomize && kind == "":
			kind = k
		case path.Ext(e.Name()) == ".jsonnet":
			jsonnet = true
		}
	}
	if kind == render.Helm || kind == render.Kustomize && isTop && w.hasUnit(dir) {
		if w.hasUnit(dir) {
			w.units = append(w.units, dir)
		}
		return fs.SkipDir
	}
	if jsonnet && w.jsonnetUnit(entries, dir) {
		w.units = append(w.units, dir)
	}
	return nil
}

// hasUnit reports whether a file below a directory may contain Applications.
func (w *written) hasUnit(dir string) bool {
	found := false
	err := fs.WalkDir(w.in.Repo, dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || found:
			return err
		case d.IsDir() && p != dir && (d.Name() == "charts" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json", ".tpl", ".jsonnet", ".libsonnet"}, path.Ext(p)):
			return nil
		}
		text, err := fs.ReadFile(w.in.Repo, p)
		found = err == nil && mentions(string(text))
		return nil
	})
	return err == nil && found
}

// jsonnetUnit reports whether jsonnet files of a directory may render to Applications.
func (w *written) jsonnetUnit(entries []fs.DirEntry, dir string) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		text, err := fs.ReadFile(w.in.Repo, path.Join(dir, e.Name()))
		return err == nil && path.Ext(e.Name()) == ".jsonnet" && mentions(string(text))
	})
}

// file reads the Applications of a file. Other objects in it are not read.
func (w *written) file(name string, isNamed bool) error {
	if path.Base(name) == component.File && !isNamed {
		return nil
	}
	text, err := fs.ReadFile(w.in.Repo, name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && !isNamed {
			return nil // a symlink without a target
		}
		return err
	}
	if !isNamed && !mentions(string(text)) && !surroundings.Match(text) {
		return nil
	}
	objs, err := object.Parse(w.show(name), 1, string(text))
	if err != nil {
		if isNamed {
			return err
		}
		if applicationsAtTop.Match(text) {
			w.unparsed = append(w.unparsed, w.show(name))
		}
		return nil
	}
	for _, o := range objs {
		switch {
		case isOurs(o) && o.ID.Name != "":
			w.objects = append(w.objects, o)
		case argocd.IsProject(o.ID) || argocd.IsCluster(o):
			w.around = append(w.around, o)
		}
	}
	return nil
}

// filesOf returns the Applications in the files of a directory that does not render.
func filesOf(in Input, dir string) []object.Object {
	w := written{in: in}
	_ = fs.WalkDir(in.Repo, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(p)) {
			return err
		}
		return w.file(p, false)
	}) // what cannot be read has none
	return w.objects
}

// Found says what the files and directories of an Input contain.
type Found struct {
	// Applications means that there are Applications, or directories that may render to some.
	Applications bool
	// Sets means that there are ApplicationSets, even if their Applications are unknown.
	Sets bool
	// DeployDirs means that one of them deploys a directory below one of the Paths, so that the
	// Paths contain a fleet, and not only what a parent renders to.
	DeployDirs bool
}

// Look looks for Applications, without rendering anything. What cannot be read has none.
func Look(in Input, base *knowledge.Base) Found {
	w, err := collect(in)
	if err != nil {
		return Found{}
	}
	r := &reader{Input: in, base: base}
	r.readAll(w.objects)
	found := Found{Applications: len(w.units) > 0 || slices.ContainsFunc(r.Applications, func(app *Deployed) bool { return app != nil }),
		Sets: len(r.Tree.Nodes) > 0}
	for _, app := range r.Applications {
		if app == nil {
			continue
		}
		for _, s := range app.Sources {
			found.DeployDirs = found.DeployDirs || s.IsOurs && s.Err == nil && slices.ContainsFunc(in.Paths, func(p string) bool {
				return path.Clean(p) == "." || s.Dir == path.Clean(p) || strings.HasPrefix(s.Dir, path.Clean(p)+"/")
			})
		}
	}
	return found
}
