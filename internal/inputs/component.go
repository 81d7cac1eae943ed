// Package inputs contains the flags that determine what a command renders and how, and
// creates the request of the plugin from them.
package inputs

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

	cmd       *cobra.Command
	flags     *pflag.FlagSet
	revision  string
	seedFlags *seedFlags
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
	in.Ladder = ladderfile.Flag(in.flags)
	help.Put(in.flags, help.Rendering, "ladder")
	if only != nil {
		return in
	}
	in.Remote = fetchers.Add(in.flags, fetchers.UserCache())
	ShowProgress(cmd, in.Remote)
	in.flags.StringVar(&in.revision, "revision", "", "Commit that templated YAML can read as .Release.Revision; in Helm charts, it is always 1")
	help.Put(in.flags, help.Helm, "revision")
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
	return opt, err
}

// Base returns the knowledge with the file of --ladder.
func (in *Component) Base() (*knowledge.Base, error) { return ladderfile.Base(*in.Ladder) }

// IsSet reports whether a flag is set.
func (in *Component) IsSet(flag string) bool { return in.flags.Changed(flag) }

// Settings returns what the flags set.
func (in *Component) Settings() (plugin.Settings, error) {
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
