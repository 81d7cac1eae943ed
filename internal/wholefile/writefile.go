package wholefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WriteFile writes a file atomically and replaces an existing one. A symlink is
// replaced, and its target is unchanged: symlinks in a checkout are not trusted.
// Devices and pipes, such as /dev/stdout, are written directly.
func WriteFile(name string, data []byte, mode fs.FileMode) error {
	if info, err := os.Stat(name); err == nil && !info.IsDir() && !info.Mode().IsRegular() || ofSystem(name) {
		return writeInto(name, data)
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer root.Close()
	return Replace(root, filepath.Base(name), data, mode)
}

// ofSystem reports whether a name is that of an open file descriptor.
func ofSystem(name string) bool {
	abs, err := filepath.Abs(name)
	return err == nil && (strings.HasPrefix(abs, "/dev/") || strings.HasPrefix(abs, "/proc/"))
}

func writeInto(name string, data []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
