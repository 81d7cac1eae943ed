package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
)

// Jsonnet is the input of jsonnet files, like source.directory.jsonnet of an
// Application.
type Jsonnet struct {
	// TLAs are top-level arguments, for files that are functions. ExtVars are the
	// values of std.extVar.
	TLAs, ExtVars []Variable
	// Libs are library directories, relative to the root of the repository. The
	// last is searched first, and all of them after the directory of the importing
	// file.
	Libs []string
}

// Variable is a named string, or code that evaluates to a value.
type Variable struct {
	Name, Value string
	Code        bool
}

// maxJsonnetFrames limits the depth of calls, and so recursion. It is the library's
// default, set here so that a new release of it does not change the output.
const maxJsonnetFrames = 500

// jsonnetFile evaluates a file to an object or an array of objects, like Argo CD
// (reposerver/repository, findManifests).
func (s source) jsonnetFile(name string) ([]object.Object, error) {
	if _, skip, err := s.readUnlessSkipped(name); skip || err != nil {
		return nil, err
	}
	vm, in := s.jsonnetVM()
	var cause error
	vm.ErrorFormatter = errorCapture{&cause}
	text, err := vm.EvaluateFile(path.Join(s.Dir, name))
	if err != nil {
		return nil, s.jsonnetFault(name, cmp.Or(cause, err), in.failed)
	}
	return s.jsonnetObjects(name, text)
}

// jsonnetVM prepares the evaluation of one file, with the importer that it uses.
func (s source) jsonnetVM() (*jsonnet.VM, *importer) {
	vm := jsonnet.MakeVM()
	vm.MaxStack = maxJsonnetFrames
	vm.SetTraceOut(io.Discard) // the output of std.trace may be a secret
	set := func(all []Variable, text, code func(name, value string)) {
		for _, v := range all {
			if v.Code {
				code(v.Name, v.Value)
				continue
			}
			text(v.Name, v.Value)
		}
	}
	set(s.opt.Directory.Jsonnet.TLAs, vm.TLAVar, vm.TLACode)
	set(s.opt.Directory.Jsonnet.ExtVars, vm.ExtVar, vm.ExtCode)
	in := &importer{source: s, paths: []string{s.Dir}, contents: map[string]jsonnet.Contents{}}
	for _, lib := range s.opt.Directory.Jsonnet.Libs {
		at, _ := input.RepoPath(".", lib) // invalid ones are reported by libraries
		in.paths = append(in.paths, at)
	}
	vm.Importer(in)
	return vm, in
}

// libraries reports library paths that are not directories of the repository.
func (s source) libraries() error {
	var faults []error
	for i, lib := range s.opt.Directory.Jsonnet.Libs {
		f := finding.Finding{Severity: finding.Error, Rule: "jsonnet", Field: fmt.Sprintf("parameter libs[%d]", i),
			Remedy: "name a directory relative to the root of the repository"}
		at, ok := input.RepoPath(".", lib)
		info, err := fs.FileInfo(nil), error(nil)
		if ok {
			info, err = fs.Stat(s.FS, at)
		}
		switch {
		case !ok:
			f.Message = lib + " leaves the repository"
		case errors.Is(err, fs.ErrNotExist):
			f.Message = "directory " + lib + " not found"
		case err != nil:
			f.Message = lib + ": " + input.Cause(err)
		case !info.IsDir():
			f.Message = lib + " is a file"
		default:
			continue
		}
		faults = append(faults, f)
	}
	return errors.Join(faults...)
}

// jsonnetObjects parses the result of a file.
func (s source) jsonnetObjects(name, text string) ([]object.Object, error) {
	shown := s.Show(path.Join(s.Dir, name))
	items := []json.RawMessage{json.RawMessage(text)}
	array := strings.HasPrefix(text, "[")
	if array {
		if err := json.Unmarshal([]byte(text), &items); err != nil {
			return nil, s.Fault("jsonnet", name, "its output cannot be read: "+err.Error(),
				"make the file evaluate to an object or an array of objects")
		}
	}
	var objs []object.Object
	var faults []error
	for i, item := range items {
		if bytes.Equal(item, []byte("null")) {
			continue
		}
		if !bytes.HasPrefix(item, []byte("{")) {
			f := s.Fault("jsonnet", name, "its output is not an object", "make the file evaluate to an object or an array of objects")
			if array {
				f.Field, f.Message, f.Remedy = fmt.Sprintf("[%d]", i), "not an object", "make each element an object"
			}
			faults = append(faults, f)
			continue
		}
		block, err := yaml.JSONToYAML(item)
		if err != nil {
			return nil, s.Fault("jsonnet", name, err.Error(), "make the file evaluate to an object or an array of objects")
		}
		parsed, err := s.opt.Memory.Parse(shown, 0, string(block))
		objs = append(objs, parsed...)
		for _, f := range finding.Of(err) {
			f.File = shown
			if array {
				f.Field = strings.TrimSuffix(fmt.Sprintf("[%d].%s", i, f.Field), ".")
			}
			faults = append(faults, f)
		}
	}
	return objs, errors.Join(faults...)
}

// errorCapture is an ErrorFormatter that keeps the error, of which the library returns only
// the text.
type errorCapture struct{ err *error }

