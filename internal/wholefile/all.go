package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file to write together with others.
type File struct {
	// Name is its path, Shown its name in messages.
	Name, Shown string
	Data        []byte
}

// WriteAll writes all files or none: temporary files are written first, so that a
// full disk changes nothing; if one cannot be renamed, those before it are
// restored. A file keeps its mode; the mode of a new one is 0644.
func WriteAll(all []File) (err error) {
	ready, old := make([]string, len(all)), make([]string, len(all))
	defer func() {
		for _, name := range append(ready, old...) {
			if name != "" {
				os.Remove(name) // those that were renamed no longer exist
			}
		}
	}()
	for i, f := range all {
		if ready[i], old[i], err = prepare(f); err != nil {
			return fmt.Errorf("%s: %s; no file is written", f.Shown, Reason(err))
		}
	}
	for i, f := range all {
		if err := os.Rename(ready[i], f.Name); err != nil {
			return undo(all[:i], old, fmt.Errorf("%s: %s; no file is written", f.Shown, Reason(err)))
		}
	}
	return nil
}

// prepare writes the new and the old content of a file to temporary files. old is
// empty for a new file.
func prepare(f File) (ready, old string, err error) {
	mode := fs.FileMode(0o644)
	info, err := os.Stat(f.Name)
	exists := err == nil && info.Mode().IsRegular()
	if exists {
		mode = info.Mode()
	}
	if ready, err = writeTemp(f.Name, f.Data, mode); err != nil || !exists {
		return ready, "", err
	}
	before, err := os.ReadFile(f.Name)
	if err != nil {
		return ready, "", err
	}
	old, err = writeTemp(f.Name, before, mode)
	return ready, old, err
}

// undo restores files after an error.
func undo(written []File, old []string, because error) error {
	faults := []error{because}
	for i, f := range written {
		err := error(nil)
		if old[i] == "" {
			err = os.Remove(f.Name)
		} else {
			err = os.Rename(old[i], f.Name)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %s; it is written already", f.Shown, Reason(err)))
		}
	}
	return errors.Join(faults...)
}

// writeTemp writes a text to a temporary file in the same directory.
func writeTemp(file string, text []byte, mode os.FileMode) (name string, err error) {
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	defer dir.Close()
	temp, err := WriteTemp(dir, filepath.Base(file), text, mode)
	if err != nil {
		return "", err
	}
	if err := dir.Chmod(temp, mode); err != nil { // regardless of the umask
		return "", errors.Join(err, dir.Remove(temp))
	}
	return filepath.Join(filepath.Dir(file), temp), nil
}
