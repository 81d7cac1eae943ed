package images

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"

	"github.com/ladder-cmp/ladder/e2e/image"
	"github.com/ladder-cmp/ladder/e2e/program"
)

// modules reads the Go modules that pin versions. It reads their files rather than ask
// the go command, which takes a second each time.
type modules struct {
	root  string // of the e2e module
	mu    sync.Mutex
	files map[string]*modfile.File // by directory
}

func openModules(ctx context.Context) (*modules, error) {
	root, err := program.Root(ctx)
	if err != nil {
		return nil, err
	}
	return &modules{root: root, files: map[string]*modfile.File{}}, nil
}

func (m *modules) read(dir string) (*modfile.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if file := m.files[dir]; file != nil {
		return file, nil
	}
	name := filepath.Join(m.root, dir, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, err
	}
	m.files[dir] = file
	return file, nil
}

// version is the version of a module that the one in dir pins.
func (m *modules) version(dir, module string) (string, error) {
	file, err := m.read(dir)
	if err != nil {
		return "", err
	}
	for _, require := range file.Require {
		if require.Mod.Path == module {
			return require.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("e2e/%s/go.mod does not require %s; fix: go get %s there, and name the package as a tool", dir, module, module)
}

// ownSources tells the sources of a program of our own apart from their earlier ones.
// It is empty for a program of another module, whose version does that.
func (m *modules) ownSources(dir, pkg string) (string, error) {
	file, err := m.read(dir)
	if err != nil {
		return "", err
	}
	own := map[string]string{file.Module.Mod.Path: dir}
	for _, replace := range file.Replace {
		if replace.New.Version == "" {
			own[replace.Old.Path] = path.Join(dir, replace.New.Path)
		}
	}
	for module, at := range own {
		if rest, ok := strings.CutPrefix(pkg+"/", module+"/"); ok {
			return digestOfFiles(filepath.Join(m.root, at, rest))
		}
	}
	return "", nil
}

func digestOfFiles(dir string) (string, error) {
	sum := sha256.New()
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if !file.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", file.Name(), len(text), text)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// copyTo copies files of a module into a layer.
func (m *modules) copyTo(ctx context.Context, to *image.Layer, c moduleFiles) error {
	dir, err := program.ModuleDir(ctx, c.Dir, c.Module)
	if err != nil {
		return err
	}
	from := filepath.Join(dir, filepath.FromSlash(c.From))
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		below, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		to.File(path.Join(c.Path, filepath.ToSlash(below)), file)
		return nil
	})
}
