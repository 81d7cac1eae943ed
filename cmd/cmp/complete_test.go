package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/locate"
)

// TestWithin makes sure that whoever has pressed the key is neither kept waiting
// nor told of faults.
func TestWithin(t *testing.T) {
	before := log.Writer()
	t.Cleanup(func() { log.SetOutput(before) })
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, f := range map[string]func(context.Context) (string, error){
		"too late": func(context.Context) (string, error) { select {} },
		"failed":   func(context.Context) (string, error) { return "half", errors.New("failed") },
		"a bug":    func(context.Context) (string, error) { panic("a bug") },
	} {
		ctx := t.Context()
		if name == "too late" {
			ctx = over
		}
		if got := withTimeout(ctx, f); got != "" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := withTimeout(t.Context(), func(context.Context) (string, error) { return "found", nil }); got != "found" {
		t.Errorf("got %q", got)
	}
}

// TestPlaces looks at directories that are special.
func TestPlaces(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"shop/Chart.yaml", "shop/templates/a.yaml", "apps/a/b/kustomization.yaml", "docs/a.md", ".git/config.yaml",
		".hidden/Chart.yaml", "tab\tbed/Chart.yaml", "with space/Chart.yaml"} {
		write(name)
	}
	for i := range locate.MaxEntries + 1 { // nobody knows what is below all of these
		write(fmt.Sprintf("vast/%d/a.md", i))
	}
	if err := os.Symlink("nowhere", "dangling"); err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]string{
		"":          "apps/, shop\thelm, vast/, with space\thelm",
		".h":        ".hidden\thelm",
		"./s":       "./shop\thelm",
		"apps/":     "apps/a/",
		"apps/a/b":  "apps/a/b\tkustomize",
		"nowhere/x": "",
	} {
		got, directive := completePaths(typed, locate.KindOf, false)
		slices.Sort(got)
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%q: got %q, want %q", typed, text, want)
		}
		leads := slices.ContainsFunc(got, func(c string) bool { return strings.HasSuffix(c, "/") })
		if open := directive&cobra.ShellCompDirectiveNoSpace != 0; open != leads {
			t.Errorf("%q: the word goes on: %t, want %t", typed, open, leads)
		}
	}
	write("component.yaml")
	if got, _ := completePaths("", locate.DescribedKindOf, false); !slices.Contains(got, ".\tcomponent") {
		t.Errorf("the working directory is not among %q", got)
	}
	// Only the shell knows what it made of a ~.
	t.Setenv("HOME", "/home/somebody")
	for _, typed := range []string{"~/apps", "/home/somebody/apps"} {
		if got, directive := completePaths(typed, locate.KindOf, false); got != nil || directive != cobra.ShellCompDirectiveFilterDirs {
			t.Errorf("%q: got %q and %d", typed, got, directive)
		}
	}
}

// TestWithinAPanic: what breaks completes nothing, and at once.
func TestWithinAPanic(t *testing.T) {
	defer log.SetOutput(log.Writer())
	var asked context.Context
	got := withTimeout(t.Context(), func(ctx context.Context) ([]string, error) {
		asked = ctx
		panic("a library")
	})
	if got != nil || !errors.Is(asked.Err(), context.Canceled) {
		t.Errorf("%v, %v", got, asked.Err())
	}
}
