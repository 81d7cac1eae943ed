package lazyregexp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestExpressions compiles the expressions of the project.
func TestExpressions(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "New" || len(call.Args) != 1 || !isNamed(f.X, "lazyregexp") {
				return true
			}
			found++
			if _, err := regexp.Compile(text(call.Args[0])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return true
		})
		return nil
	})
	if err != nil || found < 100 {
		t.Errorf("found %d expressions: %v", found, err)
	}
}

func isNamed(e ast.Expr, name string) bool {
	x, ok := e.(*ast.Ident)
	return ok && x.Name == name
}

// text evaluates a literal, or a sum of literals; names, of constants, become a group.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		if err != nil {
			return "("
		}
		return s
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	case *ast.CallExpr:
		return strings.Repeat("x", len(e.Args))
	}
	return "x"
}
