package input

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"testing/fstest"
)

func packed(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range headers {
		data := h.Uname // a text travels there
		h.Uname, h.Size = "", int64(len(data))
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArchive(t *testing.T) {
	a, err := Unpack(packed(t,
		tar.Header{Name: "charts/", Typeflag: tar.TypeDir, Mode: 0o755},
		tar.Header{Name: "charts/shop/Chart.yaml", Typeflag: tar.TypeReg, Uname: "name: shop"},
		tar.Header{Name: "charts/shop/templates/web.yaml", Typeflag: tar.TypeReg, Uname: "kind: Deployment"},
		tar.Header{Name: "charts/latest", Typeflag: tar.TypeSymlink, Linkname: "shop"},
		tar.Header{Name: "charts/deep/link", Typeflag: tar.TypeSymlink, Linkname: "../latest/templates"},
		tar.Header{Name: "out", Typeflag: tar.TypeSymlink, Linkname: "../../etc/passwd"},
		tar.Header{Name: "loop", Typeflag: tar.TypeSymlink, Linkname: "loop"},
	))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"charts/shop/Chart.yaml":             "name: shop",
		"charts/latest/Chart.yaml":           "name: shop",
		"charts/deep/link/web.yaml":          "kind: Deployment",
		"charts/latest/templates/web.yaml":   "kind: Deployment",
		"out":                                "points outside the archive",
		"loop":                               "points outside the archive",
		"charts/shop/missing":                "not exist",
		"charts/shop/Chart.yaml/not/a/place": "not exist",
		"charts":                             "is a directory",
	} {
		data, err := a.ReadFile(name)
		got := string(data)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if target, err := a.ReadLink("charts/latest"); target != "shop" || err != nil {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	whole, err := Unpack(packed(t, tar.Header{Name: "a/b", Typeflag: tar.TypeReg, Uname: "text"},
		tar.Header{Name: "c", Typeflag: tar.TypeReg, Uname: "more"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(whole, "a/b", "c"); err != nil {
		t.Error(err)
	}
}

func TestArchiveThatLeaves(t *testing.T) {
	for _, name := range []string{"../a", "/etc/passwd", "a/../../b"} {
		if _, err := Unpack(packed(t, tar.Header{Name: name, Typeflag: tar.TypeReg})); err == nil ||
			!strings.Contains(err.Error(), "outside the archive") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Unpack([]byte("no archive")); err == nil {
		t.Error("text was unpacked")
	}
}
