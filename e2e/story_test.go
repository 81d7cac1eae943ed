package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/double"
)

// story is something that is deployed: a component that the plugin renders, or
// manifests that are plain YAML.
type story struct {
	// name is the name of the case, of its Application and repository, and of the
	// namespace unless namespace is set.
	name, namespace string
	// files is what the repository contains, and path the component in it.
	files map[string]string
	path  string
	// plugin is false for plain manifests, whose waves are those in the files.
	plugin bool
	source argocd.Source // parameters of the plugin
	// world is what is in the cluster before the sync, such as operators of other
	// components.
	world []*unstructured.Unstructured
	// ready is what it renders to, where that is known already.
	ready []*unstructured.Unstructured
	// beside are objects of other components of its repository that are deployed at the same time.
	beside []*unstructured.Unstructured
	// brings is a definition that the story's operator makes when it runs.
	brings *unstructured.Unstructured
	// scenario is what no manifest shows.
	scenario double.Scenario
}

const syncWave = "argocd.argoproj.io/sync-wave"

// component reads a folder as a component that the plugin renders. NAMESPACE in
// it stands for the namespace of the case.
func component(name, dir string) (story, error) {
	files, err := argocd.Files(dir, "component/")
	if err != nil {
		return story{}, err
	}
	for file, text := range files {
		files[file] = strings.ReplaceAll(text, "NAMESPACE", name)
	}
	s := story{name: name, namespace: name, files: files, path: "component", plugin: true}
	if s.scenario, err = readScenario(filepath.Base(dir)); err != nil {
		return story{}, err
	}
	world := filepath.Join("testdata", "worlds", filepath.Base(dir)+".yaml")
	if text, err := os.ReadFile(world); err == nil {
		s.world, err = objects(string(text))
		if err != nil {
			return story{}, fmt.Errorf("%s: %w", world, err)
		}
	}
	return s, nil
}

// manifests is a story of plain manifests in a namespace.
func manifests(name, namespace, text string) story {
	return story{name: name, namespace: namespace, files: map[string]string{"component/all.yaml": text}, path: "component"}
}

// with sets a parameter of the plugin.
func (s story) with(parameter, value string) story {
	s.source.Parameters = maps.Clone(s.source.Parameters)
	if s.source.Parameters == nil {
		s.source.Parameters = map[string]string{}
	}
	s.source.Parameters[parameter] = value
	return s
}

// application is the Application of a story, from its repository.
func (s story) application(repo *argocd.Repository) argocd.Application {
	source := s.source
	source.RepoURL, source.Path, source.Plugin = repo.URL(), s.path, s.plugin
	return argocd.Application{Name: s.name, Namespace: s.namespace, Sources: []argocd.Source{source}}
}

// rendered is what the plugin makes of a story, or the manifests that it has.
func (s story) rendered(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if s.ready != nil {
		return s.ready, nil
	}
	if !s.plugin {
		var all []*unstructured.Unstructured
		for _, name := range slices.Sorted(maps.Keys(s.files)) {
			objs, err := objects(s.files[name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, objs...)
		}
		return all, nil
	}
	dir, err := os.MkdirTemp(here.dir, "rendered-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for name, text := range s.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	args := []string{"render", filepath.Join(dir, s.path), "--name", s.name, "--namespace", s.namespace}
	for name, value := range s.source.Parameters {
		args = append(args, "--"+name, value)
	}
	for key, value := range s.source.Set {
		args = append(args, "--set", key+"="+value)
	}
	text, err := program(ctx, "", args...)
	if err != nil {
		return nil, err
	}
	return objects(text)
}

// program runs the program under test and returns its output. Errors in a report are not
// an error of program.
func program(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, here.bin.Cmp, args...)
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &stderr
	err := cmd.Run()
	if err != nil && !(args[0] == "check" && out.Len() > 0) {
		return "", fmt.Errorf("cmp %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out.String(), nil
}

// objects reads a stream of manifests.
func objects(text string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(obj.Object) > 0 {
			all = append(all, obj)
		}
	}
}

// stream writes manifests as one text.
func stream(objs []*unstructured.Unstructured) (string, error) {
	var b strings.Builder
	for _, obj := range objs {
		text, err := obj.MarshalJSON()
		if err != nil {
			return "", err
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.String(), nil
}

// waveOf reads the wave of an object as Argo CD does: the annotation, or else
// Helm's weight, or else 0.
func waveOf(obj *unstructured.Unstructured) int {
	for _, key := range []string{syncWave, "helm.sh/hook-weight"} {
		if wave, err := strconv.Atoi(obj.GetAnnotations()[key]); err == nil {
			return wave
		}
	}
	return 0
}

// waves counts the waves of the Sync phase.
func waves(objs []*unstructured.Unstructured) int {
	seen := map[int]bool{}
	for _, obj := range objs {
		if phaseOf(obj) == 0 {
			seen[waveOf(obj)] = true
		}
	}
	return len(seen)
}

var hookTypes = []struct {
	phase int
	names *regexp.Regexp
}{
	{-1, regexp.MustCompile(`\b(PreSync|pre-install|pre-upgrade)\b`)},
	{0, regexp.MustCompile(`\bSync\b`)},
	{1, regexp.MustCompile(`\b(PostSync|post-install|post-upgrade)\b`)},
}

// notApplied is the phase of objects that no sync applies.
const notApplied = 2

// phaseOf is the first phase of a sync in which an object is applied.
func phaseOf(obj *unstructured.Unstructured) int {
	hook := obj.GetAnnotations()["argocd.argoproj.io/hook"]
	if hook == "" {
		hook = obj.GetAnnotations()["helm.sh/hook"]
	}
	if hook == "" || hook == "crd-install" {
		return 0
	}
	for _, t := range hookTypes {
		if t.names.MatchString(hook) {
			return t.phase
		}
	}
	return notApplied
}

// isHook reports whether an object is not part of the Application.
func isHook(obj *unstructured.Unstructured) bool {
	a := obj.GetAnnotations()
	return a["argocd.argoproj.io/hook"] != "" || a["helm.sh/hook"] != "" && a["helm.sh/hook"] != "crd-install"
}

func isDefinition(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// identity names an object as reports of the program do.
func identity(gk schema.GroupKind, namespace, name string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return gk.String() + " " + name
}
