package importer

import (
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// applicationKind matches a line with kind: Application or kind: ApplicationSet.
var applicationKind = regexp.MustCompile(`(?m)^\s*-?\s*"?kind"?\s*:\s*["']?Application(Set)?\b`)

// Find reads the Applications and ApplicationSets in the files below a directory. It skips
// charts, because templates are not manifests, and directories whose names begin with a dot.
// show formats a path for messages.
func Find(repo fs.FS, dir string, show func(string) string) ([]object.Object, []finding.Finding, error) {
	var all []object.Object
	var findings []finding.Finding
	err := fs.WalkDir(repo, dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != dir && (strings.HasPrefix(d.Name(), ".") || isChart(repo, p)):
			return fs.SkipDir
		case d.IsDir() || !d.Type().IsRegular():
			return nil
		}
		switch path.Ext(p) {
		case ".yaml", ".yml", ".json":
		default:
			return nil
		}
		text, err := fs.ReadFile(repo, p)
		if err != nil {
			return err
		}
		if !bytes.Contains(text, []byte("argoproj.io/")) || !applicationKind.Match(text) {
			return nil
		}
		objs, err := object.Parse(show(p), 1, string(text))
		for _, f := range finding.Of(err) {
			f.Severity = finding.Warning
			findings = append(findings, f)
		}
		all = append(all, objs...)
		return nil
	})
	return all, findings, err
}

func isChart(repo fs.FS, dir string) bool {
	_, err := fs.Stat(repo, path.Join(dir, "Chart.yaml"))
	return err == nil
}
