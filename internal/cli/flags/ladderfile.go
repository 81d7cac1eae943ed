package flags

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// LadderVariable is the environment variable with the default of --ladder, for Argo CD's
// own plugin server, which sets no flags.
const LadderVariable = "LADDER_CONFIG"

// LadderFlag adds the flag that names the file to a command.
func LadderFlag(flags *pflag.FlagSet) *string {
	return flags.String("ladder", os.Getenv(LadderVariable),
		"Path of a "+knowledge.File+" for all components; a file in the repository overrides it. "+LadderVariable+" sets the default")
}

// KnowledgeOf returns the built-in knowledge, extended by the file, if any.
func KnowledgeOf(file string) (*knowledge.Base, error) {
	named, err := ReadLadder(file)
	if err != nil {
		return nil, err
	}
	return KnowledgeWith(named)
}

// ReadLadder returns a file with its name in a first line, or nothing without a file.
func ReadLadder(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("%s: no such file; fix: correct --ladder or %s", file, LadderVariable)
	}
	if err != nil {
		return nil, plugin.Unreadable(file, err)
	}
	return append([]byte(file+"\n"), text...), nil
}

// KnowledgeWith returns the built-in knowledge, extended by the result of ReadLadder.
func KnowledgeWith(named []byte) (*knowledge.Base, error) {
	name, text, any := strings.Cut(string(named), "\n")
	if !any {
		return profile.Reading(knowledge.Default()), nil
	}
	return profile.Reading(knowledge.Default()).With(name, text)
}

// ProfileNamed returns a built-in profile, or that of a ladder.yaml.
func ProfileNamed(named string) (profile.Profile, error) {
	if slices.Contains(profile.Names(), named) {
		return profile.Of(profile.Section{Profile: named})
	}
	if _, err := os.Stat(named); err != nil {
		return profile.Profile{}, finding.Usagef("--against: %q is neither a file nor a profile; "+
			"use one of %s, or name a ladder.yaml or a directory of components", named, strings.Join(profile.Names(), ", "))
	}
	base, err := KnowledgeOf(named)
	if err != nil {
		return profile.Profile{}, err
	}
	return profile.Of(profile.In(base))
}
