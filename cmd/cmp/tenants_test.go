//go:build load

package main

import (
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
		b.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a" + strings.Repeat("a", i) + "}\ndata:\n  t: &t " +
			strings.Repeat("x", size) + "\n")
		for j := range aliases {
			b.WriteString("  k" + strings.Repeat("k", j) + ": *t\n")
		}
	}
	return b.String()
}

// TestAnswersWithAliases: what reads an answer follows its aliases, and so they count: in
// a document, and in an answer of many.
func TestAnswersWithAliases(t *testing.T) {
	s := startServe(t, "LADDER_SERVE_WORKER_MEMORY=2147483648") // what counts here is the text
	ask := func(text string) error {
		_, err := s.GenerateManifest(t.Context(), sidecartest.Request{Archive: sidecartest.PackEntries(files("app/a.yaml", text)...), Dir: "app",
			Env: map[string]string{"ARGOCD_APP_NAME": "app"}})
		return err
	}
	if err := ask(aliased(1, 1<<20, 300)); err == nil || !strings.Contains(err.Error(), "aliases expand to more than 32 MiB") {
		t.Errorf("a document: %.300v", err)
	}
	err := ask(aliased(10, 1_000_000, 10))
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "app: the manifests are 1") ||
		!strings.Contains(err.Error(), "the limit is 94371840") {
		t.Errorf("an answer: %.300v", err)
	}
	if err := ask(aliased(10, 50_000, 2)); err != nil {
		t.Errorf("few aliases: %.300v", err)
	}
}