func (k errorCapture) Format(err error) string                  { *k.err = err; return err.Error() }
func (k errorCapture) SetMaxStackTraceSize(int)                 {}
func (k errorCapture) SetColorFormatter(jsonnet.ColorFormatter) {}

// jsonnetParameter matches the library's name for code that is not in a file.
var jsonnetParameter = lazyregexp.New(`^<(extvar|top-level-arg):([^>]*)>`)

// jsonnetFault reports where an evaluation failed in the repository. imported is the error
// of the import that failed, if one did: the library ends the evaluation with its text.
// Its other errors have no types, so their texts decide.
func (s source) jsonnetFault(name string, err error, imported *importError) error {
	var f finding.Finding
	if errors.As(err, &f) {
		return f
	}
	f = s.Fault("jsonnet", name, strings.TrimPrefix(err.Error(), "RUNTIME ERROR: "), "correct the jsonnet code")
	var places []ast.LocationRange
	var static interface{ Loc() ast.LocationRange }
	var running jsonnet.RuntimeError
	switch {
	case errors.As(err, &static):
		at := static.Loc()
		places = []ast.LocationRange{at}
		f.Message = strings.TrimSpace(strings.TrimPrefix(err.Error(), at.String()))
	case errors.As(err, &running):
		f.Message = running.Msg
		for _, frame := range slices.Backward(running.StackTrace) { // outermost first
			places = append(places, frame.Loc)
		}
	}
	switch {
	case imported != nil:
		f.Remedy = cmp.Or(imported.remedy, f.Remedy)
	case strings.Contains(f.Message, "max stack frames exceeded"):
		f.Message, f.Remedy = fmt.Sprintf("calls are nested more than %d deep", maxJsonnetFrames), "end the recursion"
	case strings.Contains(f.Message, "ndefined external variable"):
		f.Remedy = "set it with the ext-vars or ext-vars-code parameter"
	case strings.Contains(f.Message, "issing argument"):
		f.Remedy = "set it with the tlas or tlas-code parameter"
	case strings.Contains(f.Message, "function has no parameter"):
		f.Remedy = "correct the name in the tlas or tlas-code parameter, or add an argument of this name to the function"
	case strings.Contains(f.Message, "manifest function as JSON"):
		f.Message, f.Remedy = "the file evaluates to a function",
			"set the arguments with the tlas or tlas-code parameter, or call the function in the file"
	}
	f.About = f.Message
	for _, place := range places {
		if m := jsonnetParameter.FindStringSubmatch(place.String()); m != nil {
			f.File, f.Field, f.Remedy = "", "parameter ext-vars-code "+m[2], "correct the jsonnet code in the parameter"
			if m[1] != "extvar" {
				f.Field = "parameter tlas-code " + m[2]
			}
			return f
		}
		// The library's own code and parameters are not files.
		if place.Begin.Line > 0 && place.FileName != "" && input.FileExists(s.FS, place.FileName) {
			f.File, f.Line = s.Show(place.FileName), place.Begin.Line
			break
		}
	}
	return f
}

// importError is an import that failed.
type importError struct {
	name, message string
	// remedy is empty if the code itself is to be corrected.
	remedy string
}

func (e *importError) Error() string { return fmt.Sprintf("import of %q%s", e.name, e.message) }

// importer reads jsonnet imports from the repository.
type importer struct {
	source
	// paths are searched in reverse order.
	paths    []string
	contents map[string]jsonnet.Contents
	// failed is the first import that failed.
	failed *importError
}

// Import finds a file next to the importing one, or in one of the paths, and reads it.
func (in *importer) Import(from, name string) (jsonnet.Contents, string, error) {
	p, fault := in.find(from, name)
	var contents jsonnet.Contents
	if fault == nil {
		contents, fault = in.read(p)
	}
	if fault != nil {
		in.failed = cmp.Or(in.failed, fault)
		return jsonnet.Contents{}, "", fault
	}
	return contents, p, nil
}

// find returns the path of an import.
func (in *importer) find(from, name string) (string, *importError) {
	if path.IsAbs(name) {
		return "", &importError{name, ": not a path relative to this file or to a library", ""}
	}
	places := []string{path.Dir(from)}
	if from == "" { // the file to evaluate
		places = []string{"."}
	}
	for _, p := range slices.Backward(in.paths) {
		places = append(places, p)
	}
	outside := false
	for _, place := range places {
		p := path.Join(place, name)
		if !fs.ValidPath(p) {
			outside = true
			continue
		}
		info, err := fs.Stat(in.FS, p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", &importError{name, ": " + input.Cause(err), ""}
		}
		if !info.Mode().IsRegular() {
			return "", &importError{name, ": " + in.Show(p) + " is not a regular file", ""}
		}
		return p, nil
	}
	if outside {
		return "", &importError{name, " leaves the repository", "import a file inside the repository"}
	}
	return "", &importError{name, ": not found next to this file, in the component or in a library (libs)",
		`correct the path, or set the "libs" parameter`}
}

func (in *importer) read(p string) (jsonnet.Contents, *importError) {
	if c, known := in.contents[p]; known {
		return c, nil
	}
	data, err := fs.ReadFile(in.FS, p)
	if err != nil {
		return jsonnet.Contents{}, &importError{p, ": " + input.Cause(err), ""}
	}
	in.contents[p] = jsonnet.MakeContentsRaw(data)
	return in.contents[p], nil
}
