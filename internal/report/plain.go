package report

import (
	"html/template"
	"strings"
	"sync"
)

// table is a part of the page for browsers without scripts.
type table struct {
	Title    string
	Columns  []string
	Rows     [][]string
	Findings []Finding
}

var tables = sync.OnceValue(func() *template.Template { return template.Must(template.New("tables").Parse(tablesText)) })

const tablesText = `{{range .}}<section>
<h2>{{.Title}}</h2>
{{if .Rows}}<table><thead><tr>{{range .Columns}}<th scope="col">{{.}}</th>{{end}}</tr></thead><tbody>{{range .Rows}}
<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>{{end}}
</tbody></table>
{{end}}{{if .Findings}}<h3>Findings</h3>
<ul>{{range .Findings}}
<li>{{.}}</li>{{end}}
</ul>
{{end}}</section>
{{end}}`

// plain returns the content of the page as tables, for browsers without scripts.
func (p page) plain() (string, error) {
	var all []table
	for _, r := range p.Rollouts {
		t := table{Title: p.Title, Columns: []string{"Step", "Component", "Kind", "Namespace"}, Findings: r.Findings}
		if r.Environment != "" {
			t.Title += " in " + r.Environment
		}
		for _, c := range r.Components {
			kind := c.Kind
			if c.NotDeployed {
				kind += ", not deployed"
			}
			t.Rows = append(t.Rows, []string{r.Steps[c.Step].Title + " " + r.Steps[c.Step].About, c.Name, kind, c.Namespace})
		}
		all = append(all, t)
	}
	for _, l := range p.Ladders {
		t := table{Title: l.Name, Columns: []string{"Wave", "Object", "Why"}, Findings: l.Findings}
		for _, o := range l.Objects {
			t.Rows = append(t.Rows, []string{l.Waves[o.Wave].Title, o.ID, o.Why})
		}
		all = append(all, t)
	}
	var b strings.Builder
	err := tables().Execute(&b, all)
	return b.String(), err
}
