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
	if info, err := os.Stat(name); err == nil && !info.IsDir() && !info.Mode().IsRegular() || isDescriptor(name) {
		return writeInto(name, data)
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer root.Close()
	return Replace(root, filepath.Base(name), data, mode)
}

// isDescriptor reports whether a name is that of an open file descriptor, which may be a file whose
// end another program writes. Other files in /dev, as in /dev/shm, are files.
func isDescriptor(name string) bool {
	abs, err := filepath.Abs(name)
	if err != nil {
		return false
	}
	return abs == "/dev/stdout" || abs == "/dev/stderr" || strings.HasPrefix(abs, "/dev/fd/") || strings.HasPrefix(abs, "/proc/")
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
