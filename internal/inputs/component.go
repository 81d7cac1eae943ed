// Package inputs contains the flags that determine what a command renders and how, and
// creates the request of the plugin from them.
package inputs

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/internal/fetchers"
	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/screen"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// Component contains the flags that determine how a command renders components: one for
// each parameter of the plugin, and those about the seed and about fetching.
type Component struct {
	// Ladder is the file of --ladder.
	Ladder *string
	// Remote are the flags about fetching; nil for a command without them.
	Remote *fetchers.Options

	cmd   *cobra.Command
	flags *pflag.FlagSet
	// parameters are those that the command takes, and params what --param sets of them.
	parameters []plugin.Parameter
	params     *[]string
	revision   string
	seedFlags  *seedFlags
	// generators reads the parameters of generators of ApplicationSets; nil for commands
	// that do not expand ApplicationSets.
	generators func() (appset.Values, error)
}

// Add adds the flags to a command: all of them, or only the named parameters.
func Add(cmd *cobra.Command, only ...string) *Component {
	in := AddWithoutSeed(cmd, only...)
	if only == nil {
		in.seedFlags = addSeedFlags(in.flags)
	}
	return in
}

// FromCompletion returns the inputs of a command line that is being completed. Nothing is
// fetched.
func FromCompletion(cmd *cobra.Command) *Component {
	in := &Component{cmd: cmd, flags: cmd.Flags(), Ladder: new(string)}
	if f := cmd.Flag("ladder"); f != nil {
		*in.Ladder = f.Value.String()
	}
	return in
}

// AddWithoutSeed adds the flags to a command that takes no seed.
func AddWithoutSeed(cmd *cobra.Command, only ...string) *Component {
	in := &Component{cmd: cmd, flags: cmd.Flags()}
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
	in.Ladder = ladderfile.Flag(in.flags)
	help.Put(in.flags, help.Rendering, "ladder")
	if only != nil {
		return in
	}
	in.Remote = fetchers.Add(in.flags, fetchers.UserCache())
	ShowProgress(cmd, in.Remote)
	in.flags.StringVar(&in.revision, "revision", "", "Commit that templated YAML can read as .Release.Revision; in Helm charts, it is always 1")
	help.Put(in.flags, help.Rendering, "revision")
	return in
}

// ShowProgress shows on a terminal what a command fetches, if that takes long, unless the
// command is quiet.
func ShowProgress(cmd *cobra.Command, from *fetchers.Options) {
	from.Config.Fetching = func(ref remote.Ref) func() {
		if isQuiet(cmd) {
			return func() {}
		}
		return screen.Waiting(cmd.ErrOrStderr(), "fetching "+ref.String())
	}
}

func isQuiet(cmd *cobra.Command) bool {
	f := cmd.Flag("quiet")
	return f != nil && f.Value.String() == "true"
}

// Options returns the values of the flags.
func (in *Component) Options() (Options, error) {
	settings, err := in.Settings()
	opt := Options{Settings: settings, Ladder: *in.Ladder, Remote: in.Remote, Command: in.cmd.Name(), seed: in.seedFlags, generators: in.generators}
	in.flags.Visit(func(f *pflag.Flag) { opt.Flags = append(opt.Flags, f.Name) })
	opt.Flags = append(opt.Flags, in.named()...)
	return opt, err
}

// Base returns the knowledge with the file of --ladder.
func (in *Component) Base() (*knowledge.Base, error) { return ladderfile.Base(*in.Ladder) }

// IsSet reports whether a flag is set, or the parameter of that name with --param.
func (in *Component) IsSet(flag string) bool {
	return in.flags.Changed(flag) || slices.Contains(in.named(), flag)
}

// Settings returns what the flags set.
func (in *Component) Settings() (plugin.Settings, error) {
	s := plugin.Settings{Revision: in.revision}
	s.Values.Read = os.ReadFile
	given, faults := in.givenParams()
	for _, p := range in.parameters {
		values := given[p.Name]
		if flag := in.flags.Lookup(p.Name); flag != nil && p.Visible && flag.Changed {
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
	if len(faults) > 0 {
		return s, usage.Error{Err: errors.Join(faults...)}
	}
	return s, nil
}
