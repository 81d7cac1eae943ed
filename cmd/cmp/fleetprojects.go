package main

import (
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/object"
)

// addProjects adds the flags that let components choose their AppProject to a command.
func (in *fleetInputs) addProjects(flags *pflag.FlagSet) {
	flags.BoolVar(&in.projectsFromComponents, "project-from-components", false, "Let components choose their AppProject among those of --allow-project")
	flags.StringSliceVar(&in.source.Projects, "allow-project", nil, "Name of an AppProject that a component may choose; may be repeated")
}

// checkProjects rejects a choice without a list, and a list without a choice.
func (in *fleetInputs) checkProjects() error {
	switch {
	case in.projectsFromComponents && len(in.source.Projects) == 0:
		return usage.New("--project-from-components needs at least one AppProject to choose from; add --allow-project NAME")
	case !in.projectsFromComponents && len(in.source.Projects) > 0:
		return usage.New("--allow-project has no effect without --project-from-components; add it")
	}
	for _, name := range in.source.Projects {
		if !object.NamePattern.MatchString(name) {
			return usage.Errorf("--allow-project: %q is not a valid AppProject name; write the whole name, patterns are not supported", name)
		}
	}
	return nil
}
