package wholefile

import (
	"errors"
	"os"
)

// Reason is what the system says of a file that could not be read or written, without
// the file's name, which those who are told know by another.
func Reason(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err.Error()
	}
	return err.Error()
}
