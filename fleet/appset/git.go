package appset

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// gitGenerator finds directories or files in a repository.
type gitGenerator struct {
	RepoURL         string            `json:"repoURL"`
	Directories     []gitPattern      `json:"directories"`
	Files           []gitPattern      `json:"files"`
	PathParamPrefix string            `json:"pathParamPrefix"`
	Values          map[string]string `json:"values"`
}

type gitPattern struct {
	Path    string `json:"path"`
	Exclude bool   `json:"exclude"`
}

// git returns the parameters of a git generator.
func (e expansion) git(v any) ([]params, error) {
	var g gitGenerator
	if err := decode(v, &g); err != nil {
		return nil, fmt.Errorf("the git generator is invalid: %w", err)
	}
	var repo fs.FS
	if e.Open != nil {
		repo = e.Open(g.RepoURL)
	}
	if repo == nil {
		if _, known := e.Values[e.name]["git"]; known {
			return e.valuesOf("git", v)
		}
		return nil, outsideError{fmt.Sprintf("the git generator reads the repository %s, which is not available, so its Applications are unknown",
			g.RepoURL)}
	}
	switch {
	case len(g.Directories) > 0:
		return e.directories(repo, g)
	case len(g.Files) > 0:
		return e.files(repo, g)
	}
	return nil, errors.New("the git generator has neither directories nor files")
}

// directories returns the parameters of each directory that is included and not
// excluded. Hidden directories are skipped.
func (e expansion) directories(repo fs.FS, g gitGenerator) ([]params, error) {
	var all []params
	err := fs.WalkDir(repo, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir() || p == ".":
			return err
		case strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		included, excluded := false, false
		for _, pattern := range g.Directories {
			if match, err := path.Match(pattern.Path, p); err == nil && match {
				included, excluded = included || !pattern.Exclude, excluded || pattern.Exclude
			}
		}
		if !included || excluded {
			return nil
		}
		found := params{}
		e.addPath(found, g.PathParamPrefix, p, "")
		all = append(all, found)
		return e.addValues(found, g.Values)
	})
	return all, err
}

// files returns the parameters of each object in the files that are included and not
// excluded.
func (e expansion) files(repo fs.FS, g gitGenerator) ([]params, error) {
	names, err := matchingFiles(repo, g.Files)
	if err != nil {
		return nil, err
	}
	var all []params
	for _, name := range names {
		text, err := fs.ReadFile(repo, name)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read", name)
		}
		var one map[string]any
		several := []map[string]any{}
		if err := yaml.Unmarshal(text, &one); err == nil {
			several = append(several, one)
		} else if err := yaml.Unmarshal(text, &several); err != nil {
			return nil, fmt.Errorf("%s is neither a mapping nor a list of mappings", name)
		}
		for _, object := range several {
			p := params{}
			if e.GoTemplate {
				maps.Copy(p, object)
			} else {
				p = flatten(object)
			}
			e.addPath(p, g.PathParamPrefix, path.Dir(name), path.Base(name))
			if err := e.addValues(p, g.Values); err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// matchingFiles returns the files that match patterns, sorted.
func matchingFiles(repo fs.FS, patterns []gitPattern) ([]string, error) {
	var included, excluded []func(string) bool
	for _, p := range patterns {
		match, err := pathspec(p.Path)
		if err != nil {
			return nil, fmt.Errorf("the pattern %q of files is invalid", p.Path)
		}
		if p.Exclude {
			excluded = append(excluded, match)
		} else {
			included = append(included, match)
		}
	}
	var all []string
	err := fs.WalkDir(repo, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		matches := func(match func(string) bool) bool { return match(p) }
		if slices.ContainsFunc(included, matches) && !slices.ContainsFunc(excluded, matches) {
			all = append(all, p)
		}
		return nil
	})
	slices.Sort(all)
	return all, err
}

// pathspec matches paths as git ls-files does: wildcards also match slashes, and a
// directory stands for the files below it.
func pathspec(pattern string) (func(string) bool, error) {
	pattern = strings.TrimPrefix(path.Clean(pattern), "/")
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			b.WriteString("(?s:.*)")
		case '?':
			b.WriteString("(?s:.)")
		case '[':
			end := strings.IndexByte(pattern[i+1:], ']')
			if end < 1 {
				return nil, errors.New("a bracket is not closed")
			}
			class := strings.ReplaceAll(pattern[i+1:i+1+end], `\`, `\\`)
			if class[0] == '!' {
				class = "^" + class[1:]
			}
			b.WriteString("[" + class + "]")
			i += end + 1
		case '\\':
			if i+1 < len(pattern) {
				i++
			}
			b.WriteString(regexp.QuoteMeta(string(pattern[i])))
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	glob, err := regexp.Compile("^" + b.String() + "$")
	if err != nil {
		return nil, err
	}
	return func(p string) bool { return strings.HasPrefix(p, pattern+"/") || glob.MatchString(p) }, nil
}

// addPath adds the path parameters of a directory or file.
func (e expansion) addPath(p params, prefix, dir, file string) {
	segments := strings.Split(dir, "/")
	if e.GoTemplate {
		at := map[string]any{"path": dir, "basename": path.Base(dir), "basenameNormalized": normalize(path.Base(dir)), "segments": segments}
		if file != "" {
			at["filename"], at["filenameNormalized"] = file, normalize(file)
		}
		if prefix != "" {
			p[prefix] = map[string]any{"path": at}
		} else {
			p["path"] = at
		}
		return
	}
	name := "path"
	if prefix != "" {
		name = prefix + ".path"
	}
	p[name], p[name+".basename"], p[name+".basenameNormalized"] = dir, path.Base(dir), normalize(path.Base(dir))
	if file != "" {
		p[name+".filename"], p[name+".filenameNormalized"] = file, normalize(file)
	}
	for i, segment := range segments {
		p[name+"["+strconv.Itoa(i)+"]"] = segment
	}
}

// fileOf returns the file that a git generator read parameters from; empty if none did.
func fileOf(p params) string {
	for name, value := range p {
		if dir, isText := value.(string); isText && (name == "path" || strings.HasSuffix(name, ".path")) {
			if file, _ := p[name+".filename"].(string); file != "" {
				return path.Join(dir, file)
			}
		}
		at := mapping(value)
		if name != "path" {
			at = mapping(at["path"])
		}
		dir, _ := at["path"].(string)
		if file, _ := at["filename"].(string); file != "" {
			return path.Join(dir, file)
		}
	}
	return ""
}
