package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// release is the version of the program; a release build sets it by -ldflags.
var release = "dev"

// argoCD are the releases whose plugin protocol the program speaks, the first
// and the last that it is tested with.
const argoCD = "2.14 to 3.5"

func newVersion(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it was built with",
		Long: `Print the version, the commit it was built from, and the versions of what decides
how components are rendered: Helm, kustomize, Go, and the protocol of Argo CD.`,
		Example: `  cmp version
  cmp version -o json | jq -r .helm`,
		Args: cobra.NoArgs,
	}
	format := formatFlag(cmd, "Format", reportText, reportJSON)
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := knownFormat(*format, reportText, reportJSON); err != nil {
			return err
		}
		b := thisBuild()
		if *format == reportJSON {
			return writeJSON(s, b)
		}
		_, err := io.WriteString(s.Out, b.text())
		return err
	}
	return cmd
}

// build is what the program was made of. Empty fields are not known.
type build struct {
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

func thisBuild() build {
	b := build{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, ArgoCD: argoCD}
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

func (b build) text() string {
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

// version names the program and the libraries that decide what it renders, for
// the log and the metrics.
func version() string {
	b := thisBuild()
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

// writeJSON prints a value for other programs.
func writeJSON(s streams, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	_, err = s.Out.Write(append(text, '\n'))
	return err
}
