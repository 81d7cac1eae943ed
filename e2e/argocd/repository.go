package argocd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Repository is a git repository on disk, from which Applications are synced.
// Each case has its own, so that a commit in one does not refresh another.
type Repository struct {
	Dir string
	git string
}

// NewRepository makes an empty repository in the directory of the run.
func (a *ArgoCD) NewRepository(ctx context.Context, name string) (*Repository, error) {
	r := &Repository{Dir: filepath.Join(a.path("repositories"), name), git: a.bin.Git}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return nil, err
	}
	_, err := run(ctx, r.Dir, r.git, "init", "--quiet", "--initial-branch=main")
	return r, err
}

// URL is the address by which the repo-server fetches.
func (r *Repository) URL() string { return "file://" + r.Dir }

// Commit replaces the content of the repository with these files, and returns the
// revision. Names are relative to the repository.
func (r *Repository) Commit(ctx context.Context, files map[string]string) (string, error) {
	old, err := os.ReadDir(r.Dir)
	if err != nil {
		return "", err
	}
	for _, entry := range old {
		if entry.Name() == ".git" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(r.Dir, entry.Name())); err != nil {
			return "", err
		}
	}
	for name, text := range files {
		path := filepath.Join(r.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	for _, args := range [][]string{
		{"add", "--all"},
		{"-c", "user.name=e2e", "-c", "user.email=e2e@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet",
			"--allow-empty", "--message", "e2e"},
	} {
		if _, err := run(ctx, r.Dir, r.git, args...); err != nil {
			return "", err
		}
	}
	revision, err := run(ctx, r.Dir, r.git, "rev-parse", "HEAD")
	return strings.TrimSpace(revision), err
}

// Files reads a folder as Commit takes it, under a prefix.
func Files(dir, prefix string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files[prefix+filepath.ToSlash(rel)] = string(text)
		return nil
	})
	if len(files) == 0 && err == nil {
		err = fmt.Errorf("%s holds no files", dir)
	}
	return files, err
}
