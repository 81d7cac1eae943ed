package knowledge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Release is a minor release of Argo CD.
type Release struct{ Major, Minor int }

// The oldest and the newest release that Ladder is tested with (docs/release.md).
var (
	OldestArgoCD = Release{2, 14}
	NewestArgoCD = Release{3, 5}
)

// ReleaseOf parses a version such as "3.1", "v3.1.4" or the tag of an image; false if it is
// none.
func ReleaseOf(version string) (Release, bool) {
	major, rest, ok := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	minor, _, _ = strings.Cut(minor, "-")
	a, err := strconv.Atoi(major)
	b, minorErr := strconv.Atoi(minor)
	return Release{a, b}, ok && err == nil && minorErr == nil && a >= 0 && b >= 0
}

// ArgoCDFault rejects what is not a release whose health checks are known. A newer one counts
// as the newest known.
func ArgoCDFault(version string) error {
	r, ok := ReleaseOf(version)
	if !ok {
		return finding.Fault(fmt.Sprintf("%q is not a version of Argo CD", version), fmt.Sprintf("write a version such as %s", NewestArgoCD))
	}
	if r.Before(OldestArgoCD) {
		return finding.Fault(fmt.Sprintf("the health checks of Argo CD %s are unknown", r), fmt.Sprintf("write %s or later", OldestArgoCD))
	}
	return nil
}

// Before reports whether a release is older than another one.
func (r Release) Before(other Release) bool {
	return r.Major < other.Major || r.Major == other.Major && r.Minor < other.Minor
}

func (r Release) String() string { return fmt.Sprintf("%d.%d", r.Major, r.Minor) }

// ArgoCD says which health checks an Argo CD has.
type ArgoCD struct {
	// Release selects the checks of Argo CD itself; zero means the newest known.
	Release Release
	// Checks are the kinds with a check in the ConfigMap argocd-cm, as patterns of "group/Kind" or,
	// for the core group, "Kind", in which "*" stands for any text (Argo CD, util/lua/lua.go,
	// GetHealthScript).
	Checks []string
}

// For returns the knowledge as it applies to an Argo CD. A zero field leaves what is known.
func (b *Base) For(a ArgoCD) *Base {
	if a.Release == (Release{}) && a.Checks == nil {
		return b
	}
	over := *b
	if a.Release != (Release{}) {
		over.argocd.Release = a.Release
	}
	if a.Checks != nil {
		over.argocd.Checks = a.Checks
	}
	return &over
}

// ArgoCD returns the release whose health checks apply.
func (b *Base) ArgoCD() Release {
	if b.argocd.Release == (Release{}) {
		return NewestArgoCD
	}
	return b.argocd.Release
}

// ownCheck describes a check in argocd-cm, which replaces the one of Argo CD.
var ownCheck = []Health{{Waits: "what the health check in argocd-cm demands"}}

// withChecks returns the record of a kind with the health checks of the Argo CD.
func (b *Base) withChecks(k Kind) Kind {
	key := strings.TrimPrefix(k.Group+"/"+k.Kind, "/")
	if slices.ContainsFunc(b.argocd.Checks, func(pattern string) bool { return matchesText(pattern, key) }) {
		k.Health = ownCheck
		return k
	}
	if later := func(h Health) bool { return b.ArgoCD().Before(h.first(k)) }; slices.ContainsFunc(k.Health, later) {
		k.Later = k.Health[slices.IndexFunc(k.Health, later)].Since
		k.Health = slices.DeleteFunc(slices.Clone(k.Health), later)
	}
	return k
}

// first returns the first release with the check for a kind.
func (h Health) first(k Kind) Release {
	if h.Since == "" {
		return Release{}
	}
	if r, ok := ReleaseOf(h.Since); ok && !slices.Contains(h.Earlier, GroupKind{k.Group, k.Kind}) {
		return r
	}
	return Release{}
}

// matchesText reports whether a text matches a pattern, in which "*" stands for any text.
func matchesText(pattern, text string) bool {
	start, rest, wild := strings.Cut(pattern, anything)
	if !wild {
		return pattern == text
	}
	if !strings.HasPrefix(text, start) {
		return false
	}
	for text = text[len(start):]; ; text = text[1:] {
		if matchesText(rest, text) {
			return true
		}
		if text == "" {
			return false
		}
	}
}
