package render

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/kustomize"
)

// Kind says how a component is rendered.
type Kind string

const (
	Helm      Kind = "helm"
	Kustomize Kind = "kustomize"
	Template  Kind = "template"
	Plain     Kind = "plain"
	// HelmKustomize is a kustomization whose first resource is the rendering of the
	// chart in the same directory.
	HelmKustomize Kind = "helm-kustomize"
	// Tree is a directory of charts and kustomizations, each in its own directory,
	// with plain YAML around them.
	Tree Kind = "tree"
)

// Kinds lists all kinds, for messages and completion.
func Kinds() []Kind { return []Kind{Helm, Kustomize, HelmKustomize, Template, Plain, Tree} }

// Article returns the kind with an article, for use in a sentence.
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

// Detect returns the kind of the component in dir, or "" if there is nothing to
// render. The order is that of Argo CD: Chart.yaml means a chart, then a
// kustomization file a kustomization; after that, templates mean templated YAML and
// manifests plain YAML. A chart and a kustomization in one directory are combined,
// whereas Argo CD would ignore the kustomization. A tree is never detected, since
// only its owners know which kustomizations are to be applied.
func Detect(fsys fs.FS, dir string) (Kind, error) {
	if kind := detectOne(fsys, dir); kind != "" {
		return kind, nil
	}
	found := Kind("")
	err := input.Walk(fsys, dir, func(name string) error {
		switch {
		case helm.IsTemplate(name):
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

// detectOne detects kinds that a single file decides.
func detectOne(fsys fs.FS, dir string) Kind {
	chart := input.FileExists(fsys, path.Join(dir, "Chart.yaml"))
	kustomization := input.FileExists(fsys, path.Join(dir, kustomize.File(fsys, dir)))
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

// KindOfFile returns the kind that a file of this name indicates, or "". It does not read
// the directory.
func KindOfFile(name string) Kind {
	switch {
	case name == "Chart.yaml":
		return Helm
	case kustomize.IsFile(name):
		return Kustomize
	case helm.IsTemplate(name):
		return Template
	case isManifest(name) && !reserved(name):
		return Plain
	}
	return ""
}

func (s source) kind() (Kind, error) {
	with := func(kinds ...Kind) bool { return slices.Contains(kinds, s.opt.Kind) }
	switch {
	case with(Helm, HelmKustomize) && !input.FileExists(s.FS, path.Join(s.Dir, "Chart.yaml")):
		return "", s.Fault(finding.NotFound, "", "the renderer is set to "+string(s.opt.Kind)+", but the directory has no Chart.yaml",
			"remove this setting, or add a Chart.yaml")
	case with(Kustomize, HelmKustomize) && !input.FileExists(s.FS, path.Join(s.Dir, kustomize.File(s.FS, s.Dir))):
		return "", s.Fault(finding.NotFound, "", "the renderer is set to "+string(s.opt.Kind)+", but the directory has no kustomization.yaml",
			"remove this setting, or add a kustomization.yaml")
	case s.opt.Kind != "":
		return s.opt.Kind, nil
	}
	kind, err := Detect(s.FS, s.Dir)
	if err != nil {
		return "", s.Unreadable(err)
	}
	if kind == "" {
		return "", s.Fault(NothingToRender, "", "nothing to render in this directory",
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

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// reserved reports whether a file configures Ladder and contains no manifest. This
// applies only to the root of the component.
func reserved(name string) bool {
	return name == "component.yaml" || name == "ladder.yaml"
}

var kindAtTop = lazyregexp.New(`(?m)^kind:`)

// RenderableFiles lists the files of a directory that would be rendered if they were one
// component: a chart, a kustomization, templates, and manifests. It skips
// directories with settings of their own, and values files.
func RenderableFiles(fsys fs.FS, dir string) ([]string, error) {
	var all []string
	err := input.Walk(fsys, dir, func(name string) error {
		for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
			if input.FileExists(fsys, path.Join(dir, parent, "component.yaml")) {
				return nil
			}
		}
		isRenderable := KindOfFile(name) != "" && !helm.IsValues(name)
		if isRenderable && KindOfFile(name) == Plain {
			data, err := fs.ReadFile(fsys, path.Join(dir, name))
			isRenderable = err == nil && looksLikeManifest(string(data)) &&
				(path.Ext(name) == ".json" || kindAtTop.Match(data)) // values may contain manifests, too
		}
		if isRenderable {
			all = append(all, name)
		}
		return nil
	})
	return all, err
}
