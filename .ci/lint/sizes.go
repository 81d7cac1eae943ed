package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	maxFile     = 500
	maxFunction = 70
	// commands bind flags, call a function of a package, and print.
	commands   = "cmd/cmp"
	maxCommand = 120
	// exceptionsFile lists what was longer when the limits came.
	exceptionsFile = ".ci/lint/long.txt"
)

// exceptions are how many lines a file ("fleet/appset.go") or a function of a file
// ("fleet/appset.go load") may have that is longer than the limit.
type exceptions map[string]int

func readExceptions(file string) (exceptions, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseExceptions(file, text)
}

func parseExceptions(file string, text []byte) (exceptions, error) {
	long := exceptions{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		count, name, ok := strings.Cut(line, " ")
		lines, err := strconv.Atoi(count)
		if !ok || err != nil {
			return nil, fmt.Errorf("%s:%d: not a number of lines and a file: %q", file, n, line)
		}
		long[name] = lines
	}
	return long, nil
}

// sizes finds files and functions that are longer than they may be, and exceptions that
// are not needed any more, so that the list only shrinks. Tests and generated code may
// be long.
func sizes(tree fs.FS, long exceptions) ([]string, error) {
	var found []string
	left := maps.Clone(long)
	check := func(at, name string, lines, limit int) {
		if lines <= limit {
			return
		}
		delete(left, name)
		if allowed := max(limit, long[name]); lines > allowed {
			found = append(found, fmt.Sprintf("%s: %s has %d lines, of %d at most; split it", at, name, lines, allowed))
		}
	}
	err := walk(tree, ".go", func(name string, text []byte) error {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(f) {
			return nil
		}
		limit := maxFile
		if path.Dir(name) == commands {
			limit = maxCommand
		}
		check(name+":1", name, bytes.Count(text, []byte("\n")), limit)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				from, to := files.Position(fn.Pos()).Line, files.Position(fn.End()).Line
				check(fmt.Sprintf("%s:%d", name, from), name+" "+fn.Name.Name, to-from+1, maxFunction)
			}
		}
		return nil
	})
	for _, name := range slices.Sorted(maps.Keys(left)) {
		found = append(found, fmt.Sprintf("%s: %s is not too long any more; delete its line", exceptionsFile, name))
	}
	return found, err
}

// walk calls see for the files of a repository with an ending, without tests and what
// these read.
func walk(tree fs.FS, ending string, see func(name string, text []byte) error) error {
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "dist" || d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || path.Ext(name) != ending || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		return see(name, text)
	})
}
