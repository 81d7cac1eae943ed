package node

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Program makes an image of one layer with statically linked programs: a path in the
// image to a file here. The entrypoint is a path in the image. It runs as the user
// 65532, as distroless images do.
func Program(entrypoint string, files map[string]string) (v1.Image, error) {
	layer, err := layerOf(files)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config = v1.Config{Entrypoint: []string{entrypoint}, User: "65532", Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}}
	return mutate.ConfigFile(image, file)
}

const passwd = "root:x:0:0::/root:/sbin/nologin\nnonroot:x:65532:65532::/:/sbin/nologin\n"

func layerOf(files map[string]string) (v1.Layer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, dir := range []tar.Header{{Name: "tmp/", Mode: 0o1777}, {Name: "etc/", Mode: 0o755}} {
		dir.Typeflag = tar.TypeDir
		if err := w.WriteHeader(&dir); err != nil {
			return nil, err
		}
	}
	if err := w.WriteHeader(&tar.Header{Name: "etc/passwd", Mode: 0o644, Size: int64(len(passwd))}); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(w, passwd); err != nil {
		return nil, err
	}
	for path, file := range files {
		if err := addFile(w, strings.TrimPrefix(filepath.ToSlash(path), "/"), file); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromReader(&out)
}

func addFile(w *tar.Writer, path, file string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: path, Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return err
}
