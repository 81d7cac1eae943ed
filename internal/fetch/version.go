package fetch

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// What follows is what Helm does (helm.sh/helm/v4/pkg/repo/v1, IndexFile.Get and ResolveReferenceURL;
// pkg/registry, GetTagMatchingVersionOrConstraint), which a test compares with. Those packages
// bring Helm's plugins and a runtime of WebAssembly, which every start of the program would pay.

// bestVersion returns which of the versions, the newest first, Helm chooses: an equal one,
// or the newest that fits a range. An empty text fits every release, and no prerelease. The
// result is -1 if nothing fits.
func bestVersion(versions []string, wanted string) int {
	if i := slices.Index(versions, wanted); i >= 0 && wanted != "" {
		return i
	}
	constraint, err := semver.NewConstraint(cmp.Or(wanted, "*"))
	if err != nil {
		return -1
	}
	return slices.IndexFunc(versions, func(text string) bool {
		v, err := semver.NewVersion(text)
		return err == nil && constraint.Check(v)
	})
}

// newestFirst compares versions. What is none comes last.
func newestFirst(a, b string) int {
	v, errA := semver.NewVersion(a)
	w, errB := semver.NewVersion(b)
	switch {
	case errA == nil && errB == nil:
		return w.Compare(v)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return 0
}

// resolveURL resolves an address in the index of a repository, whose base may lack the last slash
// and have a query, which is for all its addresses.
func resolveURL(base, address string) (string, error) {
	at, err := url.Parse(address)
	if err != nil || at.IsAbs() {
		return address, err
	}
	from, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	for _, path := range []*string{&from.Path, &from.RawPath} {
		if !strings.HasSuffix(*path, "/") {
			*path += "/"
		}
	}
	resolved := from.ResolveReference(at)
	resolved.RawQuery = from.RawQuery
	return resolved.String(), nil
}

// newestVersions lists the newest versions for a message.
func newestVersions(versions []string) string {
	if len(versions) == 0 {
		return "none"
	}
	if len(versions) > 5 {
		return strings.Join(versions[:5], ", ") + " and more"
	}
	return strings.Join(versions, ", ")
}
