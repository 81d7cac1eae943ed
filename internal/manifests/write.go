package manifests

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ladder-cmp/ladder/object"
)

// Write writes each manifest to a file.
func Write(dir string, objs []object.Object) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	taken := map[string]int{}
	for _, o := range objs {
		name := object.FileName(o.ID)
		if taken[name]++; taken[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, taken[name])
		}
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(o.Text()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
