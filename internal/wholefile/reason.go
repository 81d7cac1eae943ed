package wholefile

import (
	"errors"
	"os"
)

// Reason returns the message of a file system error without the file's name, which
// may differ from the name in messages.
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
