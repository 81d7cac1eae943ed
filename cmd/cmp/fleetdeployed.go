package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/importer"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/usage"
)

// deployedInput contains the flags that select the Applications that deploy the components of a
// fleet now.
type deployedInput struct {
	existingInput
	paths []string
}

func addDeployedInput(cmd *cobra.Command, in *anyInputs) *deployedInput {
	deployed := &deployedInput{existingInput: existingInput{values: in.GeneratorValues, ladder: in.Ladder}}
	flags := cmd.Flags()
	deployed.addFlags(flags)
	flags.StringSliceVar(&deployed.paths, "applications", nil, "File or directory of existing Applications and ApplicationSets to compare a fleet with, or - for standard input")
	in.forFleet(flags, "applications", "kubeconfig", "context", "repo")
	return deployed
}

func (f *deployedInput) isSet() bool { return f.flags.Changed("applications") || usesCluster(f.flags) }

// check rejects flags that have no effect.
func (f *deployedInput) check() error {
	if len(f.repos) > 0 && !f.isSet() {
		return usage.New("--repo has no effect without --applications, --context or --kubeconfig; add one of them")
	}
	return nil
}

// loadDeployed reads the Applications, and renders their sources in the repository of the fleet.
// It ignores what cannot be imported.
func (f *deployedInput) loadDeployed(cmd *cobra.Command, s streams, in *fleetInputs, dirs []string) ([]importer.ExistingApplication, error) {
	from, err := f.sources(cmd, s, f.paths)
	if err != nil {
		return nil, err
	}
	repo, err := checkout.Open(dirs[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dirs[0], err)
	}
	defer repo.Close()
	input, err := f.read(cmd, s, from, repo)
	if err != nil {
		return nil, err
	}
	input.Random, input.KubeVersion, input.APIVersions = in.source.Random, in.source.KubeVersion, in.source.APIVersions
	existing, findings, err := importer.ExistingApplications(cmd.Context(), input)
	warn(s, slices.DeleteFunc(findings, func(found finding.Finding) bool { return found.Severity == finding.Note }))
	return existing, err
}

// compareDeployed compares a fleet with the existing Applications.
func (in *fleetInputs) compareDeployed(cmd *cobra.Command, s streams, dirs []string, deployed *deployedInput, out diffOutput) error {
	var err error
	if in.source.Random, err = inputs.TemporaryRandom(); err != nil {
		return out.exitError(err)
	}
	existing, err := deployed.loadDeployed(cmd, s, in, dirs)
	if err != nil {
		return out.exitError(err)
	}
	f, err := in.load(cmd, s, dirs)
	if err != nil {
		return out.exitError(err)
	}
	warn(s, lint.Failures(f, in.source.Environment))
	t := show.NewTakeover(f, in.source.Environment, "cmp "+strings.Join(append([]string{"diff"}, dirs...), " "), existing)
	return out.write(s, t, t.Names(), false, t.Unknown())
}
