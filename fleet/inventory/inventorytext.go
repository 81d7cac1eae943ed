package inventory

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// CSV returns a row for each component, for spreadsheets.
func (inv Inventory) CSV() (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	rows := [][]string{{"step", "name", "path", "domain", "project", "namespace", "type", "rung", "because", "chart", "part",
		"state", "objects", "waves", "provides", "needs"}}
	for _, e := range inv.Components {
		rows = append(rows, []string{e.RolloutPhase, e.Name, e.Path, e.Domain, e.Project, e.Namespace, e.Type, e.Rung, e.Because,
			e.Chart, e.Part, e.State(),
			fmt.Sprint(e.Objects), fmt.Sprint(e.Waves), strings.Join(e.Provided(), "; "), strings.Join(e.Needed(), "; ")})
	}
	err := w.WriteAll(rows)
	return b.String(), err
}

// Provided returns what an entry provides, as text.
func (e Entry) Provided() []string {
	var all []string
	for _, p := range e.Provides {
		all = append(all, p.Short())
	}
	return all
}

// Needed returns what an entry depends on, as text.
func (e Entry) Needed() []string {
	var all []string
	for _, n := range e.Needs {
		all = append(all, n.Short())
	}
	return all
}

// Markdown returns the inventory for the documentation in a repository: the components of each
// step, the steps, and a table of the components. If steps are called waves, each has a list
// with paths; otherwise it has a line of names.
func (inv Inventory) Markdown() string {
	var b strings.Builder
	title := cmp.Or(inv.Name, "the fleet")
	if inv.Environment != "" {
		title += " in " + markdown(inv.Environment)
	}
	fmt.Fprintf(&b, "# Inventory of %s\n\n", markdown(title))
	noun := "step"
	if inv.waves() {
		noun = "wave"
	}
	for _, s := range inv.Steps {
		if len(s.entries) > 0 {
			b.WriteString(inv.members(s))
		}
	}
	fmt.Fprintf(&b, "\n## %ss\n\n| %s | band | purpose | max. updated at once | components |\n| --- | --- | --- | --- | --- |\n",
		strings.ToUpper(noun[:1])+noun[1:], noun)
	for _, s := range inv.Steps {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d |\n", s.Step, cell(s.Band), cell(s.Title), s.AtOnce(), len(s.entries))
	}
	fmt.Fprintf(&b, "\n## Components\n\n| %s | component | purpose | where | provides | depends on |\n"+
		"| --- | --- | --- | --- | --- | --- |\n", noun)
	for _, e := range inv.Components {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", e.RolloutPhase, cell(named(e)), cell(e.what()...),
			cell(e.where()...), cell(e.Provided()...), cell(e.Needed()...))
	}
	return b.String()
}

// waves reports whether steps are called waves.
func (inv Inventory) waves() bool { return inv.key == "wave" || inv.style == profile.Waves }

// members lists the components of a step.
func (inv Inventory) members(s Row) string {
	var b strings.Builder
	if !inv.waves() {
		var names []string
		for _, e := range s.entries {
			names = append(names, markdown(named(e)))
		}
		return fmt.Sprintf("- %s: %s\n", cmp.Or(s.Step, s.Title), strings.Join(names, "; "))
	}
	head := "wave" + s.Step
	switch s.Step {
	case "":
		head = s.Title
	case "-":
		head = "no wave"
	}
	fmt.Fprintf(&b, "- **%s**\n", head)
	for _, e := range s.entries {
		state := ""
		if e.State() != "" {
			state = " (" + markdown(e.State()) + ")"
		}
		fmt.Fprintf(&b, "  - `%s` (%s) – %s / %s / %s%s\n", code(e.Name), markdown(e.Path), markdown(cmp.Or(e.Domain, "-")),
			markdown(cmp.Or(e.Project, "-")), markdown(e.Namespace), state)
	}
	return b.String()
}

func named(e Entry) string {
	if e.State() == "" {
		return e.Name
	}
	return e.Name + " (" + e.State() + ")"
}

func (e Entry) what() []string {
	all := []string{}
	for _, s := range []string{e.Type, e.Part} {
		if s != "" {
			all = append(all, s)
		}
	}
	if e.Rung != "" {
		all = append(all, e.Rung+": "+e.Because)
	}
	return all
}

func (e Entry) where() []string {
	all := []string{e.Path, strings.Join(slices.DeleteFunc([]string{e.Domain, e.Project, e.Namespace},
		func(s string) bool { return s == "" }), " / ")}
	if e.Chart != "" {
		all = append(all, "chart "+e.Chart)
	}
	return all
}

// cell formats a cell of a Markdown table.
func cell(lines ...string) string {
	var all []string
	for _, line := range lines {
		all = append(all, strings.ReplaceAll(markdown(line), "|", `\|`))
	}
	return strings.Join(all, "<br>")
}

var escapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "<", "&lt;", "&", "&amp;")

// markdown escapes names, which anybody may have chosen.
func markdown(s string) string { return escapes.Replace(finding.Sanitize(s)) }

func code(s string) string { return strings.ReplaceAll(finding.Sanitize(s), "`", "'") }
