package kustomize

import (
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// gitAddress is a directory of a git repository in the syntax of kustomizations.
type gitAddress struct {
	// clone is the URL for git.
	clone string
	// dir is the directory in the repository.
	dir string
	// version is a branch, a tag or a commit; empty means the default branch.
	version string
	// modules means that submodules are requested.
	modules bool
	// unknownKey is an unknown key of the query; empty if all are known.
	unknownKey string
}

// ref returns the repository for a Fetcher, which includes submodules by default.
func (g gitAddress) ref() remote.Ref {
	address := g.clone
	if !g.modules {
		address += "?submodules=false"
	}
	return remote.Ref{Kind: remote.Repository, URL: address, Version: g.version}
}

// usesSSH reports whether git would use SSH, for which no keys are available.
func (g gitAddress) usesSSH() bool {
	return strings.HasPrefix(g.clone, "ssh://") || !strings.Contains(g.clone, "://")
}

// displayPath returns a file of the repository in the syntax of kustomizations.
func (g gitAddress) displayPath(p string) string {
	name := g.clone + "//" + p
	if p == "." {
		name = g.clone
	}
	if g.version != "" {
		name += "?ref=" + g.version
	}
	return name
}

// queryKeys are the query keys that kustomize reads (parseQuery in its
// api/internal/git/repospec.go), and those of go-getter, which earlier versions
// used and which do not affect the content. kustomize ignores all others, so a
// misspelled ref would mean the default branch.
var queryKeys = []string{"ref", "version", "submodules", "timeout", "depth", "sshkey"}

// userOf matches the user before a host, as in git@example.com.
var userOf = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// readGitAddress parses what kustomize accepts as a repository:
//
//	https://host/org/repo//dir?ref=v1   also ssh://, http:// and file://
//	https://host/org/repo.git/dir       the repository ends in .git
//	https://host/org/_git/repo/dir      Azure DevOps
//	https://host/org/repo/dir           otherwise the first two parts
//	github.com/org/repo/dir             only github.com needs no scheme
//	git@host:org/repo/dir               the form of scp
//
// each optionally with the prefix git::. It follows kustomize even where that is
// surprising: everything that kustomize would clone must be recognized, since it
// clones it even if a directory of that name exists.
func readGitAddress(entry string) (gitAddress, bool) {
	if path.IsAbs(entry) {
		return gitAddress{}, false
	}
	address, query, _ := strings.Cut(entry, "?")
	g := gitAddress{modules: true}
	if values, err := url.ParseQuery(query); err == nil {
		if g.version = values.Get("ref"); g.version == "" {
			g.version = values.Get("version")
		}
		if modules, err := strconv.ParseBool(values.Get("submodules")); err == nil {
			g.modules = modules
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if !slices.Contains(queryKeys, key) {
				g.unknownKey = key
				break
			}
		}
	}
	address, _ = cutPrefixFold(address, "git::")
	scheme := ""
	for _, s := range []string{"ssh://", "https://", "http://", "file://"} {
		if rest, ok := cutPrefixFold(address, s); ok {
			scheme, address = s, rest
			break
		}
	}
	user := userOf.FindString(address)
	address = address[len(user):]
	if scheme == "file://" {
		g.clone = scheme + user + address
		return g, address != ""
	}
	lower := strings.ToLower(address)
	github := strings.HasPrefix(lower, "github.com/") || strings.HasPrefix(lower, "github.com:")
	scp := scheme == "" && (user != "" || github)
	if scheme == "" && !scp {
		return gitAddress{}, false
	}
	host, rest := address, ""
	end := strings.IndexByte(address, '/')
	if colon := strings.IndexByte(address, ':'); scp && (end < 0 || colon > 0 && colon < end) {
		end = colon
	}
	if end >= 0 {
		host, rest = address[:end+1], address[end+1:]
	}
	switch {
	case github && (scheme == "ssh://" || user != ""):
		scheme, host = "", "github.com:"
	case github:
		scheme, user, host = "https://", "", "github.com/"
	}
	if scheme+user+host == "" {
		return gitAddress{}, false
	}
	repo, dir, ok := splitRepository(rest)
	if !ok || repo == "" {
		return gitAddress{}, false
	}
	g.clone, g.dir = scheme+user+host+repo, path.Clean(strings.TrimPrefix(dir, "/"))
	return g, g.dir != ".." && !strings.HasPrefix(g.dir, "../")
}

// splitRepository splits the path of a URL into the repository and a directory in
// it.
func splitRepository(p string) (repo, dir string, ok bool) {
	if at := strings.Index(p, "_git/"); at >= 0 {
		name, dir, _ := strings.Cut(p[at+len("_git/"):], "/")
		return p[:at+len("_git/")] + name, dir, true
	}
	if repo, dir, ok := strings.Cut(p, "//"); ok {
		return repo, dir, true
	}
	if at := strings.Index(p, ".git"); at >= 0 {
		return p[:at+len(".git")], p[at+len(".git"):], true
	}
	parts := strings.SplitN(p, "/", 3)
	if len(parts) < 2 {
		return "", "", false
	}
	return parts[0] + "/" + parts[1], strings.Join(parts[2:], "/"), true
}

// isCertain reports whether an https:// URL cannot be a file, so it need not be
// fetched as one.
func (g gitAddress) isCertain(entry string) bool {
	u, err := url.Parse(entry)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return true
	}
	switch path.Ext(u.Path) {
	case ".yaml", ".yml", ".json":
		return marksEnd(u.Path) && strings.EqualFold(u.Host, "github.com")
	}
	return marksEnd(u.Path) || strings.EqualFold(u.Host, "github.com") && !strings.Contains(u.Path, "/releases/") &&
		!strings.Contains(u.Path, "/raw/")
}

// marksEnd reports whether a URL marks the end of the repository.
func marksEnd(p string) bool {
	return strings.Contains(p, "_git/") || strings.Contains(strings.TrimPrefix(p, "/"), "//") || strings.Contains(p, ".git/") ||
		strings.HasSuffix(p, ".git")
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

// isWeb reports whether kustomize would fetch an entry as a file.
func isWeb(entry string) bool {
	u, err := url.Parse(entry)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}
