package main

import (
	"go/ast"
	"go/constant"
	"go/types"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// described matches the description of a rule in the catalogue, and in the lists of pages.
var described = regexp.MustCompile("(?m)^- (?:rule: |`)([a-z-]+)(?:$|` \\()")

// ruled reports rules of findings that no document describes. tree is the root of the repository.
func ruled(tree fs.FS) (*analysis.Analyzer, error) {
	pages, err := fs.Glob(tree, "docs/*.md")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{"failed": true} // of errors without a rule, which is not printed
	for _, name := range append(pages, "internal/cli/rules.yaml") {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		for _, match := range described.FindAllSubmatch(text, -1) {
			known[string(match[1])] = true
		}
	}
	return &analysis.Analyzer{
		Name: "rules",
		Doc:  "report rules of findings that no document describes",
		Run: func(pass *analysis.Pass) (any, error) {
			for _, file := range pass.Files {
				if strings.HasSuffix(pass.Fset.File(file.Package).Name(), "_test.go") {
					continue
				}
				ast.Inspect(file, func(n ast.Node) bool {
					e, ok := n.(ast.Expr)
					if !ok {
						return true
					}
					rule, ok := ruleOf(pass.TypesInfo.Types[e])
					if ok && rule != "" && !known[rule] {
						pass.Reportf(e.Pos(), "the rule %q is not described in internal/cli/rules.yaml", rule)
					}
					return !ok
				})
			}
			return nil, nil
		},
	}, nil
}

// ruleOf returns the value of a constant of type finding.Rule.
func ruleOf(v types.TypeAndValue) (rule string, ok bool) {
	named, ok := types.Unalias(v.Type).(*types.Named)
	if !ok || v.Value == nil || named.Obj().Name() != "Rule" || path.Base(named.Obj().Pkg().Path()) != "finding" {
		return "", false
	}
	return constant.StringVal(v.Value), true
}
