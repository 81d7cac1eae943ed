package main

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/appset"
	"github.com/ladder-cmp/ladder/internal/fetchers"
	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// inputs are the flags that say how to render, one for each parameter of the
// plugin.
type inputs struct {
	flags    *pflag.FlagSet
	revision string
	ladder   *string
	remote   *fetchers.Options
	seeding  *seeding
	// generators reads what generators of ApplicationSets find; nil for commands that do
	// not expand ApplicationSets.
	generators func() (appset.Values, error)
}

// addInputs puts the flags on a command: all of them, or only those that are
// named.
func addInputs(cmd *cobra.Command, only ...string) *inputs {
	in := addSeedless(cmd, only...)
	if only == nil {
		in.seeding = addSeeding(in.flags)
	}
	return in
}

// addSeedless does so for a command that takes no seed.
func addSeedless(cmd *cobra.Command, only ...string) *inputs {
	in := &inputs{flags: cmd.Flags()}
	for _, p := range plugin.Parameters() {
		if only != nil && !slices.Contains(only, p.Name) {
			continue
		}
		usage := strings.TrimSuffix(p.Tooltip, ".")
		if p.Flag != "" {
			usage = p.Flag
		}
		if p.Default != "" && p.Item != "boolean" {
			usage += " (default: " + p.Default + ")"
		}
		switch {
		case p.Item == "boolean":
			in.flags.BoolP(p.Name, p.Short, p.Default == "true", usage)
		case p.YAML && p.Collection == "array":
			in.flags.StringArrayP(p.Name, p.Short, nil, usage+"; may be repeated")
		case p.Collection == "array":
			in.flags.StringSliceP(p.Name, p.Short, nil, usage)
		case p.Collection == "map":
			in.flags.StringArrayP(p.Name, p.Short, nil, usage+" (key=value, may be repeated)")
		default:
			in.flags.StringP(p.Name, p.Short, "", usage)
		}
		help.Put(in.flags, sectionOf(p), p.Name)
		if len(p.Choices) > 0 {
			option.Choices(cmd, p.Name, p.Choices...)
		}
	}
	in.ladder = ladderFlag(in.flags)
	help.Put(in.flags, help.Rendering, "ladder")
	if only != nil {
		return in
	}
	in.remote = remoteFlags(in.flags, fetchers.UserCache())
	waitOnScreen(cmd, in.remote)
	in.flags.StringVar(&in.revision, "revision", "", "Commit that templates see as .Release.Revision")
	help.Put(in.flags, help.Helm, "revision")
	return in
}

// expandSets lets a command expand ApplicationSets.
func (in *inputs) expandSets() {
	in.generators = generatorValues(in.flags)
	help.Put(in.flags, help.Rendering, "generator-values")
}

// settings reads the flags that were given.
func (in *inputs) settings() (plugin.Settings, error) {
	s := plugin.Settings{Revision: in.revision}
	s.Values.Read = os.ReadFile
	var faults []error
	for _, p := range plugin.Parameters() {
		flag := in.flags.Lookup(p.Name)
		if flag == nil || !flag.Changed {
			continue
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if err := p.Set(&s, values); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return s, usage.Error{Err: errors.Join(faults...)}
	}
	return s, nil
}

// ladderFlag is the file that holds for every component: the sidecar's own.
func ladderFlag(flags *pflag.FlagSet) *string {
	return flags.String("ladder", os.Getenv(ladderfile.Variable), "A "+knowledge.File+" for all components; those in the repository override it. "+ladderfile.Variable+" sets the default")
}
