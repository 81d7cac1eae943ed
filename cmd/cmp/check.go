package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

func newCheck(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check DIR|FILE|- | --touched FILE...",
		Short: "Judge the sync waves that manifests carry",
		Long: `Play the sync of manifests with the waves and hooks that they carry, as Argo CD
would, and report each object that could not be applied or become healthy in its
wave; then say of each wave what Argo CD really waits for in it. DIR is a
component, which is rendered; FILE or - (standard input) holds manifests that
something else rendered.

With --waves the order is the one that Ladder would compute. With --touched FILEs
are those that somebody changed, and what is judged, in the order that the plugin
makes, are the components that they are in: the nearest directory above with a
component.yaml, or else the chart, or the nearest kustomization.

Exits with 1 if there is a finding of severity error.`,
		Example: `  cmp check ./component
  kustomize build ./overlay | cmp check - -o sarif > waves.sarif
  git diff --name-only main | xargs cmp check --touched`,
	}
	in := addInputs(cmd)
	changed := cmd.Flags().Bool("touched", false, "Judge the components that the named files are in")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *changed {
			return nil // no files, no components
		}
		return cobra.ExactArgs(1)(cmd, args)
	}
	format := formatFlag(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := knownReport(*format); err != nil {
			return err
		}
		asTheyAre := plugin.Settings{Order: wave.Options{Waves: wave.Off}}
		if *changed {
			return in.checkTouched(cmd, s, args, *format)
		}
		var res plugin.Result
		var err error
		if isDir(args[0]) {
			res, err = in.generate(cmd, args[0], asTheyAre)
		} else {
			res, err = in.annotate(s, args[0], asTheyAre)
		}
		if _, usage := err.(usageError); usage {
			return err
		}
		r := verdict{findings: res.Findings}
		if err != nil {
			// What cannot be ordered at all is the gravest finding.
			r.findings = finding.Of(err)
		} else {
			r.plan, r.gates = res.Plan, res.Plan.Audit(res.Base)
		}
		text, err := r.render(*format)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(s.Out, text); err != nil {
			return err
		}
		if r.count(finding.Error) > 0 {
			return errReported
		}
		return nil
	}
	return cmd
}

// verdict is what a check found. plan is nil if there was no order to check.
type verdict struct {
	findings []finding.Finding
	plan     *wave.Plan
	gates    []wave.Gate
	// of says what of a fleet was looked at; empty for a component.
	of string
	// components are those of a fleet, where each was judged by itself.
	components []judged
}

func (r verdict) count(severity finding.Severity) int {
	n := 0
	for _, f := range r.findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

// text prints a line for each finding, what each wave really waits for, and a
// line that sums all up.
func (r verdict) text() string {
	var b strings.Builder
	b.WriteString(judgedTable(r.components))
	for _, f := range r.findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Severity, f.Error())
	}
	if len(r.gates) > 0 {
		if len(r.findings) > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", wave.AuditText(r.gates))
	}
	fmt.Fprintf(&b, "%s, %s, %s", counted(r.count(finding.Error), "error"), counted(r.count(finding.Warning), "warning"), counted(r.count(finding.Note), "note"))
	if r.plan != nil {
		fmt.Fprintf(&b, " in %s and %s", counted(len(r.plan.Order), "object"), counted(r.plan.Waves(), "wave"))
	}
	if r.of != "" {
		b.WriteString(" in " + r.of)
	}
	b.WriteByte('\n')
	return b.String()
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
