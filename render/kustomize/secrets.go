package kustomize

import (
	"path"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
)

// hidden returns the texts that no message may show: contents of Secrets, by their position
// in the files that kustomize read, and what the parameters set.
func (a *assembly) hidden() input.Hidden {
	s := secrets{files: map[string]bool{}, left: maxContents}
	for _, f := range a.read {
		if IsFile(path.Base(f.name)) {
			docs, _ := object.Documents(string(f.data)) // none if it is not YAML
			for _, doc := range docs {
				s.kustomization(object.ValueOf(doc), path.Dir(f.name))
			}
		}
	}
	for _, f := range a.read {
		switch docs, _ := object.Documents(string(f.data)); {
		case s.files[f.name]:
			s.Add(string(f.data))
		case IsFile(path.Base(f.name)):
		default:
			for _, doc := range docs {
				s.object(object.ValueOf(doc), false)
			}
		}
	}
	e := a.component.opt.Edits
	for _, patch := range e.Patches {
		s.patch(patch, true)
	}
	for _, pairs := range []map[string]string{e.CommonLabels, e.CommonAnnotations} {
		for _, value := range pairs {
			s.Add(value)
		}
	}
	return s.Hidden
}

// secrets collects the contents of Secrets, and the files that become their contents.
type secrets struct {
	input.Hidden
	files map[string]bool
	// left is how many more values are read: aliases may multiply them.
	left int
}

const maxContents = 100_000

// kustomization reads the generators and patches of a kustomization.
func (s *secrets) kustomization(k object.Value, dir string) {
	for _, g := range k.Get("secretGenerator").Items() {
		for _, key := range []string{"literals", "files", "envs"} {
			for _, item := range g.Get(key).Items() {
				if key == "literals" {
					s.Add(item.Text())
					continue
				}
				_, file, isPair := strings.Cut(item.Text(), "=")
				if !isPair {
					file = item.Text()
				}
				s.files[path.Join(dir, file)] = true
			}
		}
		s.files[path.Join(dir, g.Get("env").Text())] = true
	}
	for _, p := range k.Get("patches").Items() {
		s.patch(p.Get("patch").Text(), p.Get("target", "kind").Text() == "Secret")
		if p.Get("target", "kind").Text() == "Secret" {
			s.files[path.Join(dir, p.Get("path").Text())] = true
		}
	}
	for _, key := range []string{"patchesStrategicMerge", "patchesJson6902"} {
		for _, p := range k.Get(key).Items() {
			s.patch(p.Text()+p.Get("patch").Text(), p.Get("target", "kind").Text() == "Secret")
		}
	}
}

// patch reads the text of a patch. If all of it is hidden, only its structure is not.
func (s *secrets) patch(text string, all bool) {
	docs, _ := object.Documents(text)
	for _, doc := range docs {
		s.object(object.ValueOf(doc), all)
	}
	if all && len(docs) == 0 || all && slices.ContainsFunc(docs, func(doc *yaml.Node) bool { return doc.Kind == yaml.ScalarNode }) {
		s.Add(text)
	}
	for line := range strings.Lines(text) {
		if _, comment, found := strings.Cut(line, "#"); all && found {
			s.Add(comment)
		}
	}
}

// identifyingKeys are the keys whose values identify an object or an operation of a JSON
// patch in a message.
var identifyingKeys = []string{"apiVersion", "kind", "metadata", "path", "from"}

// operations are the operations of JSON patches.
var operations = []string{"add", "remove", "replace", "move", "copy", "test"}

// object reads a manifest or a patch, and everything of it if all is set. An object without
// a kind may be meant as a Secret.
func (s *secrets) object(v object.Value, all bool) {
	if s.left--; s.left < 0 {
		return
	}
	for _, item := range append(v.Items(), v.Get("items").Items()...) {
		p := item.Get("path").Text()
		s.object(item, all || strings.HasPrefix(p, "/data") || strings.HasPrefix(p, "/stringData"))
	}
	kind := v.Get("kind").Text()
	for _, e := range v.Fields() {
		switch secret := e.Key == "stringData" || e.Key == "data" && (kind == "Secret" || kind == ""); {
		case slices.Contains(identifyingKeys, e.Key), e.Key == "op" && slices.Contains(operations, e.Value.Text()):
		case secret, all, kind == "Secret" && e.Key != "type":
			s.scalars(e.Value)
		}
	}
}

// scalars adds everything in a value.
func (s *secrets) scalars(v object.Value) {
	if s.left--; s.left < 0 {
		return
	}
	for _, item := range v.Items() {
		s.scalars(item)
	}
	for _, e := range v.Fields() {
		s.scalars(e.Value)
	}
	if text := v.Text(); text != "" {
		s.Add(text)
	}
}
