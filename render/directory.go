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

// Directory selects the files of plain YAML, like source.directory of an
// Application.
type Directory struct {
	// Flat ignores subdirectories.
	Flat bool
	// Include and Exclude are patterns for paths below the component; Exclude takes
	// precedence. Empty means no pattern. "*" matches any text, including slashes,
	// and "{a,b}" matches a or b.
	Include, Exclude string
	// Jsonnet is the input of jsonnet files.
	Jsonnet Jsonnet
}

// excluding names the options that exclude files.
func (d Directory) excluding() []string {
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

// ValidPattern reports whether a pattern is valid for Include and Exclude. In Argo
// CD an invalid pattern matches nothing.
func ValidPattern(pattern string) bool {
	_, err := glob.Compile(pattern)
	return err == nil && balanced(pattern)
}

// balanced reports whether braces are balanced. The library treats an unbalanced
// brace as text, or as closed at the end of the pattern.
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
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Field: p.name,
				Message: "invalid pattern: " + err.Error(), Remedy: "write a pattern such as {*.yaml,base/*}"})
		}
		*p.to = g
	}
	return compiled, errors.Join(faults...)
}

// includes reports whether the options include a file.
func (d directory) includes(name string) bool {
	return (d.exclude == nil || !d.exclude.Match(name)) && (d.include == nil || d.include.Match(name))
}

// isSource reports whether a file name may be that of plain YAML.
func isSource(name string) bool { return isManifest(name) || path.Ext(name) == ".jsonnet" }

// directoryFiles returns the files of plain YAML, in lexical order. They are the
// files that Argo CD would read (reposerver/repository,
// getPotentiallyValidManifests), including hidden ones, but without .git and
// Ladder's configuration.
func (s source) directoryFiles() ([]string, []finding.Finding, error) {
	filter, err := s.opt.Directory.compile()
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
			if filter.flat || d.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		case !isSource(name) || reserved(name) || !filter.includes(name):
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			info, err := fs.Stat(s.FS, p)
			if errors.Is(err, fs.ErrNotExist) {
				f := s.Fault(finding.NotFound, name, "the target of the symlink does not exist, so Ladder ignores the symlink",
					"correct it, or delete it")
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

// hidden reports whether a name, or that of a parent directory in the component,
// starts with a dot.
func hidden(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
}

// looksLikeManifest reports whether a text has the keys of a manifest. Argo CD ignores files
// without them. Ladder does so only for hidden files, which belong to all kinds of
// tools; elsewhere that would ignore manifests with a misspelled key.
func looksLikeManifest(text string) bool {
	return strings.Contains(text, "apiVersion:") && strings.Contains(text, "kind:") && strings.Contains(text, "metadata:")
}

// joinNames joins names into a list.
func joinNames(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
