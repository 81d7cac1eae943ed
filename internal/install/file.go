package install

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// ReadFile reads the values or the kustomization of a user: nothing if file is empty, and
// standard input if it is "-".
func ReadFile(in io.Reader, file string) (string, error) {
	var text []byte
	var err error
	switch file {
	case "":
		return "", nil
	case "-":
		text, err = io.ReadAll(in)
	default:
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return "", finding.Finding{Severity: finding.Error, Rule: "no-file", File: file, Message: wholefile.Reason(err), Remedy: "name your values or kustomization.yaml"}
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n"), nil
}

// InFile returns an error with the name of the file that its findings are about, except for
// those about the command line.
func InFile(file string, err error) error {
	var all []error
	for _, f := range finding.Of(err) {
		if f.Field != imageFlag {
			f.File = file
			if file == "-" {
				f.File = manifests.StandardInput
			}
		}
		all = append(all, f)
	}
	return errors.Join(all...)
}
