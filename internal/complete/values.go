package complete

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/fleets"
	"github.com/ladder-cmp/ladder/internal/inputs"
)

// values complete flags with the same meaning in every command. Parameters of a rendering
// and formats define their own choices.
func values() map[string]cobra.CompletionFunc {
	all := map[string]cobra.CompletionFunc{
		"object":            objectsOrApplications,
		"fail":              applications,
		"only":              applications,
		"skip":              applications,
		"environment":       environments,
		"until":             steps,
		"rung":              Rungs,
		"log-format":        fixed("text", "json"),
		"log-level":         fixed("debug", "info", "warn", "error"),
		"remote-on-failure": fixed(string(fetch.Fail), string(fetch.UseCached)),
	}
	for _, of := range []struct {
		complete cobra.CompletionFunc
		flags    []string
	}{
		{ManifestFiles, []string{"ladder", "file", "values", "durations", "check", "generator-values", "template"}},
		{Directories, []string{"out", "dir", "plugin-dir", "path", "remote-cache", "remote-credentials", "remote-projects"}},
		{AnyFile, []string{"set-file", "kubeconfig", "seed-file", "remote-ca"}},
	} {
		for _, flag := range of.flags {
			all[flag] = of.complete
		}
	}
	return all
}

func fixed(choices ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)
}

// HasValues reports whether a flag completes to something in every command.
func HasValues(flag string) bool {
	_, known := values()[flag]
	return known
}

// objects returns the objects of the component in the preceding argument, if it renders in
// time.
func objects(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	in := inputs.FromCompletion(cmd)
	found := WithTimeout(cmd.Context(), func(ctx context.Context) ([]string, error) {
		cmd.SetContext(ctx)
		res, err := in.Generate(args[0])
		if err != nil {
			return nil, err
		}
		var all []string
		for _, row := range res.Plan.Table() {
			id := row.Object
			name := id.Kind + "/" + id.Name
			if len(res.Plan.Find(name)) > 1 {
				name = id.Kind + "/" + id.Namespace + "/" + id.Name
			}
			all = append(all, cobra.CompletionWithDesc(finding.Sanitize(name), "wave "+row.Wave+", "+finding.Sanitize(row.Why)))
		}
		return all, nil
	})
	return WithPrefix(found, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// fleetIn returns the fleet in directories, by default in the working directory, without
// rendering it. It is empty if it cannot be loaded in time.
func fleetIn(cmd *cobra.Command, dirs []string) *fleet.Fleet {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	dirs, _ = checkout.WithoutFiles(dirs)
	f := WithTimeout(cmd.Context(), func(ctx context.Context) (*fleet.Fleet, error) {
		all, err := fleets.Load(ctx, fleets.Options{Source: fleet.Source{SkipRendering: true}}, dirs)
		return all.Fleet, err
	})
	if f == nil {
		return &fleet.Fleet{}
	}
	return f
}

// objectsOrApplications returns the objects of a component, or the components of a fleet.
func objectsOrApplications(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if found, directive := objects(cmd, args, typed); len(found) > 0 {
		return found, directive
	}
	return applications(cmd, args, typed)
}

// applications returns the names of the deployed Applications.
func applications(cmd *cobra.Command, dirs []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	f := fleetIn(cmd, dirs)
	for _, app := range f.Applications {
		all = append(all, cobra.CompletionWithDesc(finding.Sanitize(app.Name), strings.TrimSpace(f.FormatStep(app.Step)+" "+app.File)))
	}
	return WithPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp
}

func environments(cmd *cobra.Command, dirs []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, name := range fleetIn(cmd, dirs).Environments() {
		all = append(all, finding.Sanitize(name))
	}
	return WithPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp
}

// steps returns the steps that have components.
func steps(cmd *cobra.Command, dirs []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	at := map[string][]string{}
	f := fleetIn(cmd, dirs)
	for _, app := range f.Applications {
		if step := f.FormatStep(app.Step); step != "" {
			if at[step] == nil {
				all = append(all, step)
			}
			at[step] = append(at[step], finding.Sanitize(app.Name))
		}
	}
	for i, step := range all {
		all[i] = cobra.CompletionWithDesc(step, strings.Join(at[step], ", "))
	}
	return WithPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// Commands completes the name of a command, one word at a time.
func Commands(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if at, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
		for _, sub := range at.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
			}
		}
	}
	return WithPrefix(names, typed), cobra.ShellCompDirectiveNoFileComp
}
