package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/importer"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/appset"
	"github.com/ladder-cmp/ladder/internal/argocd"
	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
)

// formerInput contains the flags that select the Applications that deploy the components of a
// fleet now.
type formerInput struct {
	flags   *pflag.FlagSet
	paths   []string
	values  func() (appset.Values, error)
	cluster argocd.Cluster
}

func addFormerInput(cmd *cobra.Command, in *anyInputs) *formerInput {
	former := &formerInput{flags: cmd.Flags(), values: in.GeneratorValues}
	former.flags.StringSliceVar(&former.paths, "applications", nil, "File or directory of existing Applications and ApplicationSets to compare a fleet with, or - for standard input")
	clusterFlags(former.flags, &former.cluster)
	in.forFleet(former.flags, "applications", "kubeconfig", "context")
	return former
}

func (f *formerInput) given() bool { return f.flags.Changed("applications") || isLive(f.flags) }

// read reads the Applications, and renders their sources in the repository of the fleet. It
// ignores what cannot be imported.
func (f *formerInput) read(cmd *cobra.Command, s streams, in *fleetInputs, dirs []string) ([]importer.Former, error) {
	base, err := ladderfile.Base(*in.ladder)
	if err != nil {
		return nil, err
	}
	repo, err := checkout.Open(dirs[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dirs[0], err)
	}
	defer repo.Close()
	from := importer.Sources{Paths: checkout.Unique(f.paths), Stdin: s.In, Base: base}
	if isLive(f.flags) {
		f.cluster.UserAgent = cmd.CommandPath() + " " + build.Version(release)
		from.Cluster = &f.cluster
	}
	input, findings, err := from.Read(cmd.Context(), repo)
	warn(s, findings)
	if err != nil {
		return nil, err
	}
	if input.Values, err = f.values(); err != nil {
		return nil, err
	}
	input.Random, input.KubeVersion, input.APIVersions = in.source.Random, in.source.KubeVersion, in.source.APIVersions
	formers, findings, err := importer.Formers(cmd.Context(), input)
	warn(s, slices.DeleteFunc(findings, func(found finding.Finding) bool { return found.Severity == finding.Note }))
	return formers, err
}

// takeover compares a fleet with the existing Applications.
func (in *fleetInputs) takeover(cmd *cobra.Command, s streams, dirs []string, former *formerInput, out diffOutput) error {
	var err error
	if in.source.Random, err = inputs.Throwaway(); err != nil {
		return out.trouble(err)
	}
	formers, err := former.read(cmd, s, in, dirs)
	if err != nil {
		return out.trouble(err)
	}
	f, err := in.load(cmd, s, dirs)
	if err != nil {
		return out.trouble(err)
	}
	warn(s, fleet.Failures(f.Findings))
	t := show.NewTakeover(f, in.source.Environment, "cmp "+strings.Join(append([]string{"diff"}, dirs...), " "), formers)
	return out.write(s, t, t.Names(), false, t.Unknown())
}
