package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// release is the version of the program; a release build sets it by -ldflags.
var release = "dev"

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it was built with",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.Out, "cmp "+version())
			return err
		},
	}
}

// version names the program and the libraries that decide what it renders.
func version() string {
	parts := []string{release}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, set := range info.Settings {
			if set.Key == "vcs.revision" {
				parts = append(parts, set.Value[:min(12, len(set.Value))])
			}
		}
		parts = append(parts, info.GoVersion)
		for _, dep := range info.Deps {
			switch dep.Path {
			case "helm.sh/helm/v4":
				parts = append(parts, "helm "+dep.Version)
			case "sigs.k8s.io/kustomize/api":
				parts = append(parts, "kustomize api "+dep.Version)
			}
		}
	}
	return strings.Join(parts, ", ")
}
