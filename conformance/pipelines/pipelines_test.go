// Package pipelines runs the examples of docs/pipelines.md with the real Helm 3,
// Helm 4 and kustomize, each built from its module.
package pipelines

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"
)

// The tools, at the versions that the examples were written with.
var tools = map[string]string{
	"helm3":     "helm.sh/helm/v3/cmd/helm@v3.22.0",
	"helm4":     "helm.sh/helm/v4/cmd/helm@v4.2.4",
	"kustomize": "sigs.k8s.io/kustomize/kustomize/v5@v5.8.1",
}

// root is the repository, and bin the directory with a folder for each tool.
var root, bin string

func TestMain(m *testing.M) {
	code, err := func() (int, error) {
		var err error
		if root, err = filepath.Abs("../.."); err != nil {
			return 1, err
		}
		if bin, err = os.MkdirTemp("", "pipelines"); err != nil {
			return 1, err
		}
		defer os.RemoveAll(bin)
		if err := run(root, nil, nil, "go", "build", "-o", filepath.Join(bin, "ladder", "cmp"), "./cmd/cmp"); err != nil {
			return 1, err
		}
		for name, pkg := range tools {
			env := append(os.Environ(), "GOBIN="+filepath.Join(bin, name), "GOFLAGS=")
			if err := run(root, env, nil, "go", "install", pkg); err != nil {
				return 1, err
			}
		}
		return m.Run(), nil
	}()
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
	}
	os.Exit(code)
}

// run runs a program, whose error is what it says.
func run(dir string, env []string, out io.Writer, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	var faults bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, out, &faults
	if err := cmd.Run(); err != nil {
		return errors.New(strings.Join(cmd.Args, " ") + ": " + err.Error() + "\n" + faults.String())
	}
	return nil
}

// example is a section of the document: its files and its commands.
type example struct {
	files    map[string]string
	commands string
}

var block = regexp.MustCompile("(?s)```(yaml|sh)\n(?:# ([^\n]+)\n)?(.*?)```")

// examples are those of the document, by the titles of their sections.
func examples(t *testing.T) map[string]example {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/pipelines.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]example{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		e := example{files: map[string]string{}}
		for _, m := range block.FindAllStringSubmatch(body, -1) {
			if m[1] == "sh" {
				e.commands += m[3]
			} else {
				e.files[m[2]] = m[3]
			}
		}
		all[title] = e
	}
	return all
}

// shell runs commands in a directory where the chart and the base of the examples
// lie, with one tool in the PATH.
func shell(t *testing.T, tool string, e example, commands string) string {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{"testdata/components/shop": "chart", "testdata/components/bookshelf": "base"} {
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(filepath.Join(root, from))); err != nil {
			t.Fatal(err)
		}
	}
	// Without a test of its own the base has nothing to wait for, and so no waves.
	files := maps.Clone(e.files)
	if files == nil {
		files = map[string]string{}
	}
	kustomization, err := os.ReadFile(filepath.Join(dir, "base", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files["base/smoke.yaml"] = "{apiVersion: batch/v1, kind: Job, metadata: {name: smoke}, " +
		"spec: {template: {spec: {restartPolicy: Never, containers: [{name: ask, image: registry.example.com/ask:v1}]}}}}\n"
	files["base/kustomization.yaml"] = strings.Replace(string(kustomization), "resources:\n", "resources:\n- smoke.yaml\n", 1)
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	env := append(os.Environ(), "PATH="+filepath.Join(bin, "ladder")+":"+filepath.Join(bin, tool)+":"+os.Getenv("PATH"),
		"HOME="+home, "LADDER="+root,
		"XDG_DATA_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_CONFIG_HOME="+home)
	var out bytes.Buffer
	if err := run(dir, env, &out, "bash", "-e", "-o", "pipefail", "-c", commands); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// waves are the sync waves in a stream of manifests, by kind and name; empty for
// what has none.
func waves(t *testing.T, text string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o struct {
			Kind     string
			Metadata struct {
				Name        string
				Annotations map[string]string
			}
		}
		err := dec.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if o.Kind != "" {
			all[o.Kind+"/"+o.Metadata.Name] = o.Metadata.Annotations["argocd.argoproj.io/sync-wave"]
		}
	}
}

// TestExamples runs the examples. Each must put the same waves on the manifests as
// cmp render - does on what the tool alone prints.
func TestExamples(t *testing.T) {
	documented := examples(t)
	for _, c := range []struct{ title, tool, same string }{
		{"Any tool", "kustomize", "kustomize build ./base | cmp render - --namespace shop"},
		// Helm 3 shows its hooks to no post-renderer.
		{"Helm 3", "helm3", "helm template shop ./chart --namespace shop --no-hooks | cmp render - --namespace shop"},
		{"Helm 4", "helm4", "helm template shop ./chart --namespace shop | cmp render - --namespace shop --waves compact"},
	} {
		t.Run(c.title, func(t *testing.T) {
			e, there := documented[c.title]
			if !there || e.commands == "" {
				t.Fatalf("docs/pipelines.md has no example %q", c.title)
			}
			commands := e.commands
			if before, last, found := strings.Cut(strings.TrimSpace(commands), "\n"); found {
				commands = before + " >/dev/null\n" + last // installs something first
			}
			got, want := waves(t, shell(t, c.tool, e, commands)), waves(t, shell(t, c.tool, example{}, c.same))
			if c.title == "Helm 3" {
				maps.DeleteFunc(got, func(name, _ string) bool { _, there := want[name]; return !there })
			}
			if !maps.Equal(got, want) {
				t.Errorf("the waves are\n%v\nnot\n%v", got, want)
			}
			given := slices.DeleteFunc(slices.Collect(maps.Values(got)), func(wave string) bool { return wave == "" })
			if slices.Sort(given); len(slices.Compact(given)) < 2 {
				t.Errorf("there is nothing to see in %v", got)
			}
		})
	}
}

// TestFaults: what cannot be ordered stops the tools.
func TestFaults(t *testing.T) {
	documented := examples(t)
	for title, says := range map[string]string{"Helm 3": `cmp: parameter waves: unknown value "few"`,
		"Helm 4": `post-renderer plugin "ladder"`} {
		commands := strings.TrimSpace(documented[title].commands)
		lines := strings.Split(commands, "\n")
		lines[len(lines)-1] = "! " + lines[len(lines)-1] + " --post-renderer-args --waves=few 2>&1"
		lines[len(lines)-1] = strings.Replace(lines[len(lines)-1], "! HELM_NAMESPACE=shop ", "export HELM_NAMESPACE=shop; ! ", 1)
		out := shell(t, strings.ToLower(strings.ReplaceAll(title, " ", "")), documented[title], strings.Join(lines, "\n"))
		if !strings.Contains(out, says) {
			t.Errorf("%s says\n%s", title, out)
		}
	}
}
