// Package remote identifies sources that a component needs and its repository does
// not contain: charts of registries, files at a URL, other repositories.
//
// It only identifies them. A Fetcher fetches them: the network (package fetch),
// vendored files next to the component or, in a worker process, the server that
// started it. Rendering is the same with each.
package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Kind is the kind of a Ref.
type Kind string

const (
	// Chart is a Helm chart of a chart repository (https) or a registry (oci).
	Chart Kind = "chart"
	// File is a file at a URL.
	File Kind = "file"
	// Repository is a git repository at a ref.
	Repository Kind = "git"
)

// Ref is a remote source, as written by a component's author.
type Ref struct {
	Kind Kind `json:"kind"`
	// URL is the URL of the chart repository, of the registry's directory
	// (oci://ghcr.io/org/charts), of the file, or of the git repository.
	URL string `json:"url"`
	// Chart is the name of a chart; empty for other kinds.
	Chart string `json:"chart,omitempty"`
	// Version is the requested version: a chart version or range (empty means the
	// latest stable one), or a branch, tag or commit of the repository (empty means
	// its HEAD). Files have none.
	Version string `json:"version,omitempty"`
}

// String returns a Ref for messages, without credentials.
func (r Ref) String() string {
	address := finding.WithoutCredentials(r.URL)
	switch r.Kind {
	case Chart:
		return strings.TrimSpace(fmt.Sprintf("chart %s %s", r.Chart, r.Version)) + " of " + address
	case Repository:
		if r.Version != "" {
			address += " at " + r.Version
		}
		return "repository " + address
	}
	return address
}

// Content is the content of a Ref.
type Content struct {
	// Version is the resolved version of the chart, or the commit of the
	// repository; empty for a file.
	Version string `json:"version,omitempty"`
	// Digest is the digest of Data, as "sha256:" and hexadecimal digits.
	Digest string `json:"digest"`
	// Data is the packaged chart (.tgz), the file, or the files of the repository
	// without history, as a deterministic .tgz.
	Data []byte `json:"-"`
	// Warning says why the content may be stale, such as a cached copy that was
	// used because the registry is unavailable; otherwise empty.
	Warning string `json:"warning,omitempty"`
}

// Digest returns the digest of data in the form of Content.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Fetcher fetches Refs. Errors are findings if the input or the source is wrong:
// they say what is missing, refused or invalid, and the fix.
type Fetcher interface {
	Fetch(ctx context.Context, ref Ref) (Content, error)
}
