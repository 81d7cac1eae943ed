package real_test

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
	"slices"
	"strconv"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const waveAnnotation = "argocd.argoproj.io/sync-wave"

// manifests are the objects of a case in one of its ways.
type manifests []*unstructured.Unstructured

// write writes a component as it is in a team's repository, to a directory that stays, to
// help find out why a case failed.
func (c component) write(lab string, files map[string]string) (string, error) {
	dir := filepath.Join(shop.dir, lab, "components", c.name)
	return dir, write(dir, files)
}

func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// rendered is what the plugin makes of a component, with the waves of a way.
func (c component) rendered(ctx context.Context, dir string, w way) (manifests, error) {
	text, err := c.ask(ctx, "render", dir, "--waves", w.waves())
	if err != nil {
		return nil, err
	}
	m, err := parse(text)
	if err == nil && w == expert {
		c.number(m)
	}
	return m, err
}

// ask runs the program under test on a component.
func (c component) ask(ctx context.Context, verb, dir string, args ...string) ([]byte, error) {
	return run(ctx, append([]string{verb, dir, "--name", c.name, "--namespace", c.Namespace}, args...)...)
}

// settings are those of Argo CD: what is shipped, and the health checks of a case that asks
// for them.
func (c component) settings(ctx context.Context, dir string) (map[string]string, error) {
	if !c.HealthChecks {
		return shop.health, nil
	}
	text, err := c.ask(ctx, "health", dir)
	if err != nil {
		return nil, err
	}
	m, err := parse(text)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(shop.health)
	for _, obj := range m {
		data, _, err := unstructured.NestedStringMap(obj.Object, "data")
		if err != nil {
			return nil, err
		}
		maps.Copy(all, data)
	}
	return all, nil
}

// run runs the program under test.
func run(ctx context.Context, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, shop.argocd.Cmp, args...)
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", cmd, err, stderr.String())
	}
	return text, nil
}

func parse(text []byte) (manifests, error) {
	var m manifests
	for docs := kubeyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		obj := &unstructured.Unstructured{}
		if err := docs.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return m, nil
		} else if err != nil {
			return nil, err
		}
		if len(obj.Object) > 0 {
			m = append(m, obj)
		}
	}
}

// number writes the expert's waves.
func (c component) number(m manifests) {
	for _, obj := range m {
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[waveAnnotation] = strconv.Itoa(c.order(obj.GetKind(), obj.GetName()))
		obj.SetAnnotations(annotations)
	}
}

// files are the manifests as a team would commit them.
func (m manifests) files() (map[string]string, error) {
	var all bytes.Buffer
	for _, obj := range m {
		text, err := yaml.Marshal(obj.Object)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&all, "---\n%s", text)
	}
	return map[string]string{"manifests.yaml": all.String()}, nil
}

// waves counts the waves.
func (m manifests) waves() int {
	seen := map[string]bool{}
	for _, obj := range m {
		wave := obj.GetAnnotations()[waveAnnotation]
		if wave == "" {
			wave = "0"
		}
		seen[wave] = true
	}
	return len(seen)
}

// images are the repositories that manifests name, in Pods and in custom resources of
// which operators make Pods.
func (m manifests) images() []string {
	seen := map[string]bool{}
	var visit func(key string, value any)
	visit = func(key string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, child := range v {
				visit(key, child)
			}
		case []any:
			for _, child := range v {
				visit("", child)
			}
		case string:
			if ref, err := name.ParseReference(v); key == "image" && err == nil {
				seen[ref.Context().Name()] = true
			}
		}
	}
	for _, obj := range m {
		if obj.GetKind() != "CustomResourceDefinition" {
			visit("", obj.Object)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
