package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// retiredWord is a line of testdata/retired-words.txt.
type retiredWord struct {
	word    *regexp.Regexp
	instead string
	exempt  []string
}

func retiredWords(t *testing.T) (all []retiredWord) {
	text, err := os.ReadFile("testdata/retired-words.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, ok := strings.Cut(line, " -> ")
		if !ok {
			t.Fatalf("%q says nothing to write instead", line)
		}
		instead, exempt, _ := strings.Cut(rest, "; except ")
		all = append(all, retiredWord{regexp.MustCompile(word), instead, strings.Fields(exempt)})
	}
	return all
}

// TestRetiredWords keeps words out of texts that readers would stumble over. An
// exemption that is no longer needed must be deleted.
func TestRetiredWords(t *testing.T) {
	words := retiredWords(t)
	used := map[string]bool{}
	look := func(file, text string, line int) {
		for _, w := range words {
			found := w.word.FindString(text)
			if found == "" {
				continue
			}
			at := slices.IndexFunc(w.exempt, func(e string) bool { return file == e || strings.HasPrefix(file, e+"/") })
			if at < 0 {
				t.Errorf("%s:%d: %q; write: %s", file, line, found, w.instead)
				continue
			}
			used[w.word.String()+" "+w.exempt[at]] = true
		}
	}
	for _, doc := range documents(t) { // in the root of the repository
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		if doc == "docs/style.md" { // which lists them
			continue
		}
		for i, line := range strings.Split(string(text), "\n") {
			look(doc, line, i+1)
		}
	}
	eachLiteral(t, look)
	for _, w := range words {
		for _, e := range w.exempt {
			if !used[w.word.String()+" "+e] {
				t.Errorf("%s need not be exempt from %s", e, w.word)
			}
		}
	}
}

// eachLiteral calls a function with every string of more than one word in the program,
// below the working directory.
func eachLiteral(t *testing.T, look func(file, text string, line int)) {
	skipped := []string{".git", ".ci", "testdata", "e2e", "conformance", "bench", "dist"}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		positions := token.NewFileSet()
		tree, err := parser.ParseFile(positions, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.Contains(l.Value, " ") {
				look(filepath.ToSlash(file), l.Value, positions.Position(l.Pos()).Line)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// located is the beginning of a message that names a file, a directory or a parameter.
var located = regexp.MustCompile(`^(parameter |set |set-string |set-file )?[^\s:]+(:\d+)?: `)

// TestFaultsNameTheirPlaceAndFix reads the messages of testdata/errors: each begins with
// its place, and ends with a fix or a suggestion.
func TestFaultsNameTheirPlaceAndFix(t *testing.T) {
	wanted, err := filepath.Glob("../../testdata/errors/*.want.txt")
	if err != nil || len(wanted) == 0 {
		t.Fatalf("no messages: %v", err)
	}
	for _, file := range wanted {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if line == "" {
				continue
			}
			if !located.MatchString(line) {
				t.Errorf("%s: no file or object in %q", filepath.Base(file), line)
			}
			if !strings.Contains(line, "; fix: ") && !strings.Contains(line, "; did you mean ") {
				t.Errorf("%s: no fix in %q", filepath.Base(file), line)
			}
		}
	}
}
