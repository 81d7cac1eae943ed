package checkout

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/object"
)

// ManifestDir is the content of a directory.
type ManifestDir struct {
	Dir     string
	Objects []object.Object
}

// WriteManifests writes each manifest to a file in the directory of its part below dir: all of them or
// none.
func WriteManifests(dir string, parts ...ManifestDir) error {
	var files []wholefile.File
	for _, part := range parts {
		below := filepath.Join(dir, part.Dir)
		if err := os.MkdirAll(below, 0o755); err != nil {
			return err
		}
		taken := map[string]int{}
		for _, o := range part.Objects {
			name := object.FileName(o.ID)
			if taken[name]++; taken[name] > 1 {
				name = fmt.Sprintf("%s-%d", name, taken[name])
			}
			file := filepath.Join(below, name+".yaml")
			files = append(files, wholefile.File{Name: file, Shown: file, Data: []byte(o.Text())})
		}
	}
	return wholefile.WriteAll(files)
}
