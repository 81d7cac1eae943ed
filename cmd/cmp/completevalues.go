package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
)

// flagValues complete flags with the same meaning in every command. Parameters of a rendering
// and formats define their own choices.
var flagValues = map[string]cobra.CompletionFunc{
	"ladder": complete.ManifestFiles, "file": complete.ManifestFiles, "values": complete.ManifestFiles, "durations": complete.ManifestFiles, "observed": complete.ManifestFiles, "applications": complete.ManifestFiles, "check": complete.ManifestFiles, "argocd-cm": complete.ManifestFiles, "generator-values": complete.ManifestFiles, "template": complete.ManifestFiles,
	"out": complete.Folders, "dir": complete.Folders, "plugin-dir": complete.Folders, "compare": complete.Folders, "path": complete.Folders,
	"components": complete.Folders, "libs": complete.Folders, "remote-cache": complete.Folders, "remote-credentials": complete.Folders, "remote-projects": complete.Folders,
	"set-file": complete.AnyFile, "kubeconfig": complete.AnyFile, "seed-file": complete.AnyFile, "remote-ca": complete.AnyFile, "remote-verify": complete.ManifestFiles,
	"object":            objects,
	"component":         deployedNames,
	"fail":              deployedNames,
	"only":              deployedNames,
	"skip":              deployedNames,
	"environment":       environmentNames,
	"until":             usedSteps,
	"rung":              complete.Rungs,
	"log-format":        cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp),
	"log-level":         cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp),
	"remote-on-failure": cobra.FixedCompletions([]string{string(fetch.Fail), string(fetch.UseCached)}, cobra.ShellCompDirectiveNoFileComp),
	"health-check":      cobra.FixedCompletions([]string{"configmap", "values"}, cobra.ShellCompDirectiveNoFileComp),
}

// objects returns the objects of the component in the preceding argument, if it renders in
// time.
func objects(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	in := inputs.Typed(cmd)
	found := complete.WithTimeout(cmd.Context(), func(ctx context.Context) ([]string, error) {
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
	return complete.WithPrefix(found, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// described returns a fleet without rendering it.
func described(cmd *cobra.Command, dirs []string) *fleet.Fleet {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	return complete.WithTimeout(cmd.Context(), func(ctx context.Context) (*fleet.Fleet, error) {
		in := fleetInputs{source: fleet.Source{Unrendered: true}, ladder: new(string)}
		cmd.SetContext(ctx)
		return in.load(cmd, streams{Err: io.Discard}, dirs)
	})
}

// deployedNames returns the names of the deployed Applications.
func deployedNames(cmd *cobra.Command, dirs []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	if f := described(cmd, dirs); f != nil {
		for _, app := range f.Applications {
			all = append(all, cobra.CompletionWithDesc(finding.Sanitize(app.Name), strings.TrimSpace(f.Write(app.Phase)+" "+app.File)))
		}
	}
	return complete.WithPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp
}

func environmentNames(cmd *cobra.Command, dirs []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	if f := described(cmd, dirs); f != nil {
		for _, name := range f.Environments() {
			all = append(all, finding.Sanitize(name))
		}
	}
	return complete.WithPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp
}

// usedSteps returns the steps that have components.
func usedSteps(cmd *cobra.Command, dirs []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	if f := described(cmd, dirs); f != nil {
		at := map[string][]string{}
		for _, app := range f.Applications {
			if phase := f.Write(app.Phase); phase != "" {
				if at[phase] == nil {
					all = append(all, phase)
				}
				at[phase] = append(at[phase], finding.Sanitize(app.Name))
			}
		}
		for i, phase := range all {
			all[i] = cobra.CompletionWithDesc(phase, strings.Join(at[phase], ", "))
		}
	}
	return complete.WithPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
