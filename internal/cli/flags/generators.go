package flags

import (
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/fleet/children"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// GeneratorValues adds --generator-values and returns a function that reads the file.
func GeneratorValues(flags *pflag.FlagSet) func() (appset.Values, error) {
	file := flags.String("generator-values", "",
		"File with the parameters of ApplicationSet generators that Ladder cannot evaluate, such as clusters")
	return func() (appset.Values, error) {
		if *file == "" {
			return nil, nil
		}
		text, err := wholefile.Read(*file, "correct --generator-values")
		if err != nil {
			return nil, err
		}
		return appset.ParseValues(*file, text)
	}
}

// ExpandSets lets a command expand ApplicationSets.
func (in *Rendering) ExpandSets() {
	in.generators = GeneratorValues(in.Flags)
	cli.PutFlags(in.Flags, cli.RenderingFlags, "generator-values")
}

// children returns what orders the Applications of an app of apps.
func (o Options) children() (children.Children, error) {
	if o.generators == nil {
		return children.Children{}, nil
	}
	values, err := o.generators()
	return children.Children{Generators: &values}, err
}
