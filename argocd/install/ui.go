package install

import (
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/deploy"
	"github.com/ladder-cmp/ladder/internal/textedit"
)

// uiName is the name of the ConfigMap that contains the extension of Argo CD's user interface.
const uiName = "ladder-ui"

// uiPrefix begins the literal of a generated ConfigMap that contains the extension.
const uiPrefix = deploy.UIFile + "="

// uiObject is the ConfigMap for extraObjects of the chart, which reads them as templates: the
// script contains no "{{".
func uiObject() *yaml.Node {
	object := entry("apiVersion", scalar("v1"))
	object.Content = append(object.Content, scalar("kind"), scalar("ConfigMap"), scalar("metadata"), entry("name", scalar(uiName)),
		scalar("data"), entry(deploy.UIFile, literal(deploy.UIScript)))
	return object
}

// uiGenerator is the same for a kustomization, which can have it in one file.
func uiGenerator() *yaml.Node {
	generator := entry("name", scalar(uiName))
	generator.Content = append(generator.Content, scalar("literals"),
		&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{literal(uiPrefix + deploy.UIScript)}})
	return generator
}

// uiServer are the values of Argo CD's server that mount the extension.
func uiServer() *yaml.Node {
	root, err := mapping(deploy.UIValues)
	if err != nil {
		panic(err) // tests read it
	}
	return lookUp(root, "server")
}

// uiPod is the same for a patch of the Deployment.
func uiPod() *yaml.Node {
	server := uiServer()
	container := entry("name", scalar("argocd-server"))
	container.Content = append(container.Content, scalar("volumeMounts"), lookUp(server, "volumeMounts"))
	pod := entry("containers", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{container}})
	pod.Content = append(pod.Content, scalar("volumes"), lookUp(server, "volumes"))
	return entry("template", entry("spec", pod))
}

// script is the text with the extension in a ConfigMap or its generator; nil if there is
// none.
func script(n *yaml.Node) *yaml.Node {
	if text := find(n, "data", deploy.UIFile); text != nil {
		return text
	}
	if literals := lookUp(n, "literals"); literals != nil {
		for _, text := range literals.Content {
			if strings.HasPrefix(text.Value, uiPrefix) {
				return text
			}
		}
	}
	return nil
}

// setScript writes the extension of this version over another one. A ConfigMap that has the
// script from elsewhere stays as it is.
func (m *merger) setScript(old, add *yaml.Node) {
	text, want := script(old), script(add)
	if text == nil || text.Value == want.Value {
		return
	}
	line := m.lines.At(text.Line - 1)
	indent := len(line) - len(strings.TrimLeft(line, " "))
	block := textedit.Indent(textedit.MustEncode(want), indent)
	m.replace(m.offset(text), m.end(text.Line, indent, false), strings.TrimLeft(block, " "))
}

// isScript reports whether two texts are the extension in the generator of a ConfigMap.
func isScript(before, after any) bool {
	a, _ := before.(string)
	b, _ := after.(string)
	return strings.HasPrefix(a, uiPrefix) && strings.HasPrefix(b, uiPrefix)
}
