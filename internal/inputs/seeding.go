package inputs

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/seed"
	"github.com/ladder-cmp/ladder/internal/seedfile"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/random"
)

// seeding is what the flags of a command say about random values.
type seeding struct {
	file        *string
	application string
	destination string
	// made is the seed of the command, which all its renderings share.
	made *seed.Seed
	keys *random.Keys
}

// rememberedKeys is how many private keys a command remembers, which renders a component
// more than once.
const rememberedKeys = 64

// addSeeding puts the flags on a command.
func addSeeding(flags *pflag.FlagSet) *seeding {
	in := &seeding{keys: random.NewKeys(rememberedKeys)}
	help.Define(flags, help.Seed, in.define)
	return in
}

func (in *seeding) define(flags *pflag.FlagSet) {
	in.file = seedfile.Flag(flags)
	flags.StringVar(&in.application, "application", "", "Application to derive random values for with --seed-file: PROJECT/NAME, or PROJECT/NAMESPACE/NAME if the Application is not in Argo CD's namespace (default: the release name, in the AppProject default)")
	flags.StringVar(&in.destination, "destination-namespace", "", "Namespace of the Application's destination for --seed-file, if the component is rendered for another one (default: that of the rendering)")
}

// throwaway makes a seed for this run of the command unless there is one: what is compared
// shows what a change does, and not what is random.
func (in *seeding) throwaway() error {
	if *in.file != "" || in.made != nil {
		return nil
	}
	s, err := seed.Parse([]byte(seedfile.New()))
	in.made = &s
	return err
}

// Throwaway returns what a command without a seed derives random values from.
func Throwaway() (*plugin.Random, error) {
	none := ""
	in := &seeding{file: &none, keys: random.NewKeys(rememberedKeys)}
	if err := in.throwaway(); err != nil {
		return nil, err
	}
	return in.random()
}

// random returns what renderings derive generated values from; nil without a seed.
func (in *seeding) random() (*plugin.Random, error) {
	if in == nil {
		return nil, nil
	}
	if in.made == nil {
		s, err := seedfile.Read(*in.file)
		if err != nil || s == nil {
			return nil, err
		}
		in.made = s
	}
	named, err := applicationOf(in.application)
	if err != nil {
		return nil, err
	}
	made := *in.made
	return &plugin.Random{Now: time.Now(), Keys: in.keys, Key: func(app seed.Application) seed.Key {
		app.Project = named.Project
		if named.Name != "" {
			app.Name = named.Name
		}
		if in.destination != "" {
			app.Namespace = in.destination
		}
		return made.Key(app)
	}}, nil
}

// applicationOf reads PROJECT/NAME and PROJECT/NAMESPACE/NAME.
func applicationOf(text string) (seed.Application, error) {
	if text == "" {
		return seed.Application{Project: "default"}, nil
	}
	parts := strings.Split(text, "/")
	for _, p := range parts {
		if p == "" || len(parts) < 2 || len(parts) > 3 {
			return seed.Application{}, usage.Error{Err: fmt.Errorf("--application: %q is not an Application; fix: write it as PROJECT/NAME, or as PROJECT/NAMESPACE/NAME if it is outside Argo CD's namespace", text)}
		}
	}
	// As Argo CD writes the name of one in another namespace than its own.
	return seed.Application{Project: parts[0], Name: strings.Join(parts[1:], "_")}, nil
}
