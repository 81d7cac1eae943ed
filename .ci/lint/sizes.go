package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxFile     = 500
	maxFunction = 70
	maxLine     = 140 // in characters; a tab is one
)

// sizes finds files, functions and lines that are longer than they may be. Generated code
// may be long.
func sizes(tree fs.FS) ([]string, error) {
	var found []string
	check := func(at, name string, lines, limit int) {
		if lines > limit {
			found = append(found, fmt.Sprintf("%s: %s has %d lines, of %d at most; split it", at, name, lines, limit))
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
		check(name+":1", name, bytes.Count(text, []byte("\n")), maxFile)
		for _, line := range longLines(files, f, text) {
			found = append(found, fmt.Sprintf("%s:%d: the line has more than %d characters; wrap it", name, line, maxLine))
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				from, to := files.Position(fn.Pos()).Line, files.Position(fn.End()).Line
				check(fmt.Sprintf("%s:%d", name, from), name+" "+fn.Name.Name, to-from+1, maxFunction)
			}
		}
		return nil
	})
	return found, err
}

// longLines returns the lines that can be wrapped: not those of raw strings of several lines
// and of struct tags, and not those with a word, such as a URL, that alone is too long.
func longLines(files *token.FileSet, f *ast.File, text []byte) (long []int) {
	fixed := map[int]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			from, to := files.Position(n.Pos()).Line, files.Position(n.End()).Line
			for line := from; from < to && line <= to; line++ {
				fixed[line] = true
			}
		case *ast.Field:
			if n.Tag != nil {
				fixed[files.Position(n.Tag.Pos()).Line] = true
			}
		}
		return true
	})
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if utf8.RuneCountInString(strings.TrimRight(line, "\r\n")) > maxLine && !fixed[number] && !hasLongWord(line) {
			long = append(long, number)
		}
	}
	return long
}

func hasLongWord(line string) bool {
	return slices.ContainsFunc(strings.Fields(line), func(word string) bool { return utf8.RuneCountInString(word) > maxLine })
}

// walk calls see for the files of a repository with an ending, except those that tests
// read.
func walk(tree fs.FS, ending string, see func(name string, text []byte) error) error {
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "dist" || d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || path.Ext(name) != ending {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		return see(name, text)
	})
}
