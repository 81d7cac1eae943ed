package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// ArgoCD is the range of releases of Argo CD whose plugin protocol is tested.
const ArgoCD = "2.14 to 3.5"

// BuildInfo is the build information. Empty fields are unknown.
type BuildInfo struct {
	Version string
	Commit  string
	// Date is the date of the commit (RFC 3339).
	Date string
	// Dirty means that the work tree had changes.
	Dirty     bool
	Go        string
	Platform  string
	Helm      string
	Kustomize string
	// ArgoCD is the range of supported releases of Argo CD.
	ArgoCD string
}

func (b BuildInfo) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "cmp %s\n", b.Version)
	commit := b.Commit
	if b.Dirty {
		commit += ", and changes"
	}
	for _, line := range [][2]string{{"commit", commit}, {"date", b.Date}, {"go", b.Go + " " + b.Platform}, {"helm", b.Helm},
		{"kustomize", "api " + b.Kustomize}, {"argo cd", "plugin protocol of " + b.ArgoCD}} {
		if line[1] != "" {
			fmt.Fprintf(&out, "  %-10s %s\n", line[0]+":", line[1])
		}
	}
	return out.String()
}

func ThisBuild(release string) BuildInfo {
	b := BuildInfo{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, ArgoCD: ArgoCD}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, set := range info.Settings {
		switch set.Key {
		case "vcs.revision":
			b.Commit = set.Value
		case "vcs.time":
			b.Date = set.Value
		case "vcs.modified":
			b.Dirty = set.Value == "true"
		}
	}
	if v := info.Main.Version; release == "dev" && b.Commit == "" && v != "" && v != "(devel)" {
		b.Version = v // built by go install, without a commit
	}
	for _, dep := range info.Deps {
		switch dep.Path {
		case "helm.sh/helm/v4":
			b.Helm = dep.Version
		case "sigs.k8s.io/kustomize/api":
			b.Kustomize = dep.Version
		}
	}
	return b
}

// Version returns the version of the program and of the libraries that affect its
// output, for log and metrics.
func Version(release string) string {
	b := ThisBuild(release)
	parts := []string{release}
	if b.Commit != "" {
		parts = append(parts, b.Commit[:min(12, len(b.Commit))])
	}
	parts = append(parts, b.Go)
	if b.Helm != "" {
		parts = append(parts, "helm "+b.Helm, "kustomize api "+b.Kustomize)
	}
	return strings.Join(parts, ", ")
}
