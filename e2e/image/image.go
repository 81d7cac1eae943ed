// Package image makes container images from files, without a container engine. Layers
// are not compressed: images travel within one machine.
package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Nobody is the user that images run as if nothing else is said, as distroless ones do.
const Nobody = 65532

// New makes an image of layers, for this machine's architecture.
func New(config v1.Config, layers ...v1.Layer) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(base, layers...)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	return mutate.ConfigFile(image, file)
}

// Layer is a layer that is being written. The first error is kept and returned by
// Close, so that calls need no check of their own. Each path is absolute, and is
// written once: a later one is ignored.
type Layer struct {
	out  bytes.Buffer
	tar  *tar.Writer
	seen map[string]bool
	err  error
}

// NewLayer returns an empty layer.
func NewLayer() *Layer {
	l := &Layer{seen: map[string]bool{}}
	l.tar = tar.NewWriter(&l.out)
	return l
}

// Accounts writes what any image has: /tmp, the accounts of root, of [Nobody] and of
// other users by their uid, and where names are looked up.
func (l *Layer) Accounts(users map[int]string) {
	l.entry(tar.Header{Typeflag: tar.TypeDir, Name: "/tmp", Mode: 0o1777}, nil)
	all := map[int]string{Nobody: "nonroot"}
	maps.Copy(all, users)
	all[0] = "root"
	var passwd, group string
	for _, id := range slices.Sorted(maps.Keys(all)) {
		passwd += fmt.Sprintf("%s:x:%d:%d::/tmp:/sbin/nologin\n", all[id], id, id)
		group += fmt.Sprintf("%s:x:%d:\n", all[id], id)
	}
	l.Text("/etc/passwd", passwd)
	l.Text("/etc/group", group)
	l.Text("/etc/nsswitch.conf", "hosts: files dns\n")
}

// Directory writes an empty directory of a user.
func (l *Layer) Directory(path string, uid int) {
	l.entry(tar.Header{Typeflag: tar.TypeDir, Name: path, Mode: 0o755, Uid: uid, Gid: uid}, nil)
}

// Text writes a file that everybody may read.
func (l *Layer) Text(path, text string) {
	l.entry(tar.Header{Name: path, Mode: 0o644, Size: int64(len(text))}, strings.NewReader(text))
}

// Link writes a symlink.
func (l *Layer) Link(path, target string) {
	l.entry(tar.Header{Typeflag: tar.TypeSymlink, Name: path, Linkname: target, Mode: 0o777}, nil)
}

// File copies a file of the machine, which everybody may run if it can be run here.
func (l *Layer) File(path, from string) {
	in, err := os.Open(from)
	if err != nil {
		l.fail(err)
		return
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		l.fail(err)
		return
	}
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	l.entry(tar.Header{Name: path, Mode: mode, Size: info.Size()}, in)
}

// Entry copies an entry of a tar file, with its owner, mode and time.
func (l *Layer) Entry(header tar.Header, content io.Reader) { l.entry(header, content) }

// Has says whether a path is in the layer.
func (l *Layer) Has(path string) bool { return l.seen[path] }

// Close returns the layer. It is the same for the same calls.
func (l *Layer) Close() (v1.Layer, error) {
	l.fail(l.tar.Close())
	if l.err != nil {
		return nil, l.err
	}
	return static.NewLayer(l.out.Bytes(), types.OCIUncompressedLayer), nil
}

func (l *Layer) entry(header tar.Header, content io.Reader) {
	name := path.Clean("/" + header.Name)
	if l.err != nil || l.seen[name] {
		return
	}
	l.seen[name] = true
	header.Name = strings.TrimPrefix(name, "/")
	if header.Typeflag == tar.TypeDir {
		header.Name += "/"
	}
	if err := l.tar.WriteHeader(&header); err != nil {
		l.fail(fmt.Errorf("%s in an image: %w", name, err))
		return
	}
	if content == nil {
		return
	}
	if _, err := io.Copy(l.tar, content); err != nil {
		l.fail(fmt.Errorf("%s in an image: %w", name, err))
	}
}

func (l *Layer) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}
