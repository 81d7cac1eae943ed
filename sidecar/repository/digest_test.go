package repository

import (
	"io/fs"
	"testing"
	"testing/fstest"
)

// TestDigests says which differences between repositories a remembered response
// notices, by what was asked of the first.
func TestDigests(t *testing.T) {
	t.Parallel()
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s), Mode: 0o644} }
	link := func(to string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
	}
	run := &fstest.MapFile{Data: []byte("a"), Mode: 0o755}
	two := fstest.MapFS{"d/a": text("a"), "d/b": text("b"), "x": text("a"), "y": text("b")}
	with := func(name string, f *fstest.MapFile) fstest.MapFS {
		all := fstest.MapFS{}
		for n, f := range two {
			all[n] = f
		}
		if all[name] = f; f == nil {
			delete(all, name)
		}
		return all
	}
	for name, tt := range map[string]struct {
		q             Question
		before, after fs.FS
		same          bool
	}{
		"nothing, file":               {Question{readFile, "x"}, two, with("z", text("")), true},
		"nothing, directory":          {Question{readDir, "d"}, two, with("z", text("")), true},
		"content":                     {Question{readFile, "x"}, two, with("x", text("c")), false},
		"content, through a link":     {Question{readFile, "l"}, with("l", link("x")), with("l", link("y")), false},
		"a retargeted link":           {Question{readLink, "l"}, with("l", link("x")), with("l", link("y")), false},
		"a file becomes a link":       {Question{lstat, "x"}, two, with("x", link("y")), false},
		"a link becomes a file":       {Question{readLink, "l"}, with("l", link("x")), with("l", text("x")), false},
		"a link in a directory":       {Question{readDir, "d"}, two, with("d/b", link("a")), false},
		"a directory in a directory":  {Question{readDir, "d"}, two, with("d/b", nil), false},
		"a name in a directory":       {Question{readDir, "d"}, two, with("d/c", text("")), false},
		"a size in a directory":       {Question{readDir, "d"}, two, with("d/b", text("larger")), true},
		"mode":                        {Question{stat, "x"}, two, with("x", run), false},
		"size, nobody read it":        {Question{stat, "x"}, two, with("x", text("larger")), false},
		"content, nobody read it":     {Question{stat, "x"}, two, with("x", text("b")), true},
		"gone":                        {Question{readFile, "x"}, two, with("x", nil), false},
		"gone, by stat":               {Question{stat, "x"}, two, with("x", nil), false},
		"empty and gone":              {Question{readFile, "x"}, with("x", text("")), with("x", nil), false},
		"still gone":                  {Question{stat, "nowhere"}, two, with("z", text("")), true},
		"a file becomes a directory":  {Question{stat, "x"}, two, with("x", &fstest.MapFile{Mode: fs.ModeDir | 0o755}), false},
		"its name in its own content": {Question{readLink, "l"}, with("l", link("x")), with("l", link("")), false},
	} {
		if got := digestOf(tt.before, tt.q) == digestOf(tt.after, tt.q); got != tt.same {
			t.Errorf("%s: the same is %v, want %v", name, got, tt.same)
		}
	}
	missing := Reply{Fault: &Fault{Op: "open", Path: "x", Text: "x", Kind: notExist}}
	wrong := Reply{Fault: &Fault{Op: "open", Path: "x", Text: "x", Kind: invalid}}
	if missing.Digest() == wrong.Digest() {
		t.Error("what is missing is as what cannot be asked for")
	}
	if said := (Reply{Data: append([]byte{byte(notExist), 1}, 'x')}); said.Digest() == missing.Digest() {
		t.Error("a file can look as if it were missing")
	}
}
