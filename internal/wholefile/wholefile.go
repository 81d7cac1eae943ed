// Package wholefile writes files that others see whole or not at all: first under a
// name of their own in the same directory, and then under the one that is meant.
package wholefile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
)

// Unfinished is how the names of files begin that are not whole yet. They remain
// only where a process was killed.
const Unfinished = ".new-"

// Replace writes a file in place of what has its name, which may be a link: that
// goes, and what it leads to stays as it is.
func Replace(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	fresh, err := Beside(root, name, data, mode)
	if err != nil {
		return err
	}
	if err := root.Rename(fresh, name); err != nil {
		return errors.Join(err, root.Remove(fresh))
	}
	return nil
}

// Beside writes a new file into the directory of another, and returns its name, which
// nobody can have guessed and laid a link to. It is to be renamed or removed.
func Beside(root *os.Root, name string, data []byte, mode fs.FileMode) (fresh string, err error) {
	fresh = path.Join(path.Dir(name), Unfinished+rand.Text())
	file, err := root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, root.Remove(fresh))
	}
	return fresh, nil
}
