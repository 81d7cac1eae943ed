package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/argocd/health"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/wave"
)

func newHealth(s cli.Streams) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "health DIR... | --all",
		Short: "Print the health checks that components need and Argo CD lacks",
		Long: `Print health checks for kinds that other objects of a component wait for, but for which
Argo CD has no health check, as a patch of the argocd-cm ConfigMap or as values of the
Argo CD Helm chart. Without them, Argo CD continues as soon as such objects exist. Also
print health checks for kinds that objects wait for and that Argo CD reports as Degraded
during a normal start.

For several components, print the checks of all of them.`,
		Example: `  cmp health ./component > argocd-cm.patch.yaml
  cmp health ./components/* -o values
  cmp health --all`,
		Args: cli.ArgsUnless("all", 1, cli.Many),
	}
	in := flags.AddRendering(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "Print the health checks of all known kinds")
	format := cli.FormatFlag(cmd, "Format: configmap, or values for the Argo CD Helm chart", "configmap", "values")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		base, err := in.Base()
		if err != nil {
			return err
		}
		kinds := base.KindsWithStatus()
		if !all {
			var unknown []finding.Finding
			kinds = nil
			for _, dir := range args {
				res, err := in.Generate(dir)
				if err != nil {
					return err
				}
				needed, notes := healthOf(res.Plan, res.Plan.Audit(res.Base))
				kinds, unknown = append(kinds, needed...), append(unknown, notes...)
			}
			s.Warn(unknown...)
			if len(kinds)+len(unknown) == 0 {
				s.Note("nothing to print: Argo CD has a suitable health check for every object that a sync waits for")
				return nil
			}
		}
		checks := health.Checks(kinds)
		if len(checks) == 0 {
			return nil
		}
		if *format == "values" {
			return s.Emit(health.Values(checks), nil)
		}
		return s.Emit(health.ConfigMap(checks), nil)
	}
	return cmd
}

// healthOf returns the kinds of blind objects for which Ladder can generate a health
// check, those for which it can generate a better one than Argo CD's, and a note for
// each kind without known status fields.
func healthOf(p *wave.Plan, gates []wave.Gate) ([]knowledge.Kind, []finding.Finding) {
	var kinds []knowledge.Kind
	for _, g := range p.DegradedAtStart(gates) {
		if k := p.Graph.Nodes[g.Node].Kind; k.Status != nil {
			kinds = append(kinds, *k)
		}
	}
	var unknown []finding.Finding
	var seen []string
	for _, g := range wave.WithoutHealthCheck(gates) {
		if slices.Contains(seen, g.Kind) {
			continue
		}
		seen = append(seen, g.Kind)
		n := p.Graph.Nodes[g.Node]
		if n.Kind.Status != nil {
			kinds = append(kinds, *n.Kind)
			continue
		}
		if n.Kind.Later != "" {
			unknown = append(unknown, finding.Finding{Severity: finding.Note, Rule: "blind-gate", File: n.File, Line: n.Line, Object: g.Object,
				Message: fmt.Sprintf("%s, but Argo CD has no health check for %s before %s", g.Why, g.Kind, n.Kind.Later),
				Remedy:  wave.UpgradeOrCopy(&n)})
			continue
		}
		unknown = append(unknown, finding.Finding{Severity: finding.Note, Rule: "blind-gate", File: n.File, Line: n.Line, Object: g.Object,
			Message: g.Why + ", but Argo CD has no health check for " + g.Kind + ", and Ladder does not know which status fields mean healthy",
			Remedy:  "write " + health.Key(n.ID.Group, n.ID.Kind) + " to argocd-cm if the status of " + g.Kind + " shows whether it is healthy"})
	}
	return kinds, unknown
}
