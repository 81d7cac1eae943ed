package vfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/vfs"
)

// TestResolve follows symlinks as Linux does: what ".." means in a target depends on
// where the parts before it lead.
func TestResolve(t *testing.T) {
	// A target of "" is a directory or a file.
	files := map[string]string{"a": "", "a/b": "", "a/b/c": "", "x": "", "to-b": "a/b", "up": "to-b/../x", "down": "a/b/../../x",
		"out": "../x", "abs": "/x", "loop": "loop",
		"self": ".", "a/far": "../to-b", "gone": "nowhere", "through-out": "a/../../x"}
	for i := range vfs.MaxLinks + 1 {
		files[fmt.Sprint("n", i+1)] = fmt.Sprint("n", i)
	}
	files["n0"] = ""
	read := func(name string) (string, bool, error) {
		target, found := files[name]
		if !found {
			return "", false, fs.ErrNotExist
		}
		return target, target != "", nil
	}
	max := fmt.Sprint("n", vfs.MaxLinks)
	for _, tt := range []struct {
		name   string
		follow bool
		want   string
		err    error
	}{
		{".", true, ".", nil},
		{"a/b/c", true, "a/b/c", nil},
		{"to-b/c", false, "a/b/c", nil},
		{"to-b", true, "a/b", nil},
		{"to-b", false, "to-b", nil},
		{"a/far/c", true, "a/b/c", nil},
		{"down", true, "x", nil},
		{"up", true, "", fs.ErrNotExist}, // a/x
		{"self/self/x", true, "x", nil},
		{"self", true, ".", nil},
		{max, true, "n0", nil},
		{fmt.Sprint("n", vfs.MaxLinks+1), true, "", vfs.ErrTooManyLinks},
		{"loop", true, "", vfs.ErrTooManyLinks},
		{"loop", false, "loop", nil},
		{"out", true, "", vfs.ErrLeaves},
		{"through-out", true, "", vfs.ErrLeaves},
		{"abs", true, "", vfs.ErrLeaves},
		{"gone", true, "", fs.ErrNotExist},
		{"../x", true, "", fs.ErrInvalid},
	} {
		got, err := vfs.ResolveLinks(tt.name, tt.follow, read)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %q, %v; want %q, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
	if _, err := vfs.ResolveLinks("up", true, read); err == nil || strings.Contains(err.Error(), "leaves") {
		t.Error(err)
	}
}
