package install

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/argocd/health"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// The forms that Merge writes.
const (
	FormValues    = "values"
	FormKustomize = "kustomize"
)

// nameFile is the remedy for a file that is something else.
const nameFile = "name your values or kustomization.yaml"

// Merged is what Merge writes.
type Merged struct {
	Text string
	// AddsHealth means that the file had no health check for Applications before, which changes
	// the syncs of existing apps of apps.
	AddsHealth bool
}

// Merge merges the sidecar into a file, into standard input ("-"), or into nothing, in one of
// the forms.
func Merge(in io.Reader, file, form string, o Options) (Merged, error) {
	if o.Image != "" {
		if err := doctor.CheckImage(o.Image); err != nil {
			return Merged{}, finding.Usagef("%s: %w; fix: write REGISTRY/NAME:TAG or REGISTRY/NAME@DIGEST", imageFlag, err)
		}
	}
	text, err := readFile(in, file)
	if err != nil {
		return Merged{}, err
	}
	write := Values
	if form == FormKustomize {
		write = Kustomization
	}
	merged, err := write(text, o)
	if err != nil && file != "" {
		err = inFile(file, err)
	}
	return Merged{merged, err == nil && !strings.Contains(text, health.Key("argoproj.io", "Application"))}, err
}

// readFile returns the content of a file, of standard input, or of nothing.
func readFile(in io.Reader, file string) (string, error) {
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
		return "", finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: file, Message: wholefile.Reason(err),
			Remedy: nameFile}
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n"), nil
}

// inFile returns an error with the name of the file that its findings are about, except for
// those about the command line.
func inFile(file string, err error) error {
	var all []error
	for _, f := range finding.Of(err) {
		if f.Field != imageFlag {
			f.File = file
			if file == "-" {
				f.File = finding.StandardInput
			}
		}
		all = append(all, f)
	}
	return errors.Join(all...)
}
