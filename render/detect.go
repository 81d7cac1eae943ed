package render

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Kind says how a component is rendered.
type Kind string

const (
	Helm      Kind = "helm"
	Kustomize Kind = "kustomize"
	Template  Kind = "template"
	Plain     Kind = "plain"
)

// Kinds lists all kinds, for messages and completion.
func Kinds() []Kind { return []Kind{Helm, Kustomize, Template, Plain} }

func (k Kind) article() string {
	switch k {
	case Kustomize:
		return "a kustomization"
	case Helm:
		return "a chart"
	case Template:
		return "templated YAML"
	}
	return "plain YAML"
}

// kustomizationNames are the names under which kustomize looks for its file.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// Detect returns the kind of the component in dir, or "" if there is nothing
// to render. The order is Argo CD's: a Chart.yaml makes a chart, then a
// kustomization file a kustomization; after that, templates make templated
// YAML and manifests plain YAML.
func Detect(fsys fs.FS, dir string) (Kind, error) {
	if exists(fsys, path.Join(dir, "Chart.yaml")) {
		return Helm, nil
	}
	for _, name := range kustomizationNames {
		if exists(fsys, path.Join(dir, name)) {
			return Kustomize, nil
		}
	}
	found := Kind("")
	err := walk(fsys, dir, func(name string) error {
		switch {
		case isTemplate(name):
			found = Template
			return errStop
		case isManifest(name) && !reserved(name):
			found = Plain
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return found, err
}

var errStop = errors.New("stop")

// Sign returns the kind of component that a file of this name is a sign of, or ""
// if of none: what can be seen of a directory without reading it.
func Sign(name string) Kind {
	switch {
	case name == "Chart.yaml":
		return Helm
	case slices.Contains(kustomizationNames, name):
		return Kustomize
	case isTemplate(name):
		return Template
	case isManifest(name) && !reserved(name):
		return Plain
	}
	return ""
}

func (s source) kind() (Kind, error) {
	switch {
	case s.opt.Kind == Helm && !exists(s.fsys, path.Join(s.dir, "Chart.yaml")):
		return "", s.fault("no-chart", "", "the renderer is helm, and there is no Chart.yaml here", "drop the renderer, or add a Chart.yaml")
	case s.opt.Kind == Kustomize && !exists(s.fsys, path.Join(s.dir, s.kustomizationFile(s.dir))):
		return "", s.fault("no-kustomization", "", "the renderer is kustomize, and there is no kustomization.yaml here", "drop the renderer, or add a kustomization.yaml")
	case s.opt.Kind != "":
		return s.opt.Kind, nil
	}
	kind, err := Detect(s.fsys, s.dir)
	if err != nil {
		return "", s.unreadable(err)
	}
	if kind == "" {
		return "", s.fault("nothing-to-render", "", "there is nothing to render here",
			"add a Chart.yaml, a kustomization.yaml, manifests (*.yaml, *.json) or templates (*.yaml.tmpl, *.gotmpl)")
	}
	return kind, nil
}

func kindList() string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

func exists(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && !info.IsDir()
}

func isTemplate(name string) bool {
	for _, ext := range []string{".yaml.tmpl", ".yml.tmpl", ".json.tmpl", ".gotmpl"} {
		if strings.HasSuffix(name, ext) {
			return true
		}
	}
	return false
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// reserved reports whether a file speaks to Ladder and holds no manifest.
// Only the files at the root of the component do.
func reserved(name string) bool {
	return name == "component.yaml" || name == "ladder.yaml"
}

// walk calls fn with the path, relative to dir, of every file below it, in
// lexical order. Hidden files and directories are left out, as kubectl and
// Argo CD leave them out; symlinks to files are followed inside the
// repository, symlinks to directories are not followed.
func walk(fsys fs.FS, dir string, fn func(name string) error) error {
	return fs.WalkDir(fsys, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p == dir {
			return nil
		}
		if strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			if info, err := fs.Stat(fsys, p); err != nil || info.IsDir() {
				return err
			}
		}
		return fn(strings.TrimPrefix(p, prefix(dir)))
	})
}

// prefix is what stands before the paths of the files below dir.
func prefix(dir string) string {
	if dir == "." {
		return ""
	}
	return dir + "/"
}
