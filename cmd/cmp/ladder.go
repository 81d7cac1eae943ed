package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// ladderEnv names the variable that sets the default of --ladder, for those who
// run Argo CD's own plugin server, which gives no flags.
const ladderEnv = "LADDER_CONFIG"

// ladderFlag is the file that holds for every component: the sidecar's own.
func ladderFlag(flags *pflag.FlagSet) *string {
	return flags.String("ladder", os.Getenv(ladderEnv), "A "+knowledge.File+" for every component, as the plugin server has one; those in the repository win over it. "+ladderEnv+" sets the default")
}

// knowledgeBase is what the program knows about kinds, with what the file says
// besides, if one is named.
func knowledgeBase(file string) (*knowledge.Base, error) {
	if file == "" {
		return knowledge.Default(), nil
	}
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("%s: no such file; correct --ladder or %s", file, ladderEnv)
	}
	if err != nil {
		return nil, plugin.Unreadable(file, err)
	}
	return knowledge.Default().With(file, string(text))
}
