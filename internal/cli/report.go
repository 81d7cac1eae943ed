package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/wave"
)

// Report is the result of a check. plan is nil if there was no order to check.
type Report struct {
	Findings []finding.Finding
	// Named is what the user named. Code hosts show findings there that have no file.
	Named []string
	Plan  *wave.Plan
	Gates []wave.Gate
	// Scope is the checked part of a fleet; empty for a component.
	Scope string
	// Version is the version of the program, and Rules describe its rules, for reports that name
	// them.
	Version string
	Rules   Rules
	// Waves says which waves were checked; empty for other checks.
	Waves CheckedWaves
	// Applications are those of a fleet, each checked separately.
	Applications []ReportedComponent
}

// CheckedWaves are the waves that a check is about.
type CheckedWaves string

const (
	// Written are those in the manifests, which may be an author's.
	Written CheckedWaves = "checked the waves in the manifests; --waves rungs checks those that Ladder computes"
	// Computed are those that Ladder computes.
	Computed CheckedWaves = "checked the waves that Ladder computes"
	// Following are those that Ladder computes from an author's.
	Following CheckedWaves = "checked the waves that Ladder computes; " +
		"they follow the order of the author's waves, which --author-waves override ignores, and --waves off checks"
)

// Count returns the number of findings with a severity.
func (r Report) Count(severity finding.Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

// text formats a line for each finding, the gates, and a summary.
func (r Report) text(p paint.Paint) string {
	var b strings.Builder
	if r.Waves != "" {
		fmt.Fprintf(&b, "%s\n\n", r.Waves)
	}
	b.WriteString(applicationTable(p, r.Applications))
	b.WriteString(p.Findings(r.Findings))
	if len(r.Gates) > 0 {
		if len(r.Findings) > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", wave.AuditText(r.Gates))
	}
	fmt.Fprintf(&b, "%s, %s, %s", p.Counted(r.Count(finding.Error), finding.Error),
		p.Counted(r.Count(finding.Warning), finding.Warning), p.Counted(r.Count(finding.Note), finding.Note))
	if r.Plan != nil {
		fmt.Fprintf(&b, " in %s and %s", finding.Counted(len(r.Plan.Order), "object"), finding.Counted(r.Plan.WavesOfPhases(), "wave"))
	}
	if r.Scope != "" {
		b.WriteString(" in " + r.Scope)
	}
	b.WriteByte('\n')
	return b.String()
}

// Render formats the report; text has colors.
func (r Report) Render(format string, p paint.Paint) (string, error) {
	switch format {
	case JSON:
		return r.json()
	case SARIF:
		return r.sarif()
	}
	return r.text(p), nil
}

func (r Report) json() (string, error) {
	out := struct {
		Components []ReportedComponent `json:"components,omitzero"`
		Findings   []finding.Finding   `json:"findings"`
		Gates      []wave.Gate         `json:"gates,omitzero"`
	}{Components: r.Applications, Findings: []finding.Finding{}}
	if r.Scope == "" {
		out.Gates = append([]wave.Gate{}, r.Gates...)
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, f.Redacted())
	}
	return paint.JSON(out)
}

// ReportedComponent is the result of rendering a component.
type ReportedComponent struct {
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

// The states of a component.
const (
	Rendered    = "rendered"
	NotRendered = "failed"
	NotFetched  = "remote"
)

// applicationTable formats a line for each component.
func applicationTable(p paint.Paint, all []ReportedComponent) string {
	if len(all) == 0 {
		return ""
	}
	return paint.Columns("NAME\tOBJECTS\tWAVES\tFINDINGS", func(w io.Writer) {
		for _, j := range all {
			objects, waves := fmt.Sprint(j.Objects), fmt.Sprint(j.Waves)
			found := "none"
			switch {
			case j.State == NotFetched:
				objects, waves, found = "-", "-", "not checked: its chart is remote; run cmp vendor, or use --allow-remote"
			case j.State == NotRendered:
				objects, waves, found = "-", "-", "not rendered: "+p.Counted(j.Errors, finding.Error)
			case j.Errors+j.Warnings+j.Notes > 0:
				var parts []string
				for _, of := range []struct {
					n        int
					severity finding.Severity
				}{{j.Errors, finding.Error}, {j.Warnings, finding.Warning}, {j.Notes, finding.Note}} {
					if of.n > 0 {
						parts = append(parts, p.Counted(of.n, of.severity))
					}
				}
				found = strings.Join(parts, ", ")
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", finding.Sanitize(j.Name), objects, waves, found)
		}
	}) + "\n"
}

// Reportable reports whether an error is about the checked input.
func Reportable(err error) bool {
	if finding.IsUsage(err) {
		return false
	}
	return !slices.ContainsFunc(finding.Of(err), func(f finding.Finding) bool { return f.Rule == finding.Failed })
}

// The formats of a report.
const (
	Text  = "text"
	JSON  = "json"
	SARIF = "sarif"
)

// Faulty returns the report on an input that could not be read, or the error of the command if
// the input did not cause it.
func Faulty(err error) (Report, error) {
	if !Reportable(err) {
		return Report{}, err
	}
	return Report{Findings: finding.Of(err)}, nil
}
