package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/argocd"
	"github.com/ladder-cmp/ladder/internal/doctor"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/server"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

// diagnose looks at what was read, and at the cluster and the sandbox if they are
// asked for.
func diagnose(ctx context.Context, e doctor.Input, c argocd.Cluster, live, confined bool) (r verdict.Verdict, err error) {
	if live {
		found, err := c.Read(ctx)
		if err != nil {
			return r, err
		}
		e.Objects, e.Secrets, e.Live = append(e.Objects, found.Objects...), found.Secrets, true
		r.Findings = found.Findings
	}
	if confined {
		found, err := server.ExamineSandbox(workerCommand)
		if err != nil {
			return r, err
		}
		r.Findings = append(r.Findings, found...)
	}
	r.Findings = append(r.Findings, argocd.Examine(ctx, e)...)
	r.Of = argocd.Described(e)
	return r, nil
}

// fits refuses flags that nothing among the arguments takes.
func fits(in *inputs.Component, args []string) error {
	isChart, isDir := slices.ContainsFunc(args, argocd.IsChart), slices.ContainsFunc(args, manifests.IsDir)
	named := strings.Join(args, ", ")
	if named == "" {
		named = "what is named"
	}
	for _, name := range []string{"set", "set-string", "set-file"} {
		if in.Given(name) && !isChart {
			return usage.Errorf("--%s is for the argo-cd chart, and %s is not one; name the chart's directory", name, named)
		}
	}
	for _, name := range []string{"name", "kube-version", "api-versions"} {
		if in.Given(name) && !isDir {
			return usage.Errorf("--%s is for directories to render, and %s is not one; drop it, or name a directory", name, named)
		}
	}
	return nil
}

// manifestsOf reads a file of manifests, or renders a directory as it is.
func manifestsOf(in *inputs.Component, flags *pflag.FlagSet, stdin io.Reader, arg string) ([]object.Object, error) {
	if !manifests.IsDir(arg) {
		return manifests.Read(stdin, arg)
	}
	if !argocd.IsChart(arg) {
		for _, name := range []string{"values", "set", "set-string", "set-file"} { // which are the chart's
			f := flags.Lookup(name)
			defer func(was bool) { f.Changed = was }(f.Changed)
			f.Changed = false
		}
	}
	res, err := in.Generate(arg, plugin.Settings{Name: "argocd", Namespace: "argocd", Order: wave.Options{Waves: wave.Off}})
	return res.Objects, err
}
