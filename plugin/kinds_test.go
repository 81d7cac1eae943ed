package plugin_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
)

// namedKinds are the kinds that code may name: those of Kubernetes that rules
// about names, addresses and rights are about, whose form every cluster knows.
// Whatever an operator brings is data.
var namedKinds = []string{"Namespace", "Service", "ServiceAccount", "ConfigMap", "Secret", "List"}

// TestKindsAreData keeps names of kinds out of the code of the packages that
// know, refer and order.
func TestKindsAreData(t *testing.T) {
	known := map[string]bool{}
	for _, g := range knowledge.Default().Groups() {
		for _, k := range g.Kinds {
			known[k.Kind] = true
		}
	}
	delete(known, "Cluster") // is a scope, too
	delete(known, "Group")   // is a subject of rights, too
	delete(known, "*")       // is any kind
	read := 0
	for _, dir := range []string{"knowledge", "graph", "wave", "argocd/health", "internal/draw", "plugin", "fleet/link", "fleet/appofapps"} {
		files, err := filepath.Glob("../" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			read++
			fset := token.NewFileSet()
			parsed, err := parser.ParseFile(fset, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				if err == nil && known[text] && !slices.Contains(namedKinds, text) {
					t.Errorf("%s names the kind %s; make it an attribute of the record of the kind", fset.Position(lit.Pos()), text)
				}
				return true
			})
		}
	}
	if read < 20 {
		t.Errorf("only %d files were read", read)
	}
}
