package complete

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/knowledge/ask"
)

// ProfilesOrFiles completes what a rollout can be compared with.
func ProfilesOrFiles(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, name := range profile.Names() {
		if p, err := profile.Builtin(name); err == nil && strings.HasPrefix(name, typed) {
			all = append(all, cobra.CompletionWithDesc(name, p.Why))
		}
	}
	if len(all) > 0 {
		return all, cobra.ShellCompDirectiveNoFileComp
	}
	return ManifestFiles(nil, nil, typed)
}

func ManifestFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

func Directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func Rungs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, r := range knowledge.Default().Rungs() {
		all = append(all, cobra.CompletionWithDesc(r.Name, fmt.Sprintf("wave %d: %s", r.Wave, r.Why)))
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// Kinds completes the known groups and kinds.
func Kinds(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	base, err := ladderfile.Base(cmd.Flag("ladder").Value.String())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for _, g := range base.Groups() {
		all = append(all, cobra.CompletionWithDesc(ask.GroupName(g.Name), g.Product))
		for _, k := range g.Kinds {
			if strings.Contains(k.Kind, "*") {
				continue
			}
			all = append(all, cobra.CompletionWithDesc(ask.GroupName(g.Name)+"/"+k.Kind, k.Why), cobra.CompletionWithDesc(k.Kind, k.Why))
		}
	}
	return WithPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp
}
