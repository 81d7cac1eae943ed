package remote

import "strings"

// SameRepository reports whether two addresses are of the same git repository.
func SameRepository(a, b string) bool { return a != "" && repositoryName(a) == repositoryName(b) }

// repositoryName returns what the addresses of a git repository have in common: without
// user, port and suffix, for HTTPS and SSH.
func repositoryName(address string) string {
	address = strings.ToLower(strings.TrimSpace(address))
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		rest = strings.Replace(scheme, ":", "/", 1) // git@host:path
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if found {
		host, _, _ = strings.Cut(host, ":")
	}
	return host + "/" + strings.TrimSuffix(strings.Trim(path, "/"), ".git")
}
