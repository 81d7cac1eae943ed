package flags

import (
	"fmt"
	"strings"
	"time"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/random"
)

// seedFlags contains the flags for random values.
type seedFlags struct {
	file        *string
	application string
	// seed is the seed of all renderings of the command: of the file, or generated.
	seed *random.Seed
	keys *random.Keys
}

// maxCachedKeys is the number of private keys and hashes that a command caches, because it may
// render a component more than once.
const maxCachedKeys = 64

// addSeedFlags adds the flags to a command.
func addSeedFlags(flags *pflag.FlagSet) *seedFlags {
	in := &seedFlags{keys: random.NewKeys(maxCachedKeys)}
	cli.DefineFlags(flags, cli.SeedFlags, in.define)
	return in
}

func (in *seedFlags) define(flags *pflag.FlagSet) {
	in.file = SeedFlag(flags)
	flags.StringVar(&in.application, "application", "",
		"Application whose random values are derived from --seed-file: PROJECT/NAME, "+
			"or PROJECT/NAMESPACE/NAME if the Application is not in Argo CD's namespace; "+
			"followed by :NAMESPACE if its destination is not the namespace of the rendering (default: the release name, in the AppProject default)")
}

// WithTemporarySeed returns options with a seed for this run if they have none, so that a
// comparison does not show random differences.
func (o Options) WithTemporarySeed() (Options, error) {
	if o.seed != nil && *o.seed.file != "" {
		return o, nil
	}
	made, err := temporarySeed()
	if o.seed != nil {
		made.application = o.seed.application
	}
	o.seed = made
	return o, err
}

// TemporaryRandom returns a random source with a seed that is valid for this run only.
func TemporaryRandom() (*plugin.Random, error) {
	in, err := temporarySeed()
	if err != nil {
		return nil, err
	}
	return in.random()
}

func temporarySeed() (*seedFlags, error) {
	made, err := random.ParseSeed([]byte(NewSeed()))
	return &seedFlags{seed: &made, keys: random.NewKeys(maxCachedKeys)}, err
}

// random returns the random source of renderings; nil without a seed.
func (in *seedFlags) random() (*plugin.Random, error) {
	if in == nil {
		return nil, nil
	}
	if in.seed == nil {
		s, err := ReadSeed(*in.file)
		if err != nil || s == nil {
			return nil, err
		}
		in.seed = s
	}
	named, err := applicationOf(in.application)
	if err != nil {
		return nil, err
	}
	made := *in.seed
	return &plugin.Random{Now: time.Now(), Keys: in.keys, Key: func(app random.Owner) random.Key {
		app.Project = named.Project
		if named.Name != "" {
			app.Name = named.Name
		}
		if named.Namespace != "" {
			app.Namespace = named.Namespace
		}
		return made.Key(app)
	}}, nil
}

// applicationOf reads PROJECT/NAME and PROJECT/NAMESPACE/NAME, and :NAMESPACE of the destination.
func applicationOf(text string) (random.Owner, error) {
	if text == "" {
		return random.Owner{Project: "default"}, nil
	}
	named, destination, given := strings.Cut(text, ":")
	parts := strings.Split(named, "/")
	for _, p := range parts {
		if p == "" || len(parts) < 2 || len(parts) > 3 || given && destination == "" {
			return random.Owner{}, finding.UsageError{Err: fmt.Errorf("--application: %q is not an Application; "+
				"fix: write it as PROJECT/NAME, or as PROJECT/NAMESPACE/NAME if it is outside Argo CD's namespace", text)}
		}
	}
	// Argo CD writes an Application outside of its own namespace as NAMESPACE_NAME.
	return random.Owner{Project: parts[0], Name: strings.Join(parts[1:], "_"), Namespace: destination}, nil
}
