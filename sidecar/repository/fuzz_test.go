package repository

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"
)

// FuzzUnpack unpacks any bytes. Whatever is in them, what comes out keeps to the
// limits, can be walked to its end, and does not lead out of itself. The bytes
// are packed for the unpacker first, since no change to a packed file would get
// past its checksum.
func FuzzUnpack(f *testing.F) {
	for _, headers := range [][]tar.Header{
		{regular("app/a.yaml", 10), regular("app/b/c.yaml", 600)},
		{regular("../x", 1)}, {regular("/x", 1)}, {regular("a/../../x", 1)}, {regular("caf\xe9/x", 1)},
		{regular(strings.Repeat("a/", 150), 1)}, {regular(".git/x", 1), regular("a/.git/x", 1)},
		{{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "../x"}},
		{{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "."}, {Name: "m", Typeflag: tar.TypeSymlink, Linkname: "l/l/m"}},
		{regular("a", 3), {Name: "h", Typeflag: tar.TypeLink, Linkname: "a"}, {Name: "a", Typeflag: tar.TypeSymlink, Linkname: "h"}},
		{{Name: "d", Typeflag: tar.TypeChar}}, {{Name: "a/", Typeflag: tar.TypeDir}, regular("a", 1)},
	} {
		f.Add(tarOf(headers))
	}
	limits := Limits{Bytes: 1 << 20, Files: 200, Depth: 20, Ratio: 200}
	f.Fuzz(func(t *testing.T, data []byte) {
		Unpack(bytes.NewReader(data), limits, nil) // as gzip, which it hardly ever is
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		z.Write(data)
		z.Close()
		tree, err := Unpack(&packed, limits, nil)
		if err != nil {
			if tree != nil {
				t.Error("a tree beside an error")
			}
			return
		}
		files := walkUnpacked(t, tree, limits)
		// Hard links share what they hold.
		if files > limits.Files || tree.Bytes > limits.Bytes || tree.files > limits.Files {
			t.Errorf("%d files, counted as %d with %d bytes", files, tree.files, tree.Bytes)
		}
	})
}

// tarOf packs files of these headers, without compression.
func tarOf(headers []tar.Header) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range headers {
		w.WriteHeader(&h)
		w.Write(bytes.Repeat([]byte("a"), int(h.Size)))
	}
	w.Close()
	return buf.Bytes()
}

// walkUnpacked checks all that was unpacked, and returns how many files and directories
// it is.
func walkUnpacked(t *testing.T, tree fs.FS, limits Limits) (files int) {
	t.Helper()
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if strings.Contains(err.Error(), "is not UTF-8") {
				return fs.SkipDir
			}
			return err
		}
		if p == "." {
			return nil
		}
		files++
		if strings.Count(p, "/")+1 > limits.Depth {
			t.Errorf("%s is too deep", p)
		}
		return checkUnpacked(t, tree, p, d)
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

// checkUnpacked checks that a file can be read whole, and that a symlink leads to
// something inside.
func checkUnpacked(t *testing.T, tree fs.FS, p string, d fs.DirEntry) error {
	t.Helper()
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		content, err := fs.ReadFile(tree, p)
		if err != nil || int64(len(content)) != info.Size() {
			t.Errorf("%s: %d bytes, want %d: %v", p, len(content), info.Size(), err)
		}
	case mode&fs.ModeSymlink != 0:
		target, err := fs.ReadLink(tree, p)
		if err != nil {
			return err
		}
		if at := path.Join(path.Dir(p), target); strings.HasPrefix(at, "../") || at == ".." || strings.HasPrefix(target, "/") {
			t.Errorf("%s leads to %q", p, target)
		}
		if _, err := fs.Stat(tree, p); err != nil && !errors.As(err, new(*fs.PathError)) {
			t.Errorf("%s: %v", p, err)
		}
	case !mode.IsDir():
		t.Errorf("%s has mode %s", p, mode)
	}
	return nil
}
