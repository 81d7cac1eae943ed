package checkout

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/object"
)

// ReadManifests reads manifests from a file, or from standard input if its name is "-".
// Manifests from Helm contain the template's name.
func ReadManifests(stdin io.Reader, name string) ([]object.Object, error) {
	in, shown := stdin, finding.StandardInput
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: name, Message: wholefile.Reason(err),
				Remedy: `name a file of manifests, or "-" for standard input`}
		}
		defer f.Close()
		in, shown = f, name
	}
	if name != "-" && IsDir(name) {
		return nil, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: name, Message: "this is a directory",
			Remedy: "name a file of manifests, or render it with cmp render " + name}
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: shown, Message: wholefile.Reason(err),
			Remedy: "name a file that can be read, or - for standard input"}
	}
	objs, err := object.Parse(shown, 1, string(text))
	if err != nil {
		return nil, err
	}
	if len(objs) == 0 {
		return nil, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: shown, Message: "no manifests found",
			Remedy: "check what should have written them"}
	}
	for i := range objs {
		if source := templateOf(objs[i]); source != "" {
			objs[i].File, objs[i].Line = source, 0
		}
	}
	return objs, nil
}

// templateOf returns the template in Helm's comment.
func templateOf(o object.Object) string {
	lines := bufio.NewScanner(strings.NewReader(o.Text()))
	for lines.Scan() && strings.HasPrefix(lines.Text(), "#") {
		if source, ok := strings.CutPrefix(lines.Text(), "# Source: "); ok {
			return strings.TrimSpace(source)
		}
	}
	return ""
}

// Dirs returns the arguments that are directories.
func Dirs(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return !IsDir(arg) })
}

// IsDir reports whether an argument is a directory, not a manifest file. If it does
// not exist, its name decides.
func IsDir(name string) bool {
	info, err := os.Stat(name)
	if err != nil {
		return name != "-" && filepath.Ext(name) == ""
	}
	return name != "-" && info.IsDir()
}
