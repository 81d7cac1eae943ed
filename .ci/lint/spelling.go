package main

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/golangci/misspell"
)

// spelling finds words of code and documents that are often misspelt. Tests misspell on
// purpose.
func spelling(tree fs.FS) ([]string, error) {
	words := misspell.New()
	var found []string
	see := func(name string, text []byte) error {
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		_, diffs := words.Replace(string(text))
		for _, d := range diffs {
			found = append(found, fmt.Sprintf("%s:%d:%d: %q is misspelt; write %q", name, d.Line, d.Column+1, d.Original, d.Corrected))
		}
		return nil
	}
	for _, ending := range []string{".go", ".md"} {
		if err := walk(tree, ending, see); err != nil {
			return nil, err
		}
	}
	return found, nil
}
