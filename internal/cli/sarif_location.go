package cli

import (
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// repositoryRoot is SARIF's usual name of the root of the repository.
const repositoryRoot = "%SRCROOT%"

// location returns the place of a finding for code hosts: a path relative to the
// repository that contains the file. Without a repository, it is the path as the user
// typed it.
func location(f finding.Finding) (at sarifLocation) {
	full := filepath.FromSlash(f.File)
	if !filepath.IsAbs(full) {
		full = filepath.Join(checkout.WorkingDir(), full)
	}
	base := checkout.GitRoot(full)
	rel, err := filepath.Rel(base, full)
	switch {
	case base != "" && err == nil:
		rel, line := filepath.ToSlash(rel), f.Line
		if repo, err := checkout.OpenAt(base, base); err == nil {
			defer repo.Close()
			rel = shownFile(repo.Repo, rel)
			if line == 0 && f.Object != "" {
				line = literalLine(repo.Repo, rel, f.Object)
			}
		}
		at.set(url.URL{Path: rel}, line)
		at.Physical.Artifact.BaseID = repositoryRoot
	case filepath.IsAbs(filepath.FromSlash(f.File)):
		at.set(url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(full), "/")}, f.Line)
	default:
		at.set(url.URL{Path: f.File}, f.Line)
	}
	return at
}

func (l *sarifLocation) set(uri url.URL, line int) {
	l.Physical.Artifact.URI = uri.String()
	if line > 0 {
		l.Physical.Region = &sarifRegion{line}
	}
}

// shownFile returns a file of a directory, which code hosts cannot show: the one that makes
// it a component, or else its first one. Files are returned unchanged.
func shownFile(repo fs.FS, name string) string {
	if info, err := fs.Stat(repo, name); err != nil || !info.IsDir() {
		return name
	}
	for _, file := range []string{"Chart.yaml", "kustomization.yaml", "component.yaml"} {
		below := strings.TrimPrefix(name+"/"+file, "./")
		if info, err := fs.Stat(repo, below); err == nil && info.Mode().IsRegular() {
			return below
		}
	}
	first := name
	_ = fs.WalkDir(repo, name, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		switch hidden := strings.HasPrefix(e.Name(), ".") && file != name; {
		case hidden && e.IsDir():
			return fs.SkipDir
		case e.Type().IsRegular() && !hidden:
			first = file
			return fs.SkipAll
		}
		return nil
	})
	return first
}

var (
	documentStart = lazyregexp.New(`(?m)^---`)
	metadataBlock = lazyregexp.New(`(?m)^metadata:.*(\n[ \t].*)*`)
)

// literalLine returns the line of an object in a template that writes its kind and name
// literally; 0 if none does, or several do.
func literalLine(repo fs.FS, name, object string) int {
	text, err := fs.ReadFile(repo, name)
	if err != nil {
		return 0 // for example in an archive
	}
	kind, named, _ := strings.Cut(object, " ")
	kind, _, _ = strings.Cut(kind, ".") // of its group
	named = named[strings.LastIndex(named, "/")+1:]
	kindLine := regexp.MustCompile(`(?m)^kind:[ \t]*["']?` + regexp.QuoteMeta(kind) + `["']?[ \t\r]*(#.*)?$`)
	nameField := regexp.MustCompile(`(?m)\bname:[ \t]*["']?` + regexp.QuoteMeta(named) + `["']?[ \t\r]*([,}#]|$)`)
	line, start := 0, 0
	for _, end := range append(documentStart.FindAllIndex(text, -1), []int{len(text), len(text)}) {
		document := text[start:end[0]]
		if at := kindLine.FindIndex(document); at != nil && nameField.Match(metadataBlock.Find(document)) {
			if line > 0 {
				return 0
			}
			line = 1 + strings.Count(string(text[:start+at[0]]), "\n")
		}
		start = end[1]
	}
	return line
}
