package node

import (
	"maps"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ladder-cmp/ladder/e2e/image"
)

// Program makes an image of one layer with statically linked programs: a path in the
// image to a file here. The entrypoint is a path in the image.
func Program(entrypoint string, files map[string]string) (v1.Image, error) {
	layer := image.NewLayer()
	layer.Accounts(nil)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		layer.File(path, files[path])
	}
	made, err := layer.Close()
	if err != nil {
		return nil, err
	}
	return image.New(v1.Config{Entrypoint: []string{entrypoint}, User: "65532", Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}}, made)
}
