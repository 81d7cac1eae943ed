package sources

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// workTree makes a repository with some history, and its bare copy that is served.
func workTree(t *testing.T, served, name string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	for i := range 3 {
		write(t, filepath.Join(dir, "base/kustomization.yaml"), fmt.Sprintf("resources: [a.yaml]\n# %d\n", i))
		write(t, filepath.Join(dir, "base/a.yaml"), strings.Repeat("kind: ConfigMap\n", 1000)+fmt.Sprint(i))
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-q", "-m", fmt.Sprint(i))
		if i == 0 {
			git(t, dir, "tag", "v1")
			git(t, dir, "tag", "-a", "v1-annotated", "-m", "x")
		}
	}
	write(t, filepath.Join(dir, "run.sh"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "base/a.yaml", "out": "../../etc/passwd", "root": "/etc/passwd"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "more")
	git(t, dir, "branch", "feature/x", "HEAD~1")
	publish(t, dir, served, name)
	return dir
}

func publish(t *testing.T, dir, served, name string) {
	t.Helper()
	git(t, served, "clone", "-q", "--bare", dir, filepath.Join(served, name))
}

// unpacked is what an archive holds: mode and content, or where a link leads.
func unpacked(t *testing.T, data []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = fmt.Sprintf("%o %s%s", h.Mode, h.Linkname, text)
		names = append(names, h.Name)
		if h.ModTime.Unix() != 0 || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%s has a time or an owner", h.Name)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %v", names)
	}
	return all
}

// asGit is what git itself has at a commit, in the form of unpacked.
func asGit(t *testing.T, dir, commit string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(git(t, dir, "ls-tree", "-r", commit)) {
		head, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		fields := strings.Fields(head)
		if fields[1] != "blob" {
			continue
		}
		mode := map[string]string{"100644": "644", "100755": "755", "120000": "777"}[fields[0]]
		text, err := os.ReadFile(filepath.Join(dir, name))
		if mode == "777" || err != nil || git(t, dir, "hash-object", name) != fields[2] {
			text = []byte(git(t, dir, "cat-file", "blob", fields[2]))
			if mode != "777" {
				text = append(text, '\n')
			}
		}
		all[name] = mode + " " + string(text)
	}
	return all
}

func TestGit(t *testing.T) {
	served := t.TempDir()
	dir := workTree(t, served, "repo.git")
	s := gitServer(t, served)
	config := trusting(t, s)
	f := fetcher(t, config)
	ref := remote.Ref{Kind: remote.Repository, URL: s.URL + "/repo.git"}
	head := git(t, dir, "rev-parse", "HEAD")
	for requested, commit := range map[string]string{
		"":                                 head,
		"HEAD":                             head,
		"main":                             head,
		"refs/heads/main":                  head,
		"feature/x":                        git(t, dir, "rev-parse", "HEAD~1"),
		"v1":                               git(t, dir, "rev-parse", "v1"),
		"v1-annotated":                     git(t, dir, "rev-parse", "v1-annotated^{commit}"),
		"refs/tags/v1":                     git(t, dir, "rev-parse", "v1"),
		head:                               head,
		git(t, dir, "rev-parse", "HEAD~2"): git(t, dir, "rev-parse", "HEAD~2"), // of no branch or tag
	} {
		ref.Version = requested
		got := get(t, f, ref)
		if got.Version != commit {
			t.Errorf("%q is %s, want %s", requested, got.Version, commit)
		}
		want := asGit(t, dir, commit)
		delete(want, "out")
		delete(want, "root")
		has := unpacked(t, got.Data)
		for name, text := range want {
			if strings.TrimSpace(has[name]) != strings.TrimSpace(text) {
				t.Errorf("%q: %s is %.60q, want %.60q", requested, name, has[name], text)
			}
		}
		if len(has) != len(want) {
			t.Errorf("%q: %d files, want %d", requested, len(has), len(want))
		}
		again := get(t, fetcher(t, config), remote.Ref{Kind: remote.Repository, URL: s.URL + "/repo.git", Version: commit})
		if again.Digest != got.Digest {
			t.Errorf("%q: the same commit has other bytes", requested)
		}
	}
	for requested, want := range map[string]string{
		"gone":                   "the repository has no branch and no tag gone",
		head[:8]:                 "or all 40 digits of a commit",
		strings.Repeat("0a", 20): "the repository does not provide commit 0a0a",
	} {
		ref.Version = requested
		refuse(t, f, ref, want)
	}
	refuse(t, f, remote.Ref{Kind: remote.Repository, URL: s.URL + "/none.git"}, "returned status 404: not found")
	git(t, served, "init", "-q", "--bare", "empty.git")
	refuse(t, f, remote.Ref{Kind: remote.Repository, URL: s.URL + "/empty.git"}, "is empty")

	closed := config
	closed.Credentials, closed.CAFile = fetch.Credentials{}, s.caFile
	refuse(t, fetcher(t, closed), remote.Ref{Kind: remote.Repository, URL: s.URL + "/repo.git"}, "refuses access (401)")
	small := config
	small.Limits.Unpacked = 5000
	refuse(t, fetcher(t, small), remote.Ref{Kind: remote.Repository, URL: s.URL + "/repo.git"}, "unpacks to more than 5000 bytes")
}

