package render

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
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
	// HelmKustomize is a kustomization whose first resource is what the chart
	// beside it renders to.
	HelmKustomize Kind = "helm-kustomize"
	// Tree is a directory of charts and kustomizations, each in a directory of its
	// own, and of plain YAML around them.
	Tree Kind = "tree"
)

// Kinds lists all kinds, for messages and completion.
func Kinds() []Kind { return []Kind{Helm, Kustomize, HelmKustomize, Template, Plain, Tree} }

// Article names a component of the kind in a sentence.
func (k Kind) Article() string {
	switch k {
	case Kustomize:
		return "a kustomization"
	case Helm:
		return "a chart"
	case Template:
		return "templated YAML"
	case HelmKustomize:
		return "a chart and a kustomization"
	case Tree:
		return "a tree of components"
	}
	return "plain YAML"
}

// kustomizationNames are the names under which kustomize looks for its file.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// Detect returns the kind of the component in dir, or "" if there is nothing
// to render. The order is Argo CD's: a Chart.yaml makes a chart, then a
// kustomization file a kustomization; after that, templates make templated
// YAML and manifests plain YAML. A chart and a kustomization in one directory
// are taken together, where Argo CD would not look at the kustomization. A tree
// is never found: it must be asked for, since only its owners know whether the
// kustomizations below are to be applied or are there for others.
func Detect(fsys fs.FS, dir string) (Kind, error) {
	if kind := detectOne(fsys, dir); kind != "" {
		return kind, nil
	}
	found := Kind("")
	err := walk(fsys, dir, func(name string) error {
		switch {
		case isTemplate(name):
			found = Template
			return errStop
		case isSource(name) && !reserved(name):
			found = Plain
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return found, err
}

// detectOne is Detect for what a single file decides.
func detectOne(fsys fs.FS, dir string) Kind {
	chart := exists(fsys, path.Join(dir, "Chart.yaml"))
	kustomization := slices.ContainsFunc(kustomizationNames, func(name string) bool { return exists(fsys, path.Join(dir, name)) })
	switch {
	case chart && kustomization:
		return HelmKustomize
	case chart:
		return Helm
	case kustomization:
		return Kustomize
	}
	return ""
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
	with := func(kinds ...Kind) bool { return slices.Contains(kinds, s.opt.Kind) }
	switch {
	case with(Helm, HelmKustomize) && !exists(s.fsys, path.Join(s.dir, "Chart.yaml")):
		return "", s.fault("no-chart", "", "the renderer is "+string(s.opt.Kind)+", and there is no Chart.yaml here", "drop the renderer, or add a Chart.yaml")
	case with(Kustomize, HelmKustomize) && !exists(s.fsys, path.Join(s.dir, s.kustomizationFile(s.dir))):
		return "", s.fault("no-kustomization", "", "the renderer is "+string(s.opt.Kind)+", and there is no kustomization.yaml here", "drop the renderer, or add a kustomization.yaml")
	case s.opt.Kind != "":
		return s.opt.Kind, nil
	}
	kind, err := Detect(s.fsys, s.dir)
	if err != nil {
		return "", s.unreadable(err)
	}
	if kind == "" {
		return "", s.fault("nothing-to-render", "", "there is nothing to render here",
			"add a Chart.yaml, a kustomization.yaml, manifests (*.yaml, *.json, *.jsonnet) or templates (*.yaml.tmpl, *.gotmpl)")
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
// lexical order. Hidden files and directories are left out, which are for tools;
// symlinks to files are followed inside the repository, symlinks to directories
// are not followed.
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
			// One that leads to nothing is reported by who reads it.
			if info, err := fs.Stat(fsys, p); err == nil && info.IsDir() {
				return nil
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
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

var kindAtTop = regexp.MustCompile(`(?m)^kind:`)

// Beside lists the files of a directory that would be rendered if they were all of a
// component: a chart, a kustomization, templates, and what holds manifests.
// Directories with settings of their own are not looked into, and values files are
// passed over.
func Beside(fsys fs.FS, dir string) ([]string, error) {
	var all []string
	err := walk(fsys, dir, func(name string) error {
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			if exists(fsys, path.Join(dir, above, "component.yaml")) {
				return nil
			}
		}
		held := Sign(name) != "" && !isValues(name)
		if held && Sign(name) == Plain {
			data, err := fs.ReadFile(fsys, path.Join(dir, name))
			held = err == nil && claims(string(data)) && (path.Ext(name) == ".json" || kindAtTop.Match(data)) // values hold manifests, too
		}
		if held {
			all = append(all, name)
		}
		return nil
	})
	return all, err
}
