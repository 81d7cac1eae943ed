package inputs

import (
	"os"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/appset"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// GeneratorValues adds --generator-values and returns a function that reads the file.
func GeneratorValues(flags *pflag.FlagSet) func() (appset.Values, error) {
	file := flags.String("generator-values", "", "File with the parameters of ApplicationSet generators that Ladder cannot evaluate, such as clusters")
	return func() (appset.Values, error) {
		if *file == "" {
			return nil, nil
		}
		text, err := os.ReadFile(*file)
		if err != nil {
			return nil, finding.Finding{Severity: finding.Error, Rule: "no-file", File: *file, Message: wholefile.Reason(err), Remedy: "correct --generator-values"}
		}
		return appset.ParseValues(*file, text)
	}
}

// ExpandSets lets a command expand ApplicationSets.
func (in *Component) ExpandSets() {
	in.generators = GeneratorValues(in.flags)
	help.Put(in.flags, help.Rendering, "generator-values")
}

// GeneratorValues reads what generators find outside of the repository.
func (in *Component) GeneratorValues() (appset.Values, error) { return in.generators() }
