package wholefile

import (
	"errors"
	"os"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Read returns the content of a file that a user named. remedy is the fix if it cannot be read.
func Read(file, remedy string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: file, Message: Reason(err), Remedy: remedy}
	}
	return text, nil
}

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
