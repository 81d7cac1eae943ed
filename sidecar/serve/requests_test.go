package serve

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/render/random"
	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// kindOfRequest is what the commit of a request changes, compared with the one before.
type kindOfRequest string

const (
	cold     kindOfRequest = "cold" // for a server without caches
	warm     kindOfRequest = "warm" // nothing of the component
	value    kindOfRequest = "value"
	template kindOfRequest = "template"
	switches kindOfRequest = "switches" // all values that are true or false
)

// component is one in a repository, which changes by commits.
type component struct {
	files           map[string]string
	value, template string // the files that change
}

// readComponent reads a component from testdata of the repository, which is above the current
// directory in tests, and in it for bench/count.
func readComponent(t testing.TB, dir string) component {
	t.Helper()
	root := filepath.Join("testdata", dir)
	if _, err := os.Stat(root); err != nil {
		root = filepath.Join("..", "..", root)
	}
	c := component{files: map[string]string{}}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(root), name)
		c.files["app/"+name] = string(text)
		isValues := name == "values.yaml" && aNumber.Match(text)
		if isYAML := strings.Contains(filepath.Ext(name), "yaml"); isValues && c.value == "" {
			c.value = "app/" + name
		} else if isYAML && strings.Contains(string(text), "kind:") && !strings.Contains(name, "crds/") && c.template == "" {
			c.template = "app/" + name
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// aNumber is a value that a commit changes.
var aNumber = regexp.MustCompile(`(?m): (\d+)$`)

// commit returns the repository as another commit has it.
func (c component) commit(number int, kind kindOfRequest) sidecartest.Archive {
	files := []sidecartest.Entry{sidecartest.File("news", fmt.Sprint(number))}
	for name, text := range c.files {
		switch {
		case kind == value && name == c.value:
			at := aNumber.FindStringSubmatchIndex(text)
			text = text[:at[2]] + fmt.Sprint(number) + text[at[3]:]
		case kind == switches && name == c.value:
			text = strings.NewReplacer(": true", ": false", ": false", ": true").Replace(text)
		case kind == template && name == c.template:
			text += fmt.Sprintf("\n# Commit %d.\n", number)
		}
		files = append(files, sidecartest.File(name, text))
	}
	slices.SortFunc(files, func(a, b sidecartest.Entry) int { return strings.Compare(a.Name, b.Name) })
	return sidecartest.PackEntries(files...)
}

// serveInProcess starts a server whose tasks run in this process, with or without caches. Deriving
// keys takes as long as all the rest, so they are kept; package random tests that.
func serveInProcess(t testing.TB, caches bool, keys *random.Keys) func(sidecartest.Archive) ([]string, error) {
	t.Helper()
	base, err := flags.KnowledgeWith(nil)
	if err != nil {
		t.Fatal(err)
	}
	tasks := newTasks(base, caches, &libraryLines{})
	tasks.keys = keys
	config := CompleteConfig(sidecar.Config{Tasks: tasks}, slog.New(slog.DiscardHandler))
	config.Secret = func(map[string]string) []byte { return bytes.Repeat([]byte{1}, 32) }
	if caches {
		config.Cache = 64 << 20
	}
	dir, err := os.MkdirTemp("", "cmp") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "ladder.sock")
	lis, err := sidecar.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- sidecar.Serve(ctx, lis, config) }()
	client, err := sidecartest.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func(a sidecartest.Archive) ([]string, error) {
		return client.GenerateManifest(context.Background(), sidecartest.Request{Archive: a, Dir: "app", Chunk: 64 << 10,
			Env: map[string]string{"ARGOCD_APP_NAME": "rel", "ARGOCD_APP_NAMESPACE": "ns", "KUBE_VERSION": "1.34.0"}})
	}
}

// TestCachesChangeNothing makes sure that a server answers alike whatever it rendered before: the
// same component, or it with another value or template, or another one.
func TestCachesChangeNothing(t *testing.T) {
	t.Parallel()
	keys := random.NewKeys(100)
	withCaches, without := serveInProcess(t, true, keys), serveInProcess(t, false, keys)
	for _, parent := range []string{"components", "charts"} {
		entries, err := os.ReadDir(filepath.Join("..", "..", "testdata", parent))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			c := readComponent(t, filepath.Join(parent, e.Name()))
			for number, kind := range []kindOfRequest{warm, value, value, value, switches, template, switches, value, warm} {
				commit := c.commit(number, kind)
				want, wantErr := without(commit)
				got, gotErr := withCaches(commit)
				if !slices.Equal(got, want) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
					at := slices.IndexFunc(got, func(m string) bool { return !slices.Contains(want, m) })
					t.Errorf("%s, request %d, %s: %d manifests, want %d; the first other is number %d; error %v, want %v", e.Name(), number, kind,
						len(got), len(want), at+1, gotErr, wantErr)
				}
			}
		}
	}
}

// BenchmarkRequests makes requests of each kind. bench/count counts their instructions.
func BenchmarkRequests(b *testing.B) {
	for _, kind := range []kindOfRequest{cold, warm, value, template} {
		b.Run(string(kind), func(b *testing.B) {
			c, ask := readComponent(b, "components/shop"), serveInProcess(b, kind != cold, random.NewKeys(10))
			for number := range b.N {
				if _, err := ask(c.commit(number+1, kind)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
