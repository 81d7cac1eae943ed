package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"time"
)

// archive returns a deterministic archive of the files. It is not compressed: the
// output of compressors changes between their versions, and lock files record the
// digest of the archive.
func (f *files) archive() ([]byte, error) {
	slices.SortFunc(f.entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	var out bytes.Buffer
	outer, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
	if err != nil {
		return nil, err
	}
	inner := tar.NewWriter(outer)
	for _, e := range f.entries {
		data, err := e.content()
		if err != nil {
			return nil, err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.path, Size: int64(len(data)), Mode: 0o644,
			ModTime: time.Unix(0, 0).UTC(), Format: tar.FormatPAX}
		switch {
		case e.link != "":
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, e.link, 0o777
		case e.executable:
			header.Mode = 0o755
		}
		if err := inner.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(inner, data); err != nil {
			return nil, err
		}
	}
	if err := inner.Close(); err != nil {
		return nil, err
	}
	if err := outer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
