package kustomize

import "testing"

// TestGitAddresses has the addresses that kustomize takes for repositories, and
// some that it does not.
func TestGitAddresses(t *testing.T) {
	for entry, want := range map[string]gitAddress{
		"https://github.com/org/repo":                                 {"https://github.com/org/repo", ".", "", true, ""},
		"https://github.com/org/repo/a/b?ref=v1":                      {"https://github.com/org/repo", "a/b", "v1", true, ""},
		"https://github.com/org/repo//a/b?ref=v1&timeout=90s":         {"https://github.com/org/repo", "a/b", "v1", true, ""},
		"https://github.com/org/repo//?version=v2&submodules=0":       {"https://github.com/org/repo", ".", "v2", false, ""},
		"https://github.com/org/repo?ref=v1&version=v2":               {"https://github.com/org/repo", ".", "v1", true, ""},
		"GitHub.com/org/repo.git/a":                                   {"https://github.com/org/repo.git", "a", "", true, ""},
		"https://user@github.com/org/repo":                            {"user@github.com:org/repo", ".", "", true, ""},
		"git@github.com:org/repo.git//a":                              {"git@github.com:org/repo.git", "a", "", true, ""},
		"ssh://git@github.com/org/repo/a":                             {"git@github.com:org/repo", "a", "", true, ""},
		"ssh://git@git.example.com:2222/org/repo.git/a?ref=v1":        {"ssh://git@git.example.com:2222/org/repo.git", "a", "v1", true, ""},
		"git@git.example.com:org/repo/a":                              {"git@git.example.com:org/repo", "a", "", true, ""},
		"git::https://git.example.com/group/sub/repo.git/a":           {"https://git.example.com/group/sub/repo.git", "a", "", true, ""},
		"https://git.example.com/group/sub/repo//a?ref=feature%2Fone": {"https://git.example.com/group/sub/repo", "a", "feature/one", true, ""},
		"https://dev.azure.com/org/project/_git/repo/a/b":             {"https://dev.azure.com/org/project/_git/repo", "a/b", "", true, ""},
		"https://git.example.com/org/repo/a":                          {"https://git.example.com/org/repo", "a", "", true, ""},
		"file:///srv/repo":                                            {"file:///srv/repo", "", "", true, ""},
	} {
		if got, ok := readGitAddress(entry); !ok || got != want {
			t.Errorf("%s: %v, %v; want %v", entry, got, ok, want)
		}
	}
	for _, entry := range []string{"", "base", "../base", "/base", "a/b/c", "gitlab.com/org/repo", "https://github.com/org",
		"https://github.com/org/repo//../up", "https://example.com"} {
		if got, ok := readGitAddress(entry); ok {
			t.Errorf("%s: %v, which is no repository", entry, got)
		}
	}
}

// TestCertainty tells addresses that are tried as files first.
func TestCertainty(t *testing.T) {
	for entry, want := range map[string]bool{
		"github.com/org/repo/a.yaml":                                     true,
		"git@example.com:org/repo":                                       true,
		"https://github.com/org/repo/a":                                  true,
		"https://github.com/org/repo//a.yaml":                            true,
		"https://github.com/org/repo/releases/download/v1/all.yaml":      false,
		"https://github.com/org/repo/releases/download/v1/all":           false,
		"https://raw.githubusercontent.com/org/repo/main/a.yaml":         false,
		"https://git.example.com/org/repo.git/a":                         true,
		"https://git.example.com/org/repo//a":                            true,
		"https://git.example.com/org/repo/a":                             false,
		"https://gitlab.com/api/v4/projects/1/files/a.yaml/raw?ref=main": false,
	} {
		if git, ok := readGitAddress(entry); !ok || git.isCertain(entry) != want {
			t.Errorf("%s: %v, want %v", entry, !want, want)
		}
	}
}
