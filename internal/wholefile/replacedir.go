package wholefile

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// ReplaceDir writes files, by path, to a new or empty directory: all of them or
// none. With force it replaces an existing directory. Files with the suffix .sh are
// executable.
func ReplaceDir(dir string, force bool, files map[string]string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if info, err := os.Lstat(abs); err == nil && !info.IsDir() {
		return notWritten(dir, "not a directory", "name another")
	}
	if force {
		if err := mayReplace(abs); err != "" {
			return notWritten(dir, err, "name another directory")
		}
	} else if err := EmptyDir(dir, "remove it, name another, or use --force to replace everything in it"); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
		return notWritten(dir, Reason(err), "name another directory")
	}
	// Next to it, so that it can be renamed.
	work, err := os.MkdirTemp(filepath.Dir(abs), "."+filepath.Base(abs)+"-")
	if err != nil {
		return notWritten(dir, Reason(err), "name another directory")
	}
	defer os.RemoveAll(work)
	staged, old := filepath.Join(work, "new"), filepath.Join(work, "old")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(staged, filepath.FromSlash(name))
		mode := os.FileMode(0o644)
		if filepath.Ext(name) == ".sh" {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(files[name]), mode); err != nil {
			return err
		}
	}
	was := os.Rename(abs, old)
	if was != nil && !os.IsNotExist(was) {
		return notWritten(dir, Reason(was), "name another directory")
	}
	if err := os.Rename(staged, abs); err != nil {
		if was == nil {
			_ = os.Rename(old, abs)
		}
		return notWritten(dir, Reason(err), "name another directory")
	}
	return nil
}

// mayReplace says why a directory must not be replaced, even with force; empty if
// it may.
func mayReplace(abs string) string {
	if _, err := os.Lstat(filepath.Join(abs, ".git")); err == nil {
		return "this is a git repository, which is not replaced"
	}
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(abs, here); err == nil && filepath.IsLocal(rel) {
			return "the working directory is in it, and so it is not replaced"
		}
	}
	replaceable := true
	_ = filepath.WalkDir(abs, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "component.yaml" && filepath.Base(filepath.Dir(p)) != "templates" {
			replaceable = false
			return filepath.SkipAll
		}
		return nil
	})
	if !replaceable {
		return "there are components in it, and so it is not replaced"
	}
	return ""
}

// EmptyDir checks that a directory is empty or does not exist; remedy is the fix
// otherwise.
func EmptyDir(dir, remedy string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return notWritten(dir, Reason(err), "name another directory")
	case len(entries) > 0:
		return notWritten(dir, "the directory is not empty", remedy)
	}
	return nil
}

func notWritten(dir, message, remedy string) error {
	return finding.Finding{Severity: finding.Error, Rule: finding.NotWritten, File: dir, Message: message, Remedy: remedy}
}
