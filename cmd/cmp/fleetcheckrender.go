package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/fleet"
)

func newFleetCheckRender(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check-render DIR...",
		Short: "Render every component of a fleet and judge its sync waves",
		Long: `Render every component of a fleet, compute its sync waves and play their sync, as
cmp check does for one: a line for each Application with the number of its
objects, waves and findings, and then the findings. Charts in registries are not
fetched, and so not judged. Disabled components are. A component.yaml that asks for
what the platform alone decides is a finding, too, as in cmp fleet lint.

Exits with 1 if there is a finding of severity error.`,
		Example: `  cmp fleet check-render ./components
  cmp fleet check-render ./components -o json`,
	}
	in := addFleetInputs(cmd)
	in.addProjects(cmd.Flags())
	format := formatFlag(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := knownReport(*format); err != nil {
			return err
		}
		f, err := in.loadAll(cmd, s, args)
		if err != nil && !reportable(err) {
			return err
		}
		r := verdict{findings: finding.Of(err)}
		if err == nil {
			objects := 0
			for _, app := range f.Applications {
				if app.In(in.source.Environment) {
					r.components = append(r.components, judge(app))
					r.findings = append(r.findings, app.Findings...)
					objects += len(app.Objects)
				}
			}
			r.findings = append(r.findings, f.Overreach(in.source.Environment)...)
			finding.Sort(r.findings)
			r.of = counted(objects, "object") + " of " + counted(len(r.components), "Application")
			slices.SortFunc(r.components, func(x, y judged) int { return strings.Compare(x.Name, y.Name) })
		}
		return r.write(s, *format, false)
	}
	return cmd
}

// judged is what became of an Application that was rendered.
type judged struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// State is rendered, failed, or remote for a chart in a registry.
	State    string `json:"state"`
	Objects  int    `json:"objects"`
	Waves    int    `json:"waves"`
	Errors   int    `json:"errors"`
	Warnings int    `json:"warnings"`
	Notes    int    `json:"notes"`
}

func judge(app *fleet.Application) judged {
	r := verdict{findings: app.Findings}
	j := judged{Name: app.Name, Path: app.File, State: "rendered", Objects: len(app.Objects), Waves: app.Waves,
		Errors: r.count(finding.Error), Warnings: r.count(finding.Warning), Notes: r.count(finding.Note)}
	switch {
	case app.Failed:
		j.State = "failed"
	case app.Elsewhere:
		j.State = "remote"
	}
	return j
}

// judgedTable prints a line for each Application.
func judgedTable(all []judged) string {
	if len(all) == 0 {
		return ""
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tOBJECTS\tWAVES\tFINDINGS")
	for _, j := range all {
		objects, waves := fmt.Sprint(j.Objects), fmt.Sprint(j.Waves)
		found := "none"
		switch {
		case j.State == "remote":
			objects, waves, found = "-", "-", "not looked at: the chart is in a registry"
		case j.State == "failed":
			objects, waves, found = "-", "-", "not rendered: "+counted(j.Errors, "error")
		case j.Errors+j.Warnings+j.Notes > 0:
			var parts []string
			for _, p := range []struct {
				n    int
				what string
			}{{j.Errors, "error"}, {j.Warnings, "warning"}, {j.Notes, "note"}} {
				if p.n > 0 {
					parts = append(parts, counted(p.n, p.what))
				}
			}
			found = strings.Join(parts, ", ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", finding.Harmless(j.Name), objects, waves, found)
	}
	w.Flush()
	return b.String() + "\n"
}
