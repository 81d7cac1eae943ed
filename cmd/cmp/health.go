package main

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/argocd/health"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/command"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
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

For a fleet, or several components, print the checks of all of them. Charts that are not
available are left out, with a warning for each.`,
		Example: `  cmp health ./component > argocd-cm.patch.yaml
  cmp health ./components -o values
  cmp health --all`,
		Args: cli.ArgsUnless("all", 1, cli.Many),
	}
	in := command.AddAny(cmd, "Omit components that are not deployed in this environment")
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
			var partial bool
			if kinds, unknown, partial, err = neededHealth(cmd.Context(), s, in, args); err != nil {
				return err
			}
			s.Warn(unknown...)
			switch {
			case len(kinds)+len(unknown) > 0:
			case partial:
				s.Note("nothing to print for the components that were read: Argo CD has a suitable health check for every object " +
					"that their syncs wait for; what was left out may need one")
				return nil
			default:
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

// neededHealth returns what healthOf returns for a component, or for all components of a fleet, and
// whether some were left out.
func neededHealth(ctx context.Context, s cli.Streams, in *command.Any, dirs []string) (kinds []knowledge.Kind,
	unknown []finding.Finding, partial bool, err error) {
	isFleet, err := in.IsFleet(dirs)
	if err != nil {
		return nil, nil, false, err
	}
	add := func(res plugin.Result) {
		needed, notes := healthOf(res.Plan, res.Plan.Audit(res.Base))
		kinds, unknown = append(kinds, needed...), append(unknown, notes...)
	}
	if !isFleet {
		res, err := in.Generate(dirs[0])
		if err == nil {
			add(res)
		}
		return kinds, unknown, false, err
	}
	opt, err := in.FleetOptions()
	if err != nil {
		return nil, nil, false, err
	}
	opt.Source.Assume = true
	opt.Source.Rendered = func(_ *fleet.Application, res plugin.Result) { add(res) }
	loaded, err := command.Load(ctx, opt, dirs)
	if err != nil {
		return nil, nil, false, err
	}
	s.Warn(loaded.Omissions...)
	if err := finding.Err(lint.Rendering(loaded.Fleet, opt.Source.Environment, (*fleet.Application).HasFailed)); err != nil {
		return nil, nil, false, err
	}
	if loaded.Fleet.Profile.Style == profile.Waves { // a parent waits for its children
		for _, k := range loaded.Fleet.Base.KindsWithStatus() {
			if k.Group == argocd.Group && k.Kind == "Application" {
				kinds = append(kinds, k)
			}
		}
	}
	return kinds, append(unknown, missingCharts(loaded.Fleet)...), len(loaded.Omissions) > 0, nil
}

// missingCharts returns a note for each chart or file that a fleet deploys and that is not available.
func missingCharts(f *fleet.Fleet) []finding.Finding {
	var all []finding.Finding
	seen := map[remote.Ref]bool{}
	for _, app := range f.Applications {
		for _, missing := range app.MissingSources {
			ref := missing.Ref
			ref.Version = ""
			if seen[ref] {
				continue
			}
			seen[ref] = true
			all = append(all, finding.Finding{Severity: finding.Note, Rule: "not-fetched", File: app.File, Line: app.Line("chart"),
				Message: ref.String() + " is not available, so the health checks that its objects need are not among these",
				Remedy:  "run cmp vendor " + path.Dir(app.File)})
		}
	}
	return all
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
			unknown = append(unknown, finding.Finding{Severity: finding.Note, Rule: "blind-gate", File: n.File, Line: n.Line,
				Object:  g.Object,
				Message: fmt.Sprintf("%s, but Argo CD has no health check for %s before %s", g.Why, g.Kind, n.Kind.Later),
				Remedy:  wave.UpgradeOrCopy(&n)})
			continue
		}
		unknown = append(unknown, finding.Finding{Severity: finding.Note, Rule: "blind-gate", File: n.File, Line: n.Line, Object: g.Object,
			Message: g.Why + ", but Argo CD has no health check for " + g.Kind +
				", and Ladder does not know which status fields mean healthy",
			Remedy: "write " + health.Key(n.ID.Group,
				n.ID.Kind) + " to argocd-cm if the status of " + g.Kind + " shows whether it is healthy"})
	}
	return kinds, unknown
}
