package render

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render/input"
)

// Directory says which files of plain YAML are read, as source.directory of an
// Application does.
type Directory struct {
	// Flat leaves out what lies in directories below.
	Flat bool
	// Include and Exclude are patterns for paths below the component; files that
	// match Exclude are left out whatever Include says. Empty means that there is
	// none. "*" stands for any text, slashes too, and "{a,b}" for a or b.
	Include, Exclude string
	// Jsonnet is what files of that language are given.
	Jsonnet Jsonnet
}

// leaving names what leaves files out.
func (d Directory) leaving() []string {
	var all []string
	if d.Include != "" {
		all = append(all, "include")
	}
	if d.Exclude != "" {
		all = append(all, "exclude")
	}
	if d.Flat {
		all = append(all, "recurse: false")
	}
	return all
}

// ValidPattern reports whether Include and Exclude can be what is given. Argo CD
// takes a pattern that it cannot read for one that matches nothing.
func ValidPattern(pattern string) bool {
	_, err := glob.Compile(pattern)
	return err == nil && balanced(pattern)
}

// balanced reports whether each brace of a pattern has its other one. The library
// takes one that has not for text, or for one that ends with the pattern.
func balanced(pattern string) bool {
	open, escaped, class := 0, false, false
	for _, r := range pattern {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
		case class:
			class = r != ']'
		case r == '[':
			class = true
		case r == '{':
			open++
		case r == '}':
			if open--; open < 0 {
				return false
			}
		}
	}
	return open == 0
}

// directory is a Directory with its patterns compiled.
type directory struct {
	flat             bool
	include, exclude glob.Glob
}

func (d Directory) compile() (directory, error) {
	compiled := directory{flat: d.Flat}
	var faults []error
	for _, p := range []struct {
		name, pattern string
		to            *glob.Glob
	}{{"include", d.Include, &compiled.include}, {"exclude", d.Exclude, &compiled.exclude}} {
		if p.pattern == "" {
			continue
		}
		g, err := glob.Compile(p.pattern)
		if err != nil {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "bad-pattern", Field: p.name, Message: "invalid pattern: " + err.Error(), Remedy: "write it like {*.yaml,base/*}"})
		}
		*p.to = g
	}
	return compiled, errors.Join(faults...)
}

// takes reports whether the options leave a file in.
func (d directory) takes(name string) bool {
	return (d.exclude == nil || !d.exclude.Match(name)) && (d.include == nil || d.include.Match(name))
}

// isSource reports whether a file may hold manifests of plain YAML.
func isSource(name string) bool { return isManifest(name) || path.Ext(name) == ".jsonnet" }

// directoryFiles are the files of plain YAML, in lexical order. They are those
// that Argo CD would read (reposerver/repository, getPotentiallyValidManifests),
// hidden ones too, but what git has for itself and what speaks to Ladder.
func (s source) directoryFiles() ([]string, []finding.Finding, error) {
	taken, err := s.opt.Directory.compile()
	if err != nil {
		return nil, nil, err
	}
	var names []string
	var found []finding.Finding
	err = fs.WalkDir(s.FS, s.Dir, func(p string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(p, input.Prefix(s.Dir))
		switch {
		case err != nil:
			return err
		case p == s.Dir:
			return nil
		case d.IsDir():
			if taken.flat || d.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		case !isSource(name) || reserved(name) || !taken.takes(name):
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			info, err := fs.Stat(s.FS, p)
			if errors.Is(err, fs.ErrNotExist) {
				f := s.Fault("dangling-symlink", name, "the symlink leads to nothing, and is left out", "correct it, or delete it")
				f.Severity = finding.Warning
				found = append(found, f)
				return nil
			}
			if err != nil {
				return err
			}
			if info.IsDir() {
				return nil
			}
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, nil, s.Unreadable(err)
	}
	return names, found, nil
}

// hidden reports whether a name begins with a dot, its own or that of a directory
// above it in the component.
func hidden(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
}

// claims reports whether a text says that it is a manifest. Argo CD passes over
// files that cannot be read as one and do not; here that is for hidden files only,
// among which are those of all kinds of tools, since in others it would pass over
// manifests with a misspelt key.
func claims(text string) bool {
	return strings.Contains(text, "apiVersion:") && strings.Contains(text, "kind:") && strings.Contains(text, "metadata:")
}

// listed names all of some things.
func listed(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
