package render

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"testing/fstest"

	"github.com/klauspost/compress/gzip"
)

// maxUnpackedFiles and maxUnpackedBytes bound what one rendering unpacks of
// repositories and charts that were fetched, all together.
const (
	maxUnpackedFiles = 200_000
	maxUnpackedBytes = 512 << 20
)

// unpacking counts what was unpacked.
type unpacking struct{ files, bytes int }

// unpack reads a .tgz into memory. fstest.MapFS is the standard library's file
// system there; only its package's name has to do with tests. Symlinks that lead
// out of it, or nowhere since they lead to each other, are left out and returned
// with their targets.
func (u *unpacking) unpack(packed []byte) (fstest.MapFS, map[string]string, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, nil, errors.New("what was fetched is no packed directory")
	}
	files := fstest.MapFS{}
	for from := tar.NewReader(z); ; {
		h, err := from.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, errors.New("what was fetched is no packed directory")
		}
		name := path.Clean(h.Name)
		if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeSymlink {
			continue // directories are made of their files, and nothing else is read
		}
		if !fs.ValidPath(name) || name == "." {
			return nil, nil, fmt.Errorf("it holds %q, which leaves it", h.Name)
		}
		if u.files++; u.files > maxUnpackedFiles {
			return nil, nil, fmt.Errorf("with it, what was fetched has more than %d files", maxUnpackedFiles)
		}
		file := &fstest.MapFile{Mode: 0o644, Data: []byte(h.Linkname)}
		if h.Typeflag == tar.TypeSymlink {
			file.Mode |= fs.ModeSymlink
		} else if file.Data, err = io.ReadAll(io.LimitReader(from, int64(maxUnpackedBytes-u.bytes+1))); err != nil {
			return nil, nil, errors.New("what was fetched is no packed directory")
		}
		if u.bytes += len(file.Data); u.bytes > maxUnpackedBytes {
			return nil, nil, fmt.Errorf("with it, what was fetched has more than %d bytes", maxUnpackedBytes)
		}
		files[name] = file
	}
	return files, refuse(files), nil
}

// refuse takes out the symlinks that lead out of a directory, or in circles.
func refuse(files fstest.MapFS) map[string]string {
	refused := map[string]string{}
	for name, file := range files {
		if file.Mode&fs.ModeSymlink != 0 && !leads(files, name) {
			refused[name] = string(file.Data)
		}
	}
	for name := range refused {
		delete(files, name)
	}
	return refused
}

// leads follows a symlink until no part of its path is one, and reports whether
// it stays inside.
func leads(files fstest.MapFS, name string) bool {
	done, rest := "", strings.Split(name, "/")
	for hops := 0; len(rest) > 0; {
		next := path.Join(done, rest[0])
		rest = rest[1:]
		file := files[next]
		if file == nil || file.Mode&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		target := path.Join(path.Dir(next), string(file.Data))
		if hops++; hops > maxHops || path.IsAbs(string(file.Data)) || !fs.ValidPath(target) {
			return false
		}
		done = ""
		if target != "." {
			rest = append(strings.Split(target, "/"), rest...)
		}
	}
	return true
}
