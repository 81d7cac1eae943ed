package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
)

var update = flag.Bool("update", false, "rewrite what is wanted")

// TestSources renders the component repo/app of each file of testdata/sources.
// What lies elsewhere is said in lines at its top, such as
//
//	git https://github.com/org/repo v1 = base
//
// where base is a directory of the file, or a file in it; other lines are prose.
// "offline" means that nothing may be fetched. A file whose text is "-> target" is
// a symlink. What comes out is want.yaml, and faults and warnings are want.txt.
func TestSources(t *testing.T) {
	files, err := filepath.Glob("testdata/sources/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			repo, want := fstest.MapFS{}, map[string]string{}
			elsewhere := elsewhere{files: fstest.MapFS{}, by: map[remote.Ref]string{}}
			for _, f := range a.Files {
				entry := &fstest.MapFile{Data: f.Data, Mode: 0o644}
				if target, link := strings.CutPrefix(string(f.Data), "-> "); link {
					entry = &fstest.MapFile{Data: []byte(strings.TrimSpace(target)), Mode: 0o644 | fs.ModeSymlink}
				}
				switch name, ours := strings.CutPrefix(f.Name, "repo/"); {
				case ours:
					repo[name] = entry
				case strings.HasPrefix(f.Name, "want."):
					want[f.Name] = string(f.Data)
				default:
					elsewhere.files[f.Name] = entry
				}
			}
			opt := Options{Name: "app", Namespace: "app-space", Remote: elsewhere}
			for line := range strings.Lines(string(a.Comment)) {
				elsewhere.learn(t, line)
				if strings.TrimSpace(line) == "offline" {
					opt.Remote = nil
				}
				if kind, ok := strings.CutPrefix(line, "renderer: "); ok {
					opt.Kind = Kind(strings.TrimSpace(kind))
				}
			}
			res, err := Dir(t.Context(), repo, "app", opt)
			got := map[string]string{}
			for _, o := range res.Objects {
				got["want.yaml"] += "---\n" + o.Text()
			}
			for _, f := range append(finding.Of(err), res.Findings...) {
				got["want.txt"] += fmt.Sprintf("%s %s: %s\n", f.Severity, f.Rule, f.Error())
			}
			if *update {
				a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "want.") })
				for _, name := range slices.Sorted(maps.Keys(got)) {
					a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(got[name])})
				}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// elsewhere has what lies outside of the repository.
type elsewhere struct {
	files fstest.MapFS
	by    map[remote.Ref]string
}

// learn reads a line such as "chart oci://example.com/charts keda 2.0.0 = keda".
func (e elsewhere) learn(t *testing.T, line string) {
	words := strings.Fields(line)
	if len(words) < 4 || words[len(words)-2] != "=" {
		return
	}
	ref := remote.Ref{Kind: remote.Kind(words[0]), URL: words[1]}
	rest := words[2 : len(words)-2]
	if ref.Kind == remote.Chart {
		ref.Chart, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 {
		ref.Version = rest[0]
	}
	e.by[ref] = words[len(words)-1]
}

func (e elsewhere) Fetch(_ context.Context, ref remote.Ref) (remote.Content, error) {
	name, known := e.by[ref]
	if !known {
		return remote.Content{}, finding.Finding{Severity: finding.Error, Rule: "not-found", Message: ref.String() + " is not there",
			Remedy: "correct the address"}
	}
	c := remote.Content{Version: ref.Version}
	if ref.Kind == remote.File {
		c.Data = e.files[name].Data
	} else {
		packed, err := packDir(e.files, name)
		if err != nil {
			return c, err
		}
		c.Data = packed
	}
	if strings.HasPrefix(name, "old") {
		c.Warning = ref.String() + " is taken from the cache, since its source is down"
	}
	return c, nil
}

// packDir packs the files below a directory. Those of charts lie in a directory
// more.
func packDir(files fstest.MapFS, dir string) ([]byte, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		inside, ok := strings.CutPrefix(name, dir+"/")
		if !ok {
			continue
		}
		f := files[name]
		h := &tar.Header{Name: inside, Mode: 0o644, Size: int64(len(f.Data))}
		if f.Mode&fs.ModeSymlink != 0 {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, string(f.Data), 0
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if h.Size > 0 {
			if _, err := w.Write(f.Data); err != nil {
				return nil, err
			}
		}
	}
	err := errors.Join(w.Close(), z.Close())
	return packed.Bytes(), err
}
