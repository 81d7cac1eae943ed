// Package install writes what adds the sidecar to an Argo CD: values of the chart
// argo-cd, or a kustomization. Both come from one source, deploy/argocd-values.yaml.
//
// Helm replaces lists of one values file by those of the next, so the sidecar must be in
// the list that a user already has. Therefore both are merged into the user's own file:
// whatever is in it stays, byte for byte, and merging a second time changes nothing.
package install

import (
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/deploy"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/textedit"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/kustomize"
)

// repository is where the images of releases are.
const repository = "ghcr.io/ladder-cmp/ladder"

var released = lazyregexp.New(`^v?(\d+\.\d+\.\d+(-(alpha|beta|rc)[.\d]*)?)$`)

// Image is the image of a version of the program; empty if it was not released.
func Image(version string) string {
	m := released.FindStringSubmatch(version)
	if m == nil {
		return ""
	}
	return repository + ":v" + m[1]
}

// imageFlag names the image of the sidecar.
const imageFlag = "--image"

// Options are what the sidecar is installed with.
type Options struct {
	// Image is the image that a user asks for; it wins over any other.
	Image string
	// Released is the image of this version. It replaces a placeholder and the image of
	// another release, but not the image of a user's own registry.
	Released string
	// UI also adds the extension of Argo CD's user interface.
	UI bool
}

// Values returns values for the argo-cd chart that are merged into those of a user.
// Values of an umbrella chart are below the name of the subchart.
func Values(text string, o Options) (string, error) {
	add := template()
	if o.UI {
		add.Content = append(add.Content, scalar("server"), uiServer(), scalar("extraObjects"),
			&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{uiObject()}})
	}
	root, err := mapping(text)
	if err != nil {
		return "", err
	}
	if isKustomization(root) {
		return "", finding.Fault("this is a kustomization, not values for the argo-cd chart", "use --print kustomize")
	}
	if object.IsManifest(root) {
		return "", finding.Fault("this is a Kubernetes object, not values for the argo-cd chart", nameFile)
	}
	for _, key := range []string{"argo-cd", "argocd"} {
		if lookUp(root, key) != nil && !slices.ContainsFunc(doctor.ChartKeys, func(known string) bool { return lookUp(root, known) != nil }) {
			add = entry(key, add)
		}
	}
	return o.merge(text, add)
}

// Kustomization returns a kustomization with patches for a plain installation of Argo CD,
// which are merged into the kustomization of a user. Without one, it is a component.
func Kustomization(text string, o Options) (string, error) {
	root, err := mapping(text)
	if err != nil {
		return "", err
	}
	if !isKustomization(root) && areValues(root) {
		return "", finding.Fault("these are values for the argo-cd chart, not a kustomization", "use --print values")
	}
	if !kustomize.IsKustomization(text) {
		return "", finding.Fault("this is not a kustomization that kustomize accepts",
			"name your kustomization.yaml, or correct what kustomize build reports")
	}
	values := template()
	patches := &yaml.Node{Kind: yaml.SequenceNode}
	add := func(name, apiVersion, kind, field string, content *yaml.Node) {
		patch := entry("apiVersion", scalar(apiVersion))
		patch.Content = append(patch.Content, scalar("kind"), scalar(kind), scalar("metadata"), entry("name", scalar(name)),
			scalar(field), content)
		patches.Content = append(patches.Content, entry("patch", literal(textedit.MustEncode(patch))))
	}
	add("argocd-repo-server", "apps/v1", "Deployment", "spec",
		entry("template", entry("spec", entry("containers", find(values, "repoServer", "extraContainers")))))
	add("argocd-cm", "v1", "ConfigMap", "data", find(values, "configs", "cm"))
	add("argocd-cmd-params-cm", "v1", "ConfigMap", "data", find(values, "configs", "params"))
	whole := entry("patches", patches)
	if o.UI {
		add("argocd-server", "apps/v1", "Deployment", "spec", uiPod())
		whole.Content = append(whole.Content, scalar("configMapGenerator"),
			&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{uiGenerator()}})
	}
	if strings.TrimSpace(text) == "" {
		whole.Content = append([]*yaml.Node{scalar("apiVersion"), scalar("kustomize.config.k8s.io/v1alpha1"), scalar("kind"),
			scalar("Component")}, whole.Content...)
	}
	return o.merge(text, whole)
}

// isKustomization tells a kustomization by its kind, which it may leave out, or by what
// it builds from.
func isKustomization(root *yaml.Node) bool {
	if kind := lookUp(root, "kind"); kind != nil {
		return kind.Value == "Kustomization" || kind.Value == "Component"
	}
	return slices.ContainsFunc([]string{"resources", "components", "patches"}, func(key string) bool { return lookUp(root, key) != nil })
}

// areValues tells values for the argo-cd chart, or of an umbrella chart.
func areValues(root *yaml.Node) bool {
	return slices.ContainsFunc(append([]string{"argo-cd", "argocd"}, doctor.ChartKeys...), func(key string) bool {
		return lookUp(root, key) != nil
	})
}

// template parses the values that the project ships. Comments at its head are about the
// file.
func template() *yaml.Node {
	root, err := mapping(deploy.Values)
	if err != nil {
		panic(fmt.Sprintf("embedded values: %v", err)) // tests read them
	}
	root.HeadComment, root.Content[0].HeadComment = "", ""
	return root
}

// maxPasses limits how often a text is merged into: each pass writes the values of one
// level of flow style in block style.
const maxPasses = 20

// merge adds to a text what it lacks, with the image of the sidecar, until nothing is
// missing.
func (o Options) merge(text string, add *yaml.Node) (string, error) {
	before, err := mapping(text)
	if err != nil {
		return "", err
	}
	merged := text
	for range maxPasses {
		m, err := newMerger(merged, o)
		if err != nil {
			break // what was written is not valid
		}
		m.mapping(m.root, add)
		if m.err != nil {
			return "", m.err
		}
		if len(m.splices) == 0 {
			if keeps(decoded(before), decoded(m.root)) {
				return m.text, nil
			}
			break
		}
		merged = textedit.Apply(m.text, m.splices...)
	}
	return "", finding.Fault("it cannot be merged without changing more of it",
		"write its lists and mappings in block style without anchors, or add the fields of deploy/argocd-values.yaml by hand")
}

// image is the image that the sidecar runs instead of another; an error if there is none.
func (o Options) image(old string) (string, error) {
	ours := strings.HasPrefix(old, repository+":") || strings.HasPrefix(old, repository+"@")
	switch {
	case o.Image != "":
		return o.Image, nil
	case !doctor.IsPlaceholder(old) && (!ours || o.Released == "" || strings.HasPrefix(old, o.Released+"@")):
		return old, nil
	case o.Released != "":
		return o.Released, nil
	}
	return "", finding.Finding{Severity: finding.Error, Rule: finding.Failed, Field: imageFlag,
		Message: "this build of the program is not a release, so it has no image",
		Remedy:  fmt.Sprintf("name one, such as %s %s:v1.2.3, or use a release", imageFlag, repository)}
}
