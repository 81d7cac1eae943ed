package main

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/argocd"
	"github.com/ladder-cmp/ladder/internal/doctor"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

// examined reads what a command line names. values belong to the chart among the
// arguments, or are looked at themselves, after those among the arguments.
func (in *inputs) examined(cmd *cobra.Command, s streams, args, values []string) (doctor.Input, error) {
	var e doctor.Input
	charts, dirs := 0, 0
	for _, arg := range args {
		if !manifests.IsDir(arg) {
			continue
		}
		dirs++
		if argocd.IsChart(arg) {
			charts++
		}
	}
	if err := in.fits(args, charts, dirs); err != nil {
		return e, err
	}
	var faults []error
	for _, arg := range args {
		if _, err := os.Stat(arg); err != nil && arg != "-" {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "no-file", File: arg, Message: wholefile.Reason(err), Remedy: `name manifests, a directory, values of the chart argo-cd, or "-" for standard input`})
			continue
		}
		if arg != "-" && !manifests.IsDir(arg) {
			if text, err := os.ReadFile(arg); err == nil {
				if v, ok := doctor.ChartValues(arg, text); ok {
					e.Values = append(e.Values, v)
					continue
				}
				if doctor.IsNeither(text) {
					faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "no-manifests", File: arg, Message: "this is neither a manifest nor values of the chart argo-cd", Remedy: "name manifests, with apiVersion and kind, or such values, with " + strings.Join(doctor.ChartKeys[:2], " or ")})
					continue
				}
			}
		}
		objs, err := in.manifestsOf(cmd, s, arg)
		if usage.Is(err) {
			return e, err
		}
		faults = append(faults, err)
		e.Objects = append(e.Objects, objs...)
	}
	for _, file := range values {
		if charts > 0 {
			break // it was rendered with them
		}
		v, err := argocd.Values(file)
		faults = append(faults, err)
		if err == nil {
			e.Values = append(e.Values, v)
		}
	}
	return e, errors.Join(faults...)
}

// fits refuses flags that nothing among the arguments takes.
func (in *inputs) fits(args []string, charts, dirs int) error {
	named := strings.Join(args, ", ")
	if named == "" {
		named = "what is named"
	}
	for _, name := range []string{"set", "set-string", "set-file"} {
		if in.flags.Changed(name) && charts == 0 {
			return usage.Errorf("--%s is for the argo-cd chart, and %s is not one; name the chart's directory", name, named)
		}
	}
	for _, name := range []string{"name", "kube-version", "api-versions"} {
		if in.flags.Changed(name) && dirs == 0 {
			return usage.Errorf("--%s is for directories to render, and %s is not one; drop it, or name a directory", name, named)
		}
	}
	return nil
}

// manifestsOf reads a file of manifests, or renders a directory as it is.
func (in *inputs) manifestsOf(cmd *cobra.Command, s streams, arg string) ([]object.Object, error) {
	if !manifests.IsDir(arg) {
		return manifests.Read(s.In, arg)
	}
	if !argocd.IsChart(arg) {
		for _, name := range []string{"values", "set", "set-string", "set-file"} { // which are the chart's
			f := in.flags.Lookup(name)
			defer func(was bool) { f.Changed = was }(f.Changed)
			f.Changed = false
		}
	}
	res, err := in.generate(cmd, arg, plugin.Settings{Name: "argocd", Namespace: "argocd", Order: wave.Options{Waves: wave.Off}})
	return res.Objects, err
}
