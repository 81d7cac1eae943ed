package images

import (
	"archive/tar"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// contents lists the paths of a layer.
func contents(t *testing.T, layer v1.Layer) string {
	t.Helper()
	in, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var paths []string
	for entries := tar.NewReader(in); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(paths)
			return strings.Join(paths, ", ")
		}
		if err != nil {
			t.Fatal(err)
		}
		path := header.Name
		if header.Linkname != "" {
			path += " -> " + header.Linkname
		}
		paths = append(paths, path)
	}
}

func readAll(t *testing.T, in io.ReadCloser) string {
	t.Helper()
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
