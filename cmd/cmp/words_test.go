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
	eachOtherText(t, look)
	for _, w := range words {
		for _, e := range w.exempt {
			if !used[w.word.String()+" "+e] {
				t.Errorf("%s need not be exempt from %s", e, w.word)
			}
		}
	}
}

// eachOtherText calls a function with every line of the templates, scripts and Lua files of the
// program, and of the files in deploy.
func eachOtherText(t *testing.T, look func(file, text string, line int)) {
	t.Helper()
	read := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case !slices.Contains([]string{".tmpl", ".js", ".lua"}, filepath.Ext(file)) &&
			!(strings.HasPrefix(file, "deploy/") && slices.Contains([]string{".yaml", ".json", ".sh"}, filepath.Ext(file))):
			return nil
		}
		text, err := os.ReadFile(file)
		for i, line := range strings.Split(string(text), "\n") {
			look(file, line, i+1)
		}
		read++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 20 {
		t.Errorf("read only %d files", read)
	}
}

// eachLiteral calls a function with every string of more than one word in the program,
// below the working directory.
func eachLiteral(t *testing.T, look func(file, text string, line int)) {
	eachSource(t, ".", func(file string, tree *ast.File, positions *token.FileSet) {
		ast.Inspect(tree, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.Contains(l.Value, " ") {
				look(file, l.Value, positions.Position(l.Pos()).Line)
			}
			return true
		})
	})
}

// skipped are directories whose texts only contributors see.
var skipped = []string{".git", ".ci", "testdata", "e2e", "conformance", "bench", "dist"}

// eachSource calls a function with every Go file of the program below a root, tests aside.
func eachSource(t *testing.T, root string, look func(file string, tree *ast.File, positions *token.FileSet)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		positions := token.NewFileSet()
		tree, err := parser.ParseFile(positions, filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err == nil {
			look(file, tree, positions)
		}
		return err
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

// withoutFix are the functions that make errors or warnings without a fix, and why.
var withoutFix = map[string]string{
	"internal/finding/finding.go Of":     "the text of a library",
	"internal/remote/sources.go missing": "its caller adds what helps, which depends on whether fetching is on",
}

// TestFindingsHaveAFix reads the program for findings: each error and warning gets a fix in
// the function that makes it, or a reason here why there is none.
func TestFindingsHaveAFix(t *testing.T) {
	used := map[string]bool{}
	made := 0
	eachSource(t, "../..", func(file string, tree *ast.File, positions *token.FileSet) {
		for _, decl := range tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || assigns(f, "Remedy") {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				for _, keys := range madeFindings(n) {
					made++
					if _, fixed := keys["Remedy"]; fixed || keys["Severity"] == "Note" || keys["Severity"] == "" {
						continue
					}
					where := file + " " + f.Name.Name
					if used[where] = true; withoutFix[where] == "" {
						t.Errorf("%s: %s makes a finding without a Remedy", positions.Position(n.Pos()), f.Name.Name)
					}
				}
				return true
			})
		}
	})
	if made < 100 {
		t.Fatalf("the program makes only %d findings: the test does not see them", made)
	}
	for where := range withoutFix {
		if !used[where] {
			t.Errorf("%s makes no finding without a fix: remove the exception", where)
		}
	}
}

// assigns reports whether a function assigns to a field of a name.
func assigns(f *ast.FuncDecl, field string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			found = found || slices.ContainsFunc(a.Lhs, func(e ast.Expr) bool {
				s, ok := e.(*ast.SelectorExpr)
				return ok && s.Sel.Name == field
			})
		}
		return !found
	})
	return found
}

// madeFindings are the fields that literals of type Finding set, with the last name of each
// value: of one, or of those in a list whose elements name no type.
func madeFindings(n ast.Node) (all []map[string]string) {
	literal, ok := n.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	literals := []*ast.CompositeLit{literal}
	made := literal.Type
	if list, ok := made.(*ast.ArrayType); ok {
		made, literals = list.Elt, nil
		for _, e := range literal.Elts {
			if inner, ok := e.(*ast.CompositeLit); ok && inner.Type == nil {
				literals = append(literals, inner)
			}
		}
	}
	if lastName(made) != "Finding" {
		return nil
	}
	for _, l := range literals {
		keys := map[string]string{}
		for _, e := range l.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				keys[lastName(kv.Key)] = lastName(kv.Value)
			}
		}
		if len(keys) > 0 {
			all = append(all, keys)
		}
	}
	return all
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
