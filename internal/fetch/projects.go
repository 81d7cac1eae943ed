package fetch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
)

// allowFile is the file in a project's directory that lists what it may fetch.
const allowFile = "allow"

// For returns the Fetcher of an AppProject. If dir contains a directory of that
// name, the project may also fetch what the file allow in it lists, and its
// credentials there take precedence; its content is cached separately, under scope.
// Otherwise it returns this Fetcher and an empty scope.
//
// The files are read each time, since mounted Secrets and ConfigMaps change.
func (f *Fetcher) For(dir, project string) (own *Fetcher, scope string, err error) {
	if dir == "" || !object.IsName(project) { // a name cannot escape the directory
		return f, "", nil
	}
	dir = filepath.Join(dir, project)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, "", ofProject(project, unreadable(dir, err))
		}
		return f, "", nil
	}
	text, err := os.ReadFile(filepath.Join(dir, allowFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", ofProject(project, unreadable(filepath.Join(dir, allowFile), err))
	}
	var entries []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			entries = append(entries, line)
		}
	}
	allow, wrong := parseAllow(entries)
	if len(wrong) > 0 {
		return nil, "", errors.Join(wrong...)
	}
	also := *f
	own = &also
	own.allow = slices.Concat(f.allow, allow)
	own.config.Allow = slices.Concat(f.config.Allow, entries)
	own.credentials = slices.Concat([]Credentials{{Dir: dir}}, f.credentials)
	own.scope = project + "\x00"
	own.backend = local{own}
	return own, own.scope, nil
}

func ofProject(project string, why *failure) error {
	f := why.finding(remote.Ref{})
	f.Object = "AppProject " + project
	return f
}
