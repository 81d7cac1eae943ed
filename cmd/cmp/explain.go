package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/nearest"
	"github.com/ladder-cmp/ladder/wave"
)

func newExplain(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain DIR [KIND/NAME]",
		Short: "Explain the sync waves of a component, or of one object in it",
		Long: `Explain the order of the component in DIR: a table of its objects as Argo CD
applies them, with what decided the wave of each. With an object named, tell
the whole chain of reasons for its wave, and what it refers to.`,
		Example: `  cmp explain ./component
  cmp explain ./component Deployment/web
  cmp explain ./component Deployment/shop/web
  cmp explain ./component -o json | jq '.objects[] | select(.rung == "controllers") | .name'`,
		Args: cobra.RangeArgs(1, 2),
	}
	in := addInputs(cmd)
	format := formatFlag(cmd, "Format", reportText, reportJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := knownFormat(*format, reportText, reportJSON); err != nil {
			return err
		}
		res, err := in.generate(cmd, args[0])
		if err != nil {
			return err
		}
		if *format == reportJSON {
			asked := res.Plan.Order
			if len(args) == 2 {
				if asked, err = find(res.Plan, args[1]); err != nil {
					return err
				}
			}
			warn(s, res.Findings)
			return writeJSON(s, explanation{explained(res.Plan, asked)})
		}
		text := table(res.Plan.Table())
		if len(args) == 2 {
			if text, err = explainObject(res.Plan, args[1]); err != nil {
				return err
			}
		}
		warn(s, res.Findings)
		_, err = io.WriteString(s.Out, text)
		return err
	}
	return cmd
}

// table prints the order in columns.
func table(rows []wave.Row) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WAVE\tRUNG\tKIND\tNAME\tWHY")
	for _, r := range rows {
		name := r.Object.Name
		if r.Object.Namespace != "" {
			name = r.Object.Namespace + "/" + name
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Wave, r.Rung, finding.Harmless(r.Object.Kind), finding.Harmless(name), finding.Harmless(r.Why))
	}
	w.Flush() // into memory
	return b.String()
}

// asShown leaves the names of files as they are: the rendering names them for
// the user.
func asShown(file string) string { return file }

// find returns the objects that the user named, of which there must be one. An
// object with generateName is found by that prefix, too.
func find(p *wave.Plan, expr string) ([]int, error) {
	for _, end := range []string{"", "*", "-*"} {
		if found := p.Find(expr + end); len(found) > 0 {
			return found, nil
		}
	}
	near := nearest.New(expr)
	name := expr[strings.LastIndexByte(expr, '/')+1:]
	for _, n := range p.Graph.Nodes {
		id := n.Key
		if strings.EqualFold(id.Name, name) {
			near.Add(id.Kind+"/"+id.Name, expr) // of another kind or namespace
		}
		near.Add(id.Kind+"/"+id.Name, id.Name, id.Kind, id.Kind+"/"+id.Name, id.GroupKind()+"/"+id.Name, id.Kind+"/"+id.Namespace+"/"+id.Name)
	}
	return nil, finding.Finding{Severity: finding.Error, Rule: "no-such-object", Object: expr, Message: "the component has no such object",
		Remedy: near.String() + "name it as KIND/NAME, KIND/NAMESPACE/NAME or NAME; KIND and NAME are columns of the table that cmp explain prints without it"}
}

func explainObject(p *wave.Plan, expr string) (string, error) {
	found, err := find(p, expr)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, i := range found {
		var lines []string
		for _, line := range strings.Split(p.Explain(i, asShown), "\n") {
			lines = append(lines, finding.Harmless(line))
		}
		texts = append(texts, strings.Join(lines, "\n"))
	}
	return strings.Join(texts, "\n"), nil
}

// explanation is an order as other programs read it.
type explanation struct {
	Objects []explainedObject `json:"objects"`
}

type explainedObject struct {
	// Wave is the sync wave; without one, Phase says when it is applied: the
	// phase and weight of a hook, "elsewhere" or "-" for never.
	Wave      *int   `json:"wave,omitempty"`
	Phase     string `json:"phase,omitempty"`
	Rung      string `json:"rung,omitempty"`
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Why says what decided the wave.
	Why  string `json:"why"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// References are what the object refers to.
	References []explainedReference `json:"references"`
}

type explainedReference struct {
	To       string            `json:"to"`
	Field    string            `json:"field"`
	Meaning  knowledge.Meaning `json:"meaning"`
	Why      string            `json:"why"`
	Hard     bool              `json:"hard"`
	Inferred bool              `json:"inferred"`
}

// explained explains some objects of a plan.
func explained(p *wave.Plan, asked []int) []explainedObject {
	rows := map[int]wave.Row{}
	for at, row := range p.Table() {
		rows[p.Order[at]] = row
	}
	all := []explainedObject{}
	for _, i := range asked {
		n, row := p.Graph.Nodes[i], rows[i]
		o := explainedObject{Group: n.Key.Group, Kind: n.Key.Kind, Namespace: n.Key.Namespace, Name: n.Key.Name,
			Why: row.Why, File: n.File, Line: n.Line, References: []explainedReference{}}
		if place := p.Places[i]; place.Computed && !n.Elsewhere {
			o.Wave, o.Rung = &place.Wave, row.Rung
		} else {
			o.Phase = row.Wave
		}
		for _, r := range p.Graph.References {
			if r.From == i {
				o.References = append(o.References, explainedReference{To: p.Graph.Nodes[r.To].Key.String(), Field: r.Field, Meaning: r.Meaning, Why: r.Why, Hard: r.Hard, Inferred: r.Inferred})
			}
		}
		all = append(all, o)
	}
	return all
}
