package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/report"
)

func newReport(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write a web page of a component or a fleet: its ladder, the reasons and the findings",
		Long: `Write one page that opens from disk, needs no network and shows the ladder of
the component in DIR: its waves with the objects in them, what each refers to and
why it stands there, what Argo CD waits for, and what is wrong. Of manifests it
tells names, waves and reasons, and nothing that stands in them.

Where DIR holds no component.yaml and a folder below it does, it is that of a
fleet, and so are several: the page shows their components by phase, what each
needs of the others, the ladder of each, and the simulated rollout. Where it has
several environments, the reader chooses among their rollouts. Flags that say how
one component is rendered are then refused.

The page is the same for the same input. Findings are on it and fail nothing.`,
		Example: `  cmp report ./component -o report.html
  cmp report ./components --environment production -o fleet.html`,
		Args: cobra.MinimumNArgs(1),
	}
	in := addInputs(cmd)
	ofComponent := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		ofComponent[f.Name] = !slices.Contains([]string{"ladder", "kube-version", "api-versions"}, f.Name)
	})
	output := cmd.Flags().StringP("output", "o", "-", "File to write the page to, - for standard output")
	_ = cmd.RegisterFlagCompletionFunc("output", anyFile) // the flag is there
	environment := cmd.Flags().String("environment", "", "Of a fleet, leave out components that are not deployed there")
	durations := durationsFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(formatWords, *output) {
			return usageError{fmt.Errorf("--output names the file of the page here, and %q is a format of other commands; write -o report.html, or -o ./%s for a file of that name", *output, *output)}
		}
		isFleet, err := isFleet(args)
		if err != nil {
			return err
		}
		var faults []error
		cmd.Flags().Visit(func(f *pflag.Flag) {
			switch {
			case isFleet && ofComponent[f.Name]:
				faults = append(faults, fmt.Errorf("--%s is for one component, and %s is a fleet; drop it, or name one component", f.Name, strings.Join(args, " ")))
			case !isFleet && (f.Name == "environment" || f.Name == "durations"):
				faults = append(faults, fmt.Errorf("--%s is for a fleet, and %s is a component; drop it, or name the folder of the components", f.Name, args[0]))
			}
		})
		if len(faults) > 0 {
			return usageError{errors.Join(faults...)}
		}
		var page string
		if isFleet {
			settings, err := in.settings()
			if err != nil {
				return err
			}
			of := &fleetInputs{ladder: in.ladder, source: fleet.Source{Partial: true, Environment: *environment, KubeVersion: settings.KubeVersion, APIVersions: settings.APIVersions}}
			page, err = of.report(cmd, s, args, *durations)
			if err != nil {
				return err
			}
		} else if page, err = in.report(cmd, s, args[0]); err != nil {
			return err
		}
		if *output == "-" {
			_, err = io.WriteString(s.Out, page)
			return err
		}
		if err := writeFile(*output, []byte(page)); err != nil {
			return fmt.Errorf("%s: %s; name a file that can be written", *output, reason(err))
		}
		return nil
	}
	return cmd
}

// formatWords are what -o takes elsewhere: nobody means a file of that name.
var formatWords = append(drawings(), reportText, reportJSON, reportSARIF, diffMarkdown, "yaml")

// isFleet reports whether the arguments name a fleet: several folders, or one
// with components below it that is none itself.
func isFleet(dirs []string) (bool, error) {
	if len(dirs) > 1 || dirs[0] == "" {
		return len(dirs) > 1, nil
	}
	c, err := openCheckout(dirs[0])
	if err != nil {
		return false, fmt.Errorf("%s: %w", dirs[0], err)
	}
	defer c.close()
	return fleet.Source{Repo: c.repo, Dirs: []string{c.dir}, Show: c.show}.IsFleet(), nil
}

// report is the page of one component.
func (in *inputs) report(cmd *cobra.Command, s streams, dir string) (string, error) {
	req, base, done, err := in.request(dir)
	if err != nil {
		return "", err
	}
	defer done()
	res, err := plugin.Generate(cmd.Context(), req, base)
	if err := in.notOne(cmd, req, err); err != nil {
		return "", err
	}
	warn(s, res.Findings)
	return report.Component{Ladder: report.LadderOf(req.DirName, res.Plan, res.Base, res.Findings)}.HTML()
}

// report is the page of a fleet.
func (in *fleetInputs) report(cmd *cobra.Command, s streams, dirs []string, durations string) (string, error) {
	times, err := readDurations(durations)
	if err != nil {
		return "", err
	}
	ladders := map[*fleet.Application]*report.Ladder{}
	in.source.Rendered = func(app *fleet.Application, res plugin.Result) {
		ladders[app] = report.LadderOf(app.Name, res.Plan, res.Base, res.Findings)
	}
	f, err := in.load(cmd, s, dirs)
	if err != nil {
		return "", err
	}
	if err := checkDurations(times, f); err != nil {
		return "", err
	}
	warn(s, failures(f.Findings))
	environments := []string{in.source.Environment}
	if all := f.Environments(); in.source.Environment == "" && len(all) > 1 {
		environments = append(environments, all...)
	}
	var page report.Fleet
	for _, environment := range environments {
		there, err := f.In(environment)
		if err != nil {
			return "", err
		}
		// What could not be rendered is among what lint finds.
		r := report.Rollout{Environment: environment, Graph: there.Graph(fleet.GraphOptions{}), Findings: there.Lint(environment)}
		// Each environment has a rollout of its own, and those of all in one would
		// be that of none.
		if environment != "" || len(environments) == 1 {
			r.Timeline = timeline(there, times)
		}
		for _, app := range there.Applications {
			r.Applications = append(r.Applications, report.Application{Namespace: app.Namespace, Domain: app.Component.Part(), Rung: app.Rung, File: app.File, Ladder: ladders[app]})
		}
		page.Rollouts = append(page.Rollouts, r)
	}
	return page.HTML()
}

// timeline plays a rollout.
func timeline(f *fleet.Fleet, times fleet.Durations) *report.Timeline {
	run := f.Simulate(f.Layout(layoutSet, func(i int) component.Phase { return f.Applications[i].Phase }), times, nil)
	played := rolloutReport{f, run, nil}.json()
	return &played
}
