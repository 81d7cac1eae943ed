// Command lint finds what a review should not have to: what staticcheck and a few
// analyzers find in packages, and files, functions and lines that are too long, words that
// are misspelt and tests that depend on the clock in the whole repository. It runs at the
// root of the repository.
package main

import (
	"fmt"
	"os"

	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"github.com/polyfloyd/go-errorlint/errorlint"
	"github.com/timakin/bodyclose/passes/bodyclose"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/unusedwrite"
	"golang.org/x/tools/go/analysis/passes/waitgroup"
	"honnef.co/go/tools/lintcmd"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

func main() {
	code := texts(".")
	rules, err := ruled(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(2)
	}
	cmd := lintcmd.NewCommand("lint")
	cmd.ParseFlags(os.Args[1:])
	cmd.AddAnalyzers(simple.Analyzers...)
	cmd.AddAnalyzers(staticcheck.Analyzers...)
	cmd.AddAnalyzers(stylecheck.Analyzers...)
	cmd.AddAnalyzers(unused.Analyzer)
	cmd.AddBareAnalyzers(
		bodyclose.Analyzer,
		errorlint.NewAnalyzer(),
		ineffassign.Analyzer,
		nilness.Analyzer,
		rules,
		unusedwrite.Analyzer,
		waitgroup.Analyzer,
		unconverted,
	)
	os.Exit(max(code, cmd.Execute()))
}

// texts prints what is wrong with files as texts and returns the exit code.
func texts(root string) int {
	tree := os.DirFS(root)
	tooLong, err := sizes(tree)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		return 2
	}
	misspelt, err := spelling(tree)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		return 2
	}
	timed, err := clocks(tree)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		return 2
	}
	found := append(append(tooLong, misspelt...), timed...)
	for _, f := range found {
		fmt.Println(f)
	}
	return min(len(found), 1)
}
