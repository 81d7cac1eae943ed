// Package flags contains the groups of flags that several commands have: what to render and how,
// what to fetch, the seed, and ladder.yaml. It makes the requests of the plugin from them.
package flags

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// Rendering contains the flags that determine how a command renders components: one for
// each parameter of the plugin, and those about the seed and about fetching.
type Rendering struct {
	// Cmd is the command, and Flags are its flags.
	Cmd   *cobra.Command
	Flags *pflag.FlagSet
	inputs

	// parameters are those that the command takes, and params what --param sets of them.
	parameters []plugin.Parameter
	params     *[]string
	revision   string
}

// AddRendering adds the flags to a command: all of them, or only the named parameters.
func AddRendering(cmd *cobra.Command, only ...string) *Rendering {
	in := AddWithoutSeed(cmd, only...)
	if only == nil {
		in.seed = addSeedFlags(in.Flags)
	}
	return in
}

// FromCompletion returns the inputs of a command line that is being completed. Nothing is
// fetched.
func FromCompletion(cmd *cobra.Command) *Rendering {
	in := &Rendering{Cmd: cmd, Flags: cmd.Flags(), inputs: inputs{Ladder: new(string)}}
	if f := cmd.Flag("ladder"); f != nil {
		*in.Ladder = f.Value.String()
	}
	return in
}

// AddWithoutSeed adds the flags to a command that takes no seed.
func AddWithoutSeed(cmd *cobra.Command, only ...string) *Rendering {
	in := &Rendering{Cmd: cmd, Flags: cmd.Flags()}
	for _, p := range plugin.Parameters() {
		if only != nil && !slices.Contains(only, p.Name) {
			continue
		}
		in.parameters = append(in.parameters, p)
		if p.Visible {
			in.addParameter(p)
		}
	}
	in.addParam()
	in.Ladder = LadderFlag(in.Flags)
	cli.PutFlags(in.Flags, cli.RenderingFlags, "ladder")
	if only != nil {
		return in
	}
	in.Remote = AddFetching(in.Flags, UserCache())
	ShowProgress(cmd, in.Remote)
	in.Flags.StringVar(&in.revision, "revision", "",
		"Commit that templated YAML can read as .Release.Revision; in Helm charts, it is always 1")
	cli.PutFlags(in.Flags, cli.RenderingFlags, "revision")
	return in
}

// ShowProgress shows on a terminal what a command fetches, if that takes long, unless the
// command is quiet.
func ShowProgress(cmd *cobra.Command, from *Fetching) {
	from.Config.Fetching = func(ref remote.Ref) func() {
		if IsQuiet(cmd) {
			return func() {}
		}
		return cli.Waiting(cmd.ErrOrStderr(), "fetching "+ref.String())
	}
}

// IsQuiet reports whether the command is to write only results and errors.
func IsQuiet(cmd *cobra.Command) bool {
	f := cmd.Flag("quiet")
	return f != nil && f.Value.String() == "true"
}

// Options returns the values of the flags.
func (in *Rendering) Options() (Options, error) {
	settings, err := in.Settings()
	opt := Options{inputs: in.inputs, Settings: settings, Command: in.Cmd.Name()}
	in.Flags.Visit(func(f *pflag.Flag) { opt.Flags = append(opt.Flags, f.Name) })
	opt.Flags = append(opt.Flags, in.named()...)
	return opt, err
}

// IsSet reports whether a flag is set, or the parameter of that name with --param.
func (in *Rendering) IsSet(flag string) bool {
	return in.Flags.Changed(flag) || slices.Contains(in.named(), flag)
}

// Settings returns what the flags set.
func (in *Rendering) Settings() (plugin.Settings, error) {
	s := plugin.Settings{Revision: in.revision}
	s.Values.Read = os.ReadFile
	given, faults := in.givenParams()
	for _, p := range in.parameters {
		values := given[p.Name]
		if flag := in.Flags.Lookup(p.Name); flag != nil && p.Visible && flag.Changed {
			if list, ok := flag.Value.(pflag.SliceValue); ok {
				values = append(list.GetSlice(), values...)
			} else {
				values = append([]string{flag.Value.String()}, values...)
			}
		}
		if len(values) > 1 && p.Collection == "string" && !p.YAML {
			faults = append(faults, badParam("parameter "+p.Name, fmt.Sprintf("set %d times", len(values)), "set it once"))
			continue
		}
		if err := p.Set(&s, values); err != nil {
			faults = append(faults, err)
		}
	}
	if s.ArgoCD == "" && in.ArgoCD.Release != (knowledge.Release{}) {
		s.ArgoCD = in.ArgoCD.Release.String()
	}
	if len(faults) > 0 {
		return s, finding.UsageError{Err: errors.Join(faults...)}
	}
	return s, nil
}
