// Package remote names what a component needs and its repository does not hold:
// charts of registries, files behind an address, other repositories.
//
// It only names them. Who fetches is a Fetcher, which is handed in: the network
// (package fetch), what lies vendored beside the component, or, in a worker
// process, the server that started it. Rendering is the same with each.
package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Kind says what a Ref names.
type Kind string

const (
	// Chart is a Helm chart of a chart repository (https) or a registry (oci).
	Chart Kind = "chart"
	// File is one file behind an address.
	File Kind = "file"
	// Repository is a git repository at a ref.
	Repository Kind = "git"
)

// Ref names something that lies elsewhere, as a component's author wrote it.
type Ref struct {
	Kind Kind `json:"kind"`
	// URL is the address: of the chart repository, of the registry's directory
	// (oci://ghcr.io/org/charts), of the file, of the git repository.
	URL string `json:"url"`
	// Chart is the name of a chart; empty for other kinds.
	Chart string `json:"chart,omitempty"`
	// Version is what is asked for: a version of the chart or a range of them
	// (empty is the latest that is no pre-release), or a branch, tag or commit
	// of the repository (empty is its HEAD). Files have none.
	Version string `json:"version,omitempty"`
}

// String names a Ref for people, without credentials.
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

// Content is what a Ref came to.
type Content struct {
	// Version is the version of the chart, or the commit of the repository,
	// that the Ref's came to; empty for a file.
	Version string `json:"version,omitempty"`
	// Digest is that of Data, as "sha256:" and hexadecimal digits.
	Digest string `json:"digest"`
	// Data is the packed chart (.tgz), the file, or the files of the repository
	// without its history, as the same bytes each time (.tgz).
	Data []byte `json:"-"`
	// Warning says why this may not be what the address has now, such as a copy
	// of earlier that was taken because the registry is down; empty if it is.
	Warning string `json:"warning,omitempty"`
}

// Digest returns the digest of data in the form of Content.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Fetcher gets what Refs name. Errors are findings where the input or what it
// names is wrong: they say what is missing, refused or broken, and the remedy.
type Fetcher interface {
	Fetch(ctx context.Context, ref Ref) (Content, error)
}
