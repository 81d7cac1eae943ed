package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// aliased are ConfigMaps, each with a text of so many bytes and so many aliases to it.
func aliased(objects, size, aliases int) string {
	var b strings.Builder
	for i := range objects {
		b.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a" + strings.Repeat("a", i) + "}\ndata:\n  t: &t " + strings.Repeat("x", size) + "\n")
		for j := range aliases {
			b.WriteString("  k" + strings.Repeat("k", j) + ": *t\n")
		}
	}
	return b.String()
}

// TestAnswersWithAliases: what reads an answer follows its aliases, and so they count: in
// a document, and in an answer of many.
func TestAnswersWithAliases(t *testing.T) {
	s := serve(t, "LADDER_SERVE_MAX_ANSWER_BYTES=4000000")
	ask := func(text string) error {
		_, err := s.GenerateManifest(t.Context(), sidecartest.Request{Archive: sidecartest.PackEntries(files("app/a.yaml", text)...), Dir: "app", Env: map[string]string{"ARGOCD_APP_NAME": "app"}})
		return err
	}
	if err := ask(aliased(1, 1<<20, 300)); err == nil || !strings.Contains(err.Error(), "aliases expand to more than 32 MiB") {
		t.Errorf("a document: %.300v", err)
	}
	err := ask(aliased(10, 50_000, 10))
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "app: the manifests are 5") || !strings.Contains(err.Error(), "--max-answer-bytes") {
		t.Errorf("an answer: %.300v", err)
	}
	if err := ask(aliased(10, 50_000, 2)); err != nil {
		t.Errorf("few aliases: %.300v", err)
	}
}

// TestWritesThroughNoLink: where cmp writes a file, a symlink in its place goes, and what
// it leads to stays.
func TestWritesThroughNoLink(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	c := &ciCheckout{t: t, dir: dir, env: os.Environ()}
	component, err := filepath.Abs("../../testdata/components/shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ladder.html", "cmp.1"} {
		if err := os.WriteFile(victim, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("victim", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if out, code := c.run("cmp", "report", component, "-o", "ladder.html"); code != 0 {
		t.Fatal(out)
	}
	if out, code := c.run("cmp", "man", dir); code != 0 {
		t.Fatal(out)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "kept" {
		t.Errorf("what the links lead to is %.100q, %v", text, err)
	}
	for _, name := range []string{"ladder.html", "cmp.1"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if out, code := c.run("cmp", "report", component, "-o", "/dev/stdout"); code != 0 || !strings.Contains(out, "<html") {
		t.Errorf("%d: %.200s", code, out)
	}
}
