// Package wholefile writes files atomically: first under a temporary name in the
// same directory, which is then renamed.
package wholefile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
)

// TempPrefix is the prefix of temporary names. Such files only remain if a process
// was killed.
const TempPrefix = ".new-"

// Replace writes a file and replaces an existing one. A symlink is replaced; its
// target is unchanged.
func Replace(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	temp, err := WriteTemp(root, name, data, mode)
	if err != nil {
		return err
	}
	if err := root.Rename(temp, name); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// WriteTemp writes a temporary file with an unpredictable name into the directory of
// another one, and returns the name. The caller must rename or remove it.
func WriteTemp(root *os.Root, name string, data []byte, mode fs.FileMode) (temp string, err error) {
	temp = path.Join(path.Dir(name), TempPrefix+rand.Text())
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, root.Remove(temp))
	}
	return temp, nil
}
