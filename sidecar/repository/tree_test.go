package repository

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"
)

// archive packs files, each filled with "a" up to its size. One that claims
// more than a megabyte does not keep the claim, and the archive ends there.
func archive(t *testing.T, headers ...tar.Header) io.Reader {
	t.Helper()
	var buf bytes.Buffer
	z := newWriter(t, &buf)
	w := tar.NewWriter(z)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 1<<20 {
			w.Write(make([]byte, 1<<20))
			z.Close()
			return &buf
		}
		if _, err := w.Write(bytes.Repeat([]byte("a"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z.Close()
	return &buf
}

// newWriter packs a text of one letter 800 times, faster than the default.
func newWriter(t *testing.T, to io.Writer) *gzip.Writer {
	t.Helper()
	z, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func regular(name string, size int64) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Size: size}
}

// TestLimits unpacks what is just within its limits and what is not.
func TestLimits(t *testing.T) {
	t.Parallel()
	limits := Limits{Bytes: 1 << 20, Files: 1000}
	half := int64(1<<19 - 2*entrySize)
	deep := func(levels int) string { return strings.Repeat("a/", levels) + "b" }
	for name, tt := range map[string]struct {
		files []tar.Header
		want  string
	}{
		"two halves":           {[]tar.Header{regular("a", half), regular("b", half)}, ""},
		"three halves":         {[]tar.Header{regular("a", half), regular("b", half), regular("c", half)}, "more than 1048576 bytes"},
		"one over another":     {[]tar.Header{regular("a", half), regular("a", half), regular("a", half)}, "more than 1048576 bytes"},
		"a claim that wraps":   {[]tar.Header{regular("a", half), regular("b", math.MaxInt64)}, "more than 1048576 bytes"},
		"999 directories":      {[]tar.Header{regular(deep(999), 0)}, ""},
		"1000 directories":     {[]tar.Header{regular(deep(1000), 0)}, "more than 1000 files"},
		"implied, then listed": {[]tar.Header{regular(deep(999), 0), {Name: "a/", Typeflag: tar.TypeDir}}, ""},
		"listed directories":   {[]tar.Header{{Name: deep(999) + "/", Typeflag: tar.TypeDir}, regular("a/c", 0)}, "more than 1000 files"},
		"a long path":          {[]tar.Header{regular(deep(2048), 0)}, `a path of more than 4096 bytes, which starts with "a/a/a/`},
		"a long link": {[]tar.Header{{Name: "l", Typeflag: tar.TypeSymlink, Linkname: deep(2048)}},
			`a path of more than 4096 bytes, which starts with "l"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Unpack(archive(t, tt.files...), limits, nil)
			if got := fmt.Sprint(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) || len(got) > 200 {
				t.Errorf("got %s\nwant %q", got, tt.want)
			}
			if strings.Contains(tt.want, "more than 1") && !errors.Is(err, ErrLimit) {
				t.Errorf("%v is not about a limit", err)
			}
		})
	}
}

// TestDepthAndRatio unpacks what stands in too much, and what is packed too well
// to be honest, wherever in the stream it is.
func TestDepthAndRatio(t *testing.T) {
	t.Parallel()
	deep := func(levels int) string { return strings.Repeat("a/", levels-1) + "b" }
	many := func(name string) (all []tar.Header) {
		for i := range 80 {
			all = append(all, regular(fmt.Sprint(name, i), 1<<20))
		}
		return all
	}
	for name, tt := range map[string]struct {
		files []tar.Header
		want  string
	}{
		"just as deep":          {[]tar.Header{regular(deep(10), 0)}, ""},
		"too deep":              {[]tar.Header{regular(deep(11), 0)}, `11 levels of directories, and 10 are allowed, at "a/a/`},
		"a deep directory":      {[]tar.Header{{Name: deep(11) + "/", Typeflag: tar.TypeDir}}, "11 levels"},
		"a deep link":           {[]tar.Header{{Name: "a/l", Typeflag: tar.TypeSymlink, Linkname: deep(10)}}, "11 levels"},
		"a deep odd name":       {[]tar.Header{regular(deep(10)+"/\xff", 0)}, "11 levels"},
		"a bomb":                {many("a"), "it unpacks to more than 200 times the size of its stream"},
		"a bomb in .git":        {many(".git/a"), "it unpacks to more than 200 times"},
		"a bomb of metadata":    {many("\xff"), "it unpacks to more than 200 times"},
		"small and well packed": {[]tar.Header{regular("a", 1<<20)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Unpack(archive(t, tt.files...), Limits{Depth: 10, Ratio: 200}, nil)
			got := fmt.Sprint(err)
			if tt.want == "" && err != nil || !strings.Contains(got, tt.want) || len(got) > 250 || err != nil && !errors.Is(err, ErrLimit) {
				t.Errorf("got %s\nwant %q", got, tt.want)
			}
		})
	}
	// Behind the end of the tar file.
	var buf bytes.Buffer
	z := newWriter(t, &buf)
	zeros := make([]byte, 1<<20)
	for range 100 {
		z.Write(zeros)
	}
	z.Close()
	if _, err := Unpack(&buf, Limits{Ratio: 200}, nil); !errors.Is(err, ErrLimit) {
		t.Errorf("zeros without end: %v", err)
	}
}

// TestGitIsLeftOut makes sure that nothing of .git is there or counted.
func TestGitIsLeftOut(t *testing.T) {
	t.Parallel()
	tree, err := Unpack(archive(t, tar.Header{Name: ".git", Typeflag: tar.TypeDir}, regular(".git/objects/pack", 1<<20),
		regular(".gitignore", 1), regular("a/.git/config", 1), regular("b/.git", 1), regular("c/.GIT/config", 1), regular("a/x.git/config", 1)),
		Limits{Bytes: 1 << 20}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".git", "a/.git/config", "a/.git", "b/.git", "c/.GIT/config"} {
		if _, err := fs.Stat(tree, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{".gitignore", "a/x.git/config"} {
		if _, err := fs.Stat(tree, name); err != nil {
			t.Error(err)
		}
	}
}

// TestTree runs the standard library's checks of a file system on a tree.
func TestTree(t *testing.T) {
	t.Parallel()
	tree, err := Unpack(archive(t,
		tar.Header{Name: "./", Typeflag: tar.TypeDir},
		tar.Header{Name: "a/b/c.txt", Typeflag: tar.TypeReg, Size: 3},
		tar.Header{Name: "a/d.txt", Typeflag: tar.TypeReg},
		tar.Header{Name: "empty", Typeflag: tar.TypeDir},
		tar.Header{Name: "a/link", Typeflag: tar.TypeSymlink, Linkname: "b/c.txt"},
		tar.Header{Name: "loop", Typeflag: tar.TypeSymlink, Linkname: "loop2"},
		tar.Header{Name: "loop2", Typeflag: tar.TypeSymlink, Linkname: "loop"},
	), Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(tree, "loop"); err == nil {
		t.Error("a loop of symlinks was read")
	}
	if data, err := fs.ReadFile(tree, "a/link"); err != nil || string(data) != "aaa" {
		t.Errorf("through a symlink: %q, %v", data, err)
	}
	if target, err := fs.ReadLink(tree, "a/link"); err != nil || target != "b/c.txt" {
		t.Errorf("ReadLink = %q, %v", target, err)
	}
	if info, err := fs.Lstat(tree, "a/link"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("Lstat = %v, %v", info, err)
	}
	sub, err := fs.Sub(tree, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(sub, "b/c.txt", "d.txt", "link"); err != nil {
		t.Error(err)
	}
}
