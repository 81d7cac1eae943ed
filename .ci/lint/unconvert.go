package main

import (
	"go/token"

	"github.com/golangci/unconvert"
	"golang.org/x/tools/go/analysis"
)

// unconverted reports conversions of a value to the type that it has.
var unconverted = &analysis.Analyzer{
	Name: "unconvert",
	Doc:  "report conversions of a value to the type that it has",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, at := range unconvert.Run(pass) {
			for _, f := range pass.Files {
				file := pass.Fset.File(f.Package)
				if file.Name() == at.Filename {
					pass.Reportf(file.LineStart(at.Line)+token.Pos(at.Column-1), "unnecessary conversion")
				}
			}
		}
		return nil, nil
	},
}
