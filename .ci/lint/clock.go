package main

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
)

// realTime are modules whose tests look at programs and servers of others.
var realTime = []string{"bench/", "conformance/", "e2e/"}

// clocks finds tests that wait for the clock or compare with it, whose outcome depends on the
// machine. Time is virtual in a bubble of testing/synctest; benchmarks and the tests with the
// build tag load measure it.
func clocks(tree fs.FS) ([]string, error) {
	var found []string
	err := walk(tree, ".go", func(name string, text []byte) error {
		for _, module := range realTime {
			if strings.HasPrefix(name, module) {
				return nil
			}
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || underLoad(f) {
			return err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasPrefix(fn.Name.Name, "Benchmark") {
				continue
			}
			// Functions of such a file are called in its bubbles.
			var virtual ast.Node = f
			if strings.HasPrefix(fn.Name.Name, "Test") {
				virtual = fn
			}
			if len(calls(virtual, "synctest", "Test")) > 0 {
				continue
			}
			for _, at := range calls(fn, "time", "Sleep", "Since") {
				found = append(found, fmt.Sprintf("%s:%d: %s depends on the clock of the machine; "+
					"use a bubble of testing/synctest, or the build tag load", name, files.Position(at).Line, fn.Name.Name))
			}
		}
		return nil
	})
	return found, err
}

// calls returns where functions of a package are called below a node.
func calls(below ast.Node, pkg string, names ...string) []token.Pos {
	var found []token.Pos
	ast.Inspect(below, func(n ast.Node) bool {
		selected, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		for _, name := range names {
			if x, ok := selected.X.(*ast.Ident); ok && x.Name == pkg && selected.Sel.Name == name {
				found = append(found, selected.Pos())
			}
		}
		return true
	})
	return found
}

// underLoad reports whether a file is only built with the tag load.
func underLoad(f *ast.File) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if expr, err := constraint.Parse(c.Text); err == nil && c.Pos() < f.Package {
				return !expr.Eval(func(tag string) bool { return tag != "load" })
			}
		}
	}
	return false
}
