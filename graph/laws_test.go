package graph

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// component is what the laws hold for.
type component struct {
	name string
	objs []object.Object
}

// components are the stories of package wave, and random mixtures of their objects.
var components = sync.OnceValues(func() (all []component, err error) {
	files, err := filepath.Glob("../wave/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no stories: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		objs, err := object.Parse("in.yaml", 1, string(txtar.Parse(data).Files[0].Data))
		if err == nil && len(objs) > 0 {
			all = append(all, component{strings.TrimSuffix(filepath.Base(file), ".txtar"), objs})
		}
	}
	stories, random := all, rand.New(rand.NewPCG(7, 8))
	for i := range 100 {
		var mixed []object.Object
		seen := map[object.ID]bool{}
		for range 2 + random.IntN(6) {
			for _, o := range stories[random.IntN(len(stories))].objs {
				if !seen[o.ID] && random.IntN(5) > 0 {
					seen[o.ID] = true
					mixed = append(mixed, o)
				}
			}
		}
		all = append(all, component{fmt.Sprint("mixed ", i), mixed})
	}
	return all, nil
})

// charts keeps the objects of real charts by their texts.
var charts = map[string][]object.Object{}

// eachComponent runs a case for every story of package wave, for random mixtures of
// their objects, and for a sample of real charts.
func eachComponent(t *testing.T, run func(t *testing.T, objs []object.Object)) {
	t.Helper()
	all, err := components()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) { run(t, c.objs) })
	}
	t.Run("corpus", func(t *testing.T) {
		golden.SomeCharts(t, func(t *testing.T, text string) {
			if charts[text] == nil {
				objs, err := object.Parse("corpus.yaml", 1, text)
				if err != nil {
					t.Fatal(err)
				}
				charts[text] = objs
			}
			run(t, charts[text])
		})
	})
}

// graphOf returns the graph of a component, which several laws are about.
func graphOf(objs []object.Object) (*Graph, error) {
	if len(objs) == 0 {
		return Build(nil, knowledge.Default(), Options{})
	}
	g, known := graphs[&objs[0]]
	if !known {
		g.Graph, g.err = Build(objs, knowledge.Default(), Options{Namespace: "ns"})
		graphs[&objs[0]] = g
	}
	return g.Graph, g.err
}

// graphs keeps what graphOf returned by the first object: components keep theirs.
var graphs = map[*object.Object]struct {
	*Graph
	err error
}{}

// describe returns everything that a graph says.
func describe(g *Graph, err error) string {
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	b.WriteString(g.String())
	for _, r := range g.References {
		fmt.Fprintf(&b, "%+v\n", r)
	}
	for _, r := range g.Aside {
		fmt.Fprintf(&b, "aside %+v\n", r)
	}
	for _, n := range g.Nodes {
		fmt.Fprintln(&b, n.Key, n.Role, n.RoleWhy, n.Companion, n.Reconciles, n.Health, n.Doubt, n.TemporarilyDegraded)
	}
	fmt.Fprintln(&b, g.Claims, g.Creations, g.Findings)
	return b.String()
}

// TestRulesInAnyOrder: the rules of a pass do not see each other's results.
func TestRulesInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	eachComponent(t, func(t *testing.T, objs []object.Object) {
		shuffled := rules{slices.Clone(roleRules), slices.Clone(referenceRules), derivations}
		random.Shuffle(len(shuffled.roles), reflect.Swapper(shuffled.roles))
		random.Shuffle(len(shuffled.references), reflect.Swapper(shuffled.references))
		other := describe(build(shuffled, []Part{{Objects: objs, Namespace: "ns"}}, knowledge.Default(), facts.Options{}))
		if diff := cmp.Diff(describe(graphOf(objs)), other); diff != "" {
			t.Errorf("the order of the rules matters (-in order +shuffled):\n%s", diff)
		}
	})
}

// TestNodesInAnyOrder: the graph depends on the set of objects only.
func TestNodesInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	eachComponent(t, func(t *testing.T, objs []object.Object) {
		shuffled := slices.Clone(objs)
		random.Shuffle(len(shuffled), reflect.Swapper(shuffled))
		other := describe(Build(shuffled, knowledge.Default(), Options{Namespace: "ns"}))
		if diff := cmp.Diff(describe(graphOf(objs)), other); diff != "" {
			t.Errorf("the order of the objects matters (-in order +shuffled):\n%s", diff)
		}
	})
}

// unrelated are objects that nothing in a component can refer to, and that refer to nothing
// in it: a program with everything that usually comes with one, and an operator.
const unrelated = `
{apiVersion: v1, kind: Namespace, metadata: {name: elsewhere-q}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: quux, namespace: elsewhere-q}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: quux, namespace: elsewhere-q}, data: {URL: "http://quux-db:5432"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: quux, namespace: elsewhere-q}, stringData: {password: x}}
---
{apiVersion: v1, kind: Service, metadata: {name: quux-db, namespace: elsewhere-q}, spec: {selector: {app: quux-db}, ports: [{port: 5432}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: quux-db, namespace: elsewhere-q}
spec: {serviceName: quux-db, selector: {matchLabels: {app: quux-db}}, template: {metadata: {labels: {app: quux-db}}, spec: {containers: [{name: db, image: quux.example.com/db:1}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: quux, namespace: elsewhere-q}
spec:
  selector: {matchLabels: {app: quux}}
  template:
    metadata: {labels: {app: quux}}
    spec: {serviceAccountName: quux, containers: [{name: quux, image: quux.example.com/quux:1, envFrom: [{configMapRef: {name: quux}}, {secretRef: {name: quux}}]}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: quux-migrate, namespace: elsewhere-q}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: quux.example.com/quux:1, args: [migrate, "--host=quux-db"]}]}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: quuxes.quux.example.com}
spec: {group: quux.example.com, scope: Namespaced, names: {kind: Quux, plural: quuxes}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}
---
{apiVersion: quux.example.com/v1, kind: Quux, metadata: {name: quux, namespace: elsewhere-q}}
`

