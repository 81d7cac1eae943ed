// Package build says what the program was built from.
package build

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// ArgoCD are the releases whose plugin protocol the program speaks, the first
// and the last that it is tested with.
const ArgoCD = "2.14 to 3.5"

// Info is what the program was made of. Empty fields are not known.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Date is that of the commit (RFC 3339).
	Date string `json:"date,omitempty"`
	// Dirty means that files were changed since the commit.
	Dirty     bool   `json:"dirty"`
	Go        string `json:"go"`
	Platform  string `json:"platform"`
	Helm      string `json:"helm,omitempty"`
	Kustomize string `json:"kustomize,omitempty"`
	// ArgoCD are the releases whose plugin protocol it speaks.
	ArgoCD string `json:"argocd"`
}

func (b Info) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "cmp %s\n", b.Version)
	commit := b.Commit
	if b.Dirty {
		commit += ", and changes"
	}
	for _, line := range [][2]string{{"commit", commit}, {"date", b.Date}, {"go", b.Go + " " + b.Platform}, {"helm", b.Helm}, {"kustomize", "api " + b.Kustomize}, {"argo cd", "plugin protocol of " + b.ArgoCD}} {
		if line[1] != "" {
			fmt.Fprintf(&out, "  %-10s %s\n", line[0]+":", line[1])
		}
	}
	return out.String()
}

func This(release string) Info {
	b := Info{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, ArgoCD: ArgoCD}
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
		b.Version = v // of go install, which has no commit
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

// Version names the program and the libraries that decide what it renders, for
// the log and the metrics.
func Version(release string) string {
	b := This(release)
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
