package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	yaml "go.yaml.in/yaml/v3"
)

// chartRepository serves a folder as a chart repository: each directory in it is a
// chart, called NAME-VERSION, and any other file is a file. What is there, it finds
// out with each request.
func chartRepository(dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "index.yaml" {
			index, err := indexOf(dir)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Write(index)
			return
		}
		if chart, packed := strings.CutSuffix(name, ".tgz"); packed && filepath.IsLocal(chart) {
			if tgz, err := packChart(filepath.Join(dir, chart)); err == nil {
				w.Write(tgz)
				return
			}
		}
		http.ServeFileFS(w, r, os.DirFS(dir), name)
	})
}

func indexOf(dir string) ([]byte, error) {
	charts, err := filepath.Glob(filepath.Join(dir, "*", "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	entries := map[string][]map[string]any{}
	for _, file := range charts {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		about := map[string]any{}
		if err := yaml.Unmarshal(text, &about); err != nil {
			return nil, err
		}
		about["urls"] = []string{filepath.Base(filepath.Dir(file)) + ".tgz"}
		name, _ := about["name"].(string)
		entries[name] = append(entries[name], about)
	}
	return yaml.Marshal(map[string]any{"apiVersion": "v1", "entries": entries})
}

// packChart packs a chart, the same each time.
func packChart(dir string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	var about struct{ Name string }
	if err := yaml.Unmarshal(text, &about); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: about.Name + "/" + filepath.ToSlash(rel), Mode: 0o644, Size: int64(len(data)),
			Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = io.Copy(w, bytes.NewReader(data))
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// withRepository serves the folder charts of a script as a chart repository at $REPO:
// without TLS at $HOST. The script's directory is a git repository, unless it removes .git.
func withRepository(env *testscript.Env) error {
	server := httptest.NewServer(chartRepository(filepath.Join(env.WorkDir, "charts")))
	env.Defer(server.Close)
	fleets, err := filepath.Abs("../../testdata/fleets")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(env.WorkDir, ".git"), 0o755); err != nil {
		return err
	}
	env.Setenv("FLEETS", fleets)
	env.Setenv("REPO", server.URL)
	env.Setenv("HOST", strings.TrimPrefix(server.URL, "http://"))
	env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
	return nil
}

// fill is the command "fill FILE...": it puts the address of the chart repository in
// for $REPO in files of the script.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: fill FILE...")
	}
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "$REPO", ts.Getenv("REPO"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}
