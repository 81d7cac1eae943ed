package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
)

const (
	maxFile     = 500
	maxFunction = 70
)

// sizes finds files and functions that are longer than they may be. Generated code may be
// long.
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
