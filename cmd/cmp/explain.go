package main

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave/explain"
)

func newExplain(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain DIR [KIND/NAME]",
		Short: "Explain the sync waves of a component, or of one object in it",
		Long: `Explain the order of the component in DIR: a table of its objects in the order in
which Argo CD applies them, with the reason for each wave. For a single object,
print the whole chain of reasons for its wave, and its references.

For an ApplicationSet, also list the Applications that it generates.

A deadlock in existing waves or hooks is reported on standard error, but the command still
prints the table and exits with 0. With --strict, it exits with 1, as cmp check does.`,
		Example: `  cmp explain ./component
  cmp explain ./component Deployment/web
  cmp explain ./component Deployment/shop/web
  cmp explain ./component -o json | jq '.objects[] | select(.rung == "controllers") | .name'`,
		Args: option.Args(1, 2),
	}
	in := inputs.Add(cmd)
	in.ExpandSets()
	strict := strictFlag(cmd.Flags())
	format := option.Format(cmd, "Format", reportText, reportJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		res, err := in.Generate(args[0])
		if err != nil {
			return err
		}
		res.Findings = slices.Concat(res.Findings, res.RenewalFindings(), res.LookupFindings())
		if *format == reportJSON {
			asked := res.Plan.Order
			if len(args) == 2 {
				if asked, err = explain.Find(res.Plan, args[1]); err != nil {
					return err
				}
			}
			failed := warnStrictly(s, res.Findings, *strict)
			return cmp.Or(writeJSON(s, explain.Explanation{Objects: explain.Objects(res.Plan, asked), Sets: explainedSets(res, asked)}), failed)
		}
		text, asked := explain.Table(res.Plan.Table()), res.Plan.Order
		if len(args) == 2 {
			if text, err = explain.Text(res.Plan, args[1]); err != nil {
				return err
			}
			if asked, err = explain.Find(res.Plan, args[1]); err != nil {
				return err
			}
		}
		for _, set := range explainedSets(res, asked) {
			text += explain.SetTable(set)
		}
		failed := warnStrictly(s, res.Findings, *strict)
		return cmp.Or(s.print(text, nil), failed)
	}
	return cmd
}

// explainedSets lists the ApplicationSets among the given nodes.
func explainedSets(res plugin.Result, nodes []int) []explain.Set {
	var all []explain.Set
	for _, set := range res.Sets {
		if !slices.Contains(nodes, set.Node) {
			continue
		}
		key := res.Plan.Graph.Nodes[set.Node].Key
		shown := explain.Set{Namespace: key.Namespace, Name: key.Name, Applications: []explain.Application{}}
		for _, app := range set.Applications {
			shown.Applications = append(shown.Applications, explain.Application{Step: app.Step, Name: app.ID.Name, Namespace: app.Get("spec", "destination", "namespace").Text(), Sources: app.Sources()})
		}
		all = append(all, shown)
	}
	return all
}