// TestBranchMoves has a cache that knows a branch's commit of earlier.
func TestBranchMoves(t *testing.T) {
	served := t.TempDir()
	dir := workTree(t, served, "repo.git")
	s := gitServer(t, served)
	config := trusting(t, s)
	config.Cache.Dir, config.TTL = t.TempDir(), -1
	ref := remote.Ref{Kind: remote.Repository, URL: s.URL + "/repo.git", Version: "main"}
	first := get(t, fetcher(t, config), ref)
	before := s.requests.Load()
	get(t, fetcher(t, config), ref)
	if got := s.requests.Load() - before; got != 1 {
		t.Errorf("%d requests for a branch that has not moved", got)
	}
	write(t, filepath.Join(dir, "new.yaml"), "a: b\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "new")
	git(t, dir, "push", "-q", filepath.Join(served, "repo.git"), "main")
	second := get(t, fetcher(t, config), ref)
	if second.Version == first.Version || unpacked(t, second.Data)["new.yaml"] == "" {
		t.Errorf("the branch is still at %s", second.Version)
	}
	before = s.requests.Load()
	ref.Version = first.Version
	if got := get(t, fetcher(t, config), ref); got.Digest != first.Digest || s.requests.Load() != before {
		t.Error("a commit is asked for again")
	}
}

func TestSubmodules(t *testing.T) {
	served := t.TempDir()
	inner := workTree(t, served, "inner.git")
	s := gitServer(t, served)
	outer := t.TempDir()
	git(t, outer, "init", "-q", "-b", "main")
	git(t, outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "vendor/inner")
	git(t, outer, "config", "-f", ".gitmodules", "submodule.vendor/inner.url", "../inner.git")
	write(t, filepath.Join(outer, "a.yaml"), "a: b\n")
	git(t, outer, "add", "-A")
	git(t, outer, "commit", "-q", "-m", "x")
	publish(t, outer, served, "outer.git")
	f := fetcher(t, trusting(t, s))
	ref := remote.Ref{Kind: remote.Repository, URL: s.URL + "/outer.git"}
	has := unpacked(t, get(t, f, ref).Data)
	for name, text := range asGit(t, inner, "HEAD") {
		if name != "out" && name != "root" && strings.TrimSpace(has["vendor/inner/"+name]) != strings.TrimSpace(text) {
			t.Errorf("%s is %.60q", name, has["vendor/inner/"+name])
		}
	}
	alone := trusting(t, s)
	alone.Allow = []string{s.URL + "/outer.git"}
	refuse(t, fetcher(t, alone), ref, "the submodule vendor/inner at ../inner.git, which is "+s.URL+"/inner.git, is not allowed; fix: "+
		"add that address, or what is above it, to the allow-list (--allow-remote) if you trust it, or ?submodules=false to the repository's")
	ref.URL += "?submodules=false"
	if has := unpacked(t, get(t, f, ref).Data); len(has) != 2 || has["a.yaml"] == "" {
		t.Errorf("without submodules there is %v", has)
	}

	git(t, outer, "config", "-f", ".gitmodules", "submodule.vendor/inner.url", "https://evil.example.net/inner.git")
	git(t, outer, "commit", "-q", "-a", "-m", "y")
	git(t, outer, "push", "-q", filepath.Join(served, "outer.git"), "main")
	refuse(t, fetcher(t, trusting(t, s)), remote.Ref{Kind: remote.Repository, URL: s.URL + "/outer.git"},
		"the submodule vendor/inner at https://evil.example.net/inner.git is not allowed; fix: add that address, or what is above it, "+
			"to the allow-list (--allow-remote) if you trust it, or ?submodules=false to the repository's")
}