// TestUnrelatedObjects: adding objects that have nothing to do with the others changes no
// reference between the others. What a program with permissions for everything is for may
// change: it is related to every kind.
func TestUnrelatedObjects(t *testing.T) {
	more, err := object.Parse("unrelated.yaml", 1, unrelated)
	if err != nil {
		t.Fatal(err)
	}
	tried, related := 0, 0
	between := func(g *Graph, err error) []string {
		if err != nil {
			return nil
		}
		foreign := func(i int) bool { return g.Nodes[i].File == "unrelated.yaml" }
		key := func(i int) string { return fmt.Sprint(g.Nodes[i].Key, g.Nodes[i].IsHook(), g.Nodes[i].Phases()) }
		var all []string
		for _, r := range g.References {
			if foreign(r.From) != foreign(r.To) {
				return nil // a webhook or an agent for everything: they are related
			}
			if !foreign(r.From) {
				from, to := r.From, r.To
				r.From, r.To = 0, 0
				all = append(all, fmt.Sprintf("%s %s %+v", key(from), key(to), r))
			}
		}
		return all
	}
	eachComponent(t, func(t *testing.T, objs []object.Object) {
		before := between(graphOf(objs))
		after := between(Build(slices.Concat(objs, more), knowledge.Default(), Options{Namespace: "ns"}))
		if tried++; before != nil && after == nil {
			related++
		} else if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("unrelated objects change references between the others (-without +with):\n%s", diff)
		}
	})
	if related > tried/5 {
		t.Errorf("in %d of %d components the objects are related to others", related, tried)
	}
}

// TestSetAside: what is set aside has no effect, and names what says more.
func TestSetAside(t *testing.T) {
	eachComponent(t, func(t *testing.T, objs []object.Object) {
		g, err := graphOf(objs)
		if err != nil {
			return
		}
		for _, a := range g.Aside {
			if slices.Contains(g.References, a.Reference) {
				t.Errorf("%s %s %s is set aside and has an effect", g.Nodes[a.From].Key, a.Why, g.Nodes[a.To].Key)
			}
			if a.By.Sign < a.Sign && a.Sign != Address && a.By.Sign != Registration {
				t.Errorf("%s (%s) yields to %s (%s), which says less", a.Why, a.Sign, a.By.Why, a.By.Sign)
			}
		}
	})
}

// TestNothingIsSet: the rules change neither facts nor references that they are given. The
// types leave three ways: to assign through Nodes, through a pointer that a set or the
// facts return, or to a package's variable.
func TestNothingIsSet(t *testing.T) {
	var files []string
	for _, rules := range []string{"roles.go", "ref_*.go", "derive_*.go", "report_*.go"} {
		found, err := filepath.Glob(rules)
		if err != nil || len(found) == 0 {
			t.Fatalf("no file is %s: %v", rules, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				if g := d.(*ast.GenDecl); g.Tok == token.VAR {
					for _, s := range g.Specs {
						if v := s.(*ast.ValueSpec); len(v.Values) == 0 {
							t.Errorf("%s: a variable that a function may fill: %s", fset.Position(v.Pos()), v.Names[0])
						}
					}
				}
				continue
			}
			for _, found := range assignedThrough(f) {
				t.Errorf("%s: %s assigns to what it was given", fset.Position(found), f.Name)
			}
		}
	}
}

// assignedThrough returns the places where a function assigns to a field of what it did
// not make itself: nodes, mentions and webhooks, and references of a set.
func assignedThrough(f *ast.FuncDecl) (found []token.Pos) {
	given := map[string]bool{} // variables that point into facts or sets
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && i < len(n.Rhs) {
					if p, isPointer := n.Rhs[i].(*ast.UnaryExpr); isPointer && p.Op == token.AND {
						if _, made := p.X.(*ast.CompositeLit); !made {
							given[name.Name] = true
						}
					}
				}
				field, ok := left.(*ast.SelectorExpr)
				if !ok {
					continue
				}
				switch root := field.X.(type) {
				case *ast.Ident:
					if given[root.Name] {
						found = append(found, left.Pos())
					}
				case *ast.IndexExpr:
					if nodes, ok := root.X.(*ast.SelectorExpr); ok && nodes.Sel.Name == "Nodes" {
						found = append(found, left.Pos())
					}
				}
			}
		case *ast.RangeStmt: // for r := range s.Of(node)
			if name, ok := n.Key.(*ast.Ident); ok && n.Value == nil {
				if call, ok := n.X.(*ast.CallExpr); ok {
					if method, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"All", "Of", "To", "Between"}, method.Sel.Name) {
						given[name.Name] = true
					}
				}
			}
		}
		return true
	})
	return found
}
