package plugin_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// walks are the headings of the walks in docs/development.md, with the hops that each
// may have.
var walks = map[string]int{
	"From `cmp render DIR` to the manifests": 10,
	"From a plugin request to the manifests": 12,
}

// hop is a row of a walk: a function, and the hop that calls it.
type hop struct {
	number         string
	receiver, name string // the receiver may be the package
	caller         string // the number of a hop; empty at the start
	message        string // the type by which the caller reaches another process
	file           string
}

var (
	hopRow    = regexp.MustCompile("(?m)^\\| (\\d+) \\| `(?:(\\w+)\\.)?(\\w+)` \\| ([^|]+) \\| `([^`]+\\.go)` \\|")
	callerRow = regexp.MustCompile("^(\\d+)(?:, by the message `(\\w+)`)?$")
)

// TestWalksAreTrue follows the walks in docs/development.md through the code: each hop
// is called by the one that its row names, in the order of the table, directly or
// through functions of the caller's file.
func TestWalksAreTrue(t *testing.T) {
	text, err := os.ReadFile("../docs/development.md")
	if err != nil {
		t.Fatal(err)
	}
	var all [][]hop
	for heading, limit := range walks {
		_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		var hops []hop
		for i, row := range hopRow.FindAllStringSubmatch(section, -1) {
			h := hop{number: row[1], receiver: row[2], name: row[3], file: row[5]}
			if caller := callerRow.FindStringSubmatch(row[4]); caller != nil {
				h.caller, h.message = caller[1], caller[2]
			}
			if n, err := strconv.Atoi(h.number); err != nil || n != i+1 || (i == 0) != (h.caller == "") {
				t.Errorf("%s: hop %d has the number %s and is called by %q", heading, i+1, row[1], row[4])
			}
			hops = append(hops, h)
		}
		if !found || len(hops) == 0 || len(hops) > limit {
			t.Fatalf("%s: %d hops, want 1 to %d", heading, len(hops), limit)
		}
		all = append(all, hops)
	}
	code := loadCode(t, slices.Concat(all...))
	for _, hops := range all {
		code.follow(t, hops)
	}
}

// follow looks for the calls of a walk.
func (c code) follow(t *testing.T, hops []hop) {
	t.Helper()
	functions, last := map[string]*types.Func{}, map[string]int{}
	for _, h := range hops {
		f := c.find(h)
		if f == nil {
			t.Errorf("%s has no %s", h.file, h)
			continue
		}
		functions[h.number] = f
		caller := functions[h.caller]
		if caller == nil {
			continue // the first, or reported
		}
		if h.message != "" {
			isMessage := func(o types.Object) bool {
				name, ok := o.(*types.TypeName)
				return ok && name.Pkg() == f.Pkg() && name.Name() == h.message
			}
			if !slices.ContainsFunc(c.uses(caller), isMessage) || !slices.ContainsFunc(c.uses(f), isMessage) {
				t.Errorf("%s and %s do not both use the message %s", caller.FullName(), f.FullName(), h.message)
			}
			continue
		}
		at := slices.IndexFunc(c.uses(caller), func(o types.Object) bool { return isCallOf(o, f) })
		if at < 0 {
			t.Errorf("hop %s: %s does not call %s, not through functions of its file either", h.number, caller.FullName(), f.FullName())
		} else if at < last[h.caller] {
			t.Errorf("hop %s: %s calls %s before the hop above", h.number, caller.FullName(), f.FullName())
		}
		last[h.caller] = at
	}
}

func (h hop) String() string { return strings.TrimPrefix(h.receiver+"."+h.name, ".") }

// isCallOf reports whether an object that a function uses is another function, or the
// method of an interface that the other implements.
func isCallOf(o types.Object, f *types.Func) bool {
	used, ok := o.(*types.Func)
	if !ok || used.Name() != f.Name() {
		return false
	}
	if used.FullName() == f.FullName() {
		return true
	}
	if used.Signature().Recv() == nil || f.Signature().Recv() == nil {
		return false
	}
	asked, isInterface := used.Signature().Recv().Type().Underlying().(*types.Interface)
	return isInterface && types.Implements(f.Signature().Recv().Type(), asked)
}

// code is the syntax of packages, with what their names mean.
type code map[string]declared // by the full name of the function

type declared struct {
	*types.Func
	body *ast.FuncDecl
	info *types.Info
	file string
}

// loadCode reads the packages of the hops, and the types of what they import.
func loadCode(t *testing.T, hops []hop) code {
	t.Helper()
	list := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export,DepOnly"}
	for _, h := range hops {
		list = append(list, module+path.Dir(h.file))
	}
	out, err := exec.Command("go", list...).Output()
	if err != nil {
		t.Fatal(err)
	}
	exports, files, fset := map[string]string{}, map[string][]string{}, token.NewFileSet()
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
			DepOnly                 bool
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		for _, name := range p.GoFiles {
			if !p.DepOnly {
				files[p.ImportPath] = append(files[p.ImportPath], filepath.Join(p.Dir, name))
			}
		}
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	all := code{}
	for name, of := range files {
		info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		var syntax []*ast.File
		for _, file := range of {
			parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			syntax = append(syntax, parsed)
		}
		if _, err := conf.Check(name, fset, syntax, info); err != nil {
			t.Fatal(err)
		}
		for i, file := range syntax {
			for _, d := range file.Decls {
				if body, ok := d.(*ast.FuncDecl); ok {
					f := info.Defs[body.Name].(*types.Func)
					all[f.FullName()] = declared{f, body, info, of[i]}
				}
			}
		}
	}
	return all
}

// find returns the function of a hop, or nil.
func (c code) find(h hop) *types.Func {
	for _, d := range c {
		if d.Name() != h.name || !strings.HasSuffix(d.file, "/"+h.file) {
			continue
		}
		owner := d.Pkg().Name()
		if recv := d.Signature().Recv(); recv != nil {
			of := recv.Type()
			if pointer, ok := of.(*types.Pointer); ok {
				of = pointer.Elem()
			}
			owner = of.(*types.Named).Obj().Name()
		} else if h.receiver == "" {
			return d.Func
		}
		if owner == h.receiver {
			return d.Func
		}
	}
	return nil
}

// uses returns what a function uses, directly or through functions of its file, in the
// order of the text.
func (c code) uses(f *types.Func) []types.Object {
	var all []types.Object
	seen := map[string]bool{}
	var visit func(d declared)
	visit = func(d declared) {
		seen[d.FullName()] = true
		ast.Inspect(d.body, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || d.info.Uses[id] == nil {
				return true
			}
			used := d.info.Uses[id]
			all = append(all, used)
			if called, ok := used.(*types.Func); ok {
				if next, known := c[called.Origin().FullName()]; known && next.file == d.file && !seen[next.FullName()] {
					visit(next)
				}
			}
			return true
		})
	}
	visit(c[f.FullName()])
	return all
}
