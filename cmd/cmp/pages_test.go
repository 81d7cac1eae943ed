package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/plugin"
)

var fenced = regexp.MustCompile("(?ms)^```.*?^```$")

// anchors are the places of a page that links can lead to, as code hosts make
// them of its headings.
func anchors(text string) []string {
	var all []string
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(m[1]))
		for again, first := 1, name; slices.Contains(all, name); again++ {
			name = fmt.Sprint(first, "-", again)
		}
		all = append(all, name)
	}
	return all
}

// TestPages makes sure that docs/README.md leads to every page, that links
// between documents lead somewhere, and that the tests they name are there.
func TestPages(t *testing.T) {
	docs := documents(t)
	const index = "docs/README.md"
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	image := regexp.MustCompile(`<img [^>]*src="([^"]+)"`)
	testName := regexp.MustCompile("`(Test[A-Z]\\w*)`")
	tests := testsOfProject(t)
	listed := map[string]bool{index: true, "README.md": true}
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range slices.Concat(link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1),
			image.FindAllStringSubmatch(string(text), -1)) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			target := doc
			if to != "" {
				target = path.Join(path.Dir(doc), to)
			}
			if doc == index {
				listed[target] = true
			}
			found, err := os.Stat(target)
			switch {
			case err != nil:
				t.Errorf("%s: the link %s leads nowhere", doc, m[1])
			case anchor != "" && !found.IsDir():
				there, err := os.ReadFile(target)
				if err != nil || !slices.Contains(anchors(string(there)), anchor) {
					t.Errorf("%s: the link %s leads to no heading", doc, m[1])
				}
			}
		}
		for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
			if !tests[m[1]] {
				t.Errorf("%s: there is no test %s", doc, m[1])
			}
		}
	}
	for _, doc := range docs {
		if !listed[doc] {
			t.Errorf("%s does not lead to %s", index, doc)
		}
	}
}

// testsOfProject are the names of all tests, of every module.
func testsOfProject(t *testing.T) map[string]bool {
	t.Helper()
	name := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	all := map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, "_test.go") && !strings.HasPrefix(p, "conformance/suite/") || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// walked are the pages whose commands are run one after the other, in a folder
// of their own.
var walked = []string{"docs/getting-started.md", "docs/migration.md", guides}

// guides is the page about other tools.
const guides = "docs/guides.md"

// TestWalks does what such a page tells a reader to do: it writes the files whose
// names stand in front of their text, runs the commands, and compares what they
// print.
func TestWalks(t *testing.T) {
	for _, page := range walked {
		t.Run(strings.TrimSuffix(path.Base(page), ".md"), func(t *testing.T) {
			if files, ran := walk(t, "../../"+page); files < 2 || ran < 5 {
				t.Errorf("only %d files and %d commands were found", files, ran)
			}
		})
	}
}

// walk returns how many files and commands there are on a page.
func walk(t *testing.T, page string) (files, ran int) {
	t.Helper()
	page, err := filepath.Abs(page)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir(".git", 0o755); err != nil { // the repository begins here
		t.Fatal(err)
	}
	part := regexp.MustCompile("(?s)\n`([^`\n]+)`:\n\n```\\w+\n(.*?)```|```console\n(.*?)```")
	for _, m := range part.FindAllStringSubmatch(string(text), -1) {
		if m[1] != "" {
			files++
			if err := os.MkdirAll(filepath.Dir(m[1]), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(m[1], []byte(m[2]), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for block := range strings.SplitSeq("\n"+m[3], "\n$ ") {
			if strings.TrimSpace(block) == "" {
				continue
			}
			ran++
			line, want, _ := strings.Cut(block, "\n")
			want = strings.TrimSuffix(want, "\n")
			var shown, written bytes.Buffer
			args, file, redirected := strings.Cut(line, " > ")
			to := cli.Streams{In: strings.NewReader(""), Out: &shown, Err: &shown}
			if redirected {
				to.Out = &written
			}
			words := strings.Fields(args)
			program := exec.Command(words[0], words[1:]...)
			program.Stdout, program.Stderr = to.Out, to.Err
			if words[0] == "cmp" {
				run(words[1:], to)
			} else if err := program.Run(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, shown.String())
			}
			if redirected {
				if err := os.WriteFile(file, written.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got := strings.TrimSuffix(shown.String(), "\n")
			if !asShownIn(want).MatchString(got) {
				t.Errorf("%s prints\n%s\nnot\n%s", line, got, want)
			}
		}
	}
	return files, ran
}

// TestPluginsInGuides reads the sources with the plugin that guides show as the plugin
// does: their parameters and variables exist.
func TestPluginsInGuides(t *testing.T) {
	text, err := os.ReadFile("../../" + guides)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	seen := 0
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(m[1], "{{ .Values") {
			continue // a template
		}
		var doc any
		if err := yaml.Unmarshal([]byte(m[1]), &doc); err != nil {
			t.Errorf("%s: %v in\n%s", guides, err, m[1])
		}
		for _, p := range pluginsIn(doc) {
			seen++
			env, err := environmentOf(p)
			if err == nil {
				_, err = plugin.FromEnvironment(os.DirFS("."), ".", env)
			}
			if err != nil || p["name"] != plugin.Name {
				t.Errorf("%s: %v: %v", guides, p, err)
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d sources were found", seen)
	}
}

// pluginsIn finds the mappings called plugin that name one.
func pluginsIn(v any) (all []map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			all = append(all, pluginsIn(item)...)
		}
	case map[string]any:
		for key, value := range v {
			if p, ok := value.(map[string]any); ok && key == "plugin" && p["spec"] == nil && p["tag"] == nil {
				all = append(all, p)
			}
			all = append(all, pluginsIn(value)...)
		}
	}
	return all
}

// environmentOf is what Argo CD passes to a plugin of a source.
func environmentOf(p map[string]any) (map[string]string, error) {
	parameters, err := json.Marshal(p["parameters"])
	env := map[string]string{"ARGOCD_APP_NAME": "shop", "ARGOCD_APP_PARAMETERS": string(parameters)}
	variables, _ := p["env"].([]any)
	for _, v := range variables {
		entry := v.(map[string]any)
		env["ARGOCD_ENV_"+entry["name"].(string)] = fmt.Sprint(entry["value"])
	}
	return env, err
}

// asShownIn matches what a document shows, where a line "..." stands for any
// number of lines.
func asShownIn(text string) *regexp.Regexp {
	parts := strings.Split(text, "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$")
}
