package vfs

import (
	"io/fs"
	"testing"
	"testing/fstest"
)

// TestFS looks at a file system with one file that is hidden and one that is added, in
// each of the ways in which files can be read.
func TestFS(t *testing.T) {
	below := fstest.MapFS{"dir/kept": {Data: []byte("kept")}, "dir/hidden": {Data: []byte("below")}}
	fsys := Overlay{below, map[string]string{"dir/hidden": "hidden", "dir/added": "added!"}}
	if err := fstest.TestFS(fsys, "dir/kept", "dir/hidden", "dir/added"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"dir/kept": "kept", "dir/hidden": "hidden", "dir/added": "added!"} {
		if got, err := fs.ReadFile(fsys, name); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if info, err := fs.Stat(fsys, name); err != nil || info.Size() != int64(len(want)) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
