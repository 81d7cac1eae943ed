package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

func newExplain(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain DIR [KIND/NAME]",
		Short: "Explain the sync waves of a component, or of one object in it",
		Long: `Explain the order of the component in DIR: a table of its objects in the order in
which Argo CD applies them, with the reason for each wave. For a single object,
print the whole chain of reasons for its wave, and its references.

For an ApplicationSet, also list the Applications that it generates.

Errors that do not prevent the explanation, such as a deadlock in existing waves, are
reported on standard error, and the command exits with 0. With --strict, it exits with 1
if there is an error or a warning.`,
		Example: `  cmp explain ./component
  cmp explain ./component Deployment/web
  cmp explain ./component Deployment/shop/web
  cmp explain ./component -o json | jq '.objects[] | select(.rung == "controllers") | .name'`,
		Args: cli.Args(1, 2),
	}
	in := flags.AddRendering(cmd)
	in.ExpandSets()
	strict := cmd.Flags().Bool("strict", false,
		"Exit with 1 if there is an error or a warning (default: "+
			"findings do not change the exit code if the component can be rendered and ordered)")
	format := cli.Format(cmd, "Format", cli.Text, cli.JSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		res, err := in.Generate(args[0])
		if err != nil {
			s.WarnFailed(res.Findings)
			return err
		}
		order, err := explainOrder(res.Plan, res.SetsByNode(), args[1:]...)
		if err != nil {
			return err
		}
		exitErr := s.WarnStrictly(res.AllFindings(), *strict)
		if len(args) == 1 && res.Plan.NeedsNoWaves() {
			s.Note("%s", whyNoWaves(res.Plan))
		}
		if awaited := res.Plan.WaitsToRead(); len(args) == 1 && awaited != "" {
			s.Note("each sync waits for %s, only because other objects read what that writes: while it is unhealthy, no sync goes on; "+
				"waves: compact does not wait", awaited)
		}
		if *format == cli.JSON {
			return cmp.Or(s.JSON(order), exitErr)
		}
		return cmp.Or(s.Print(paint.Fit(order.Text(), cli.Width(s.Out)), nil), exitErr)
	}
	return cmd
}

// whyNoWaves says why a plan has one wave.
func whyNoWaves(p *wave.Plan) string {
	switch {
	case p.OmitsGates():
		return "Ladder adds no waves: each wait would be for an object that may never be healthy"
	case p.RefersToAwaited():
		return "Ladder adds no waves: nothing shows that one object must wait for another, " +
			"and those that refer to others start together with them"
	}
	return "no object needs to wait for another, so Ladder adds no waves"
}

// orderTable returns the order as text in columns.
func orderTable(rows []wave.Row) string {
	var cells [][]string
	for _, r := range rows {
		name := r.Object.Name
		if r.Object.Namespace != "" {
			name = r.Object.Namespace + "/" + name
		}
		cells = append(cells, []string{r.Wave, r.Rung, r.Object.Kind, name, r.Why})
	}
	return paint.Rows([]string{"WAVE", "RUNG", "KIND", "NAME", "WHY"}, cells)
}

// findObjects returns the objects that the user named, also by kubectl's short names of
// kinds. It fails if there are none. An object with generateName is found by that
// prefix.
func findObjects(p *wave.Plan, expr string) ([]int, error) {
	if kind, rest, ok := strings.Cut(expr, "/"); ok {
		expr = knowledge.FullKind(kind) + "/" + rest
	}
	for _, end := range []string{"", "*", "-*"} {
		if found := p.Find(expr + end); len(found) > 0 {
			return found, nil
		}
	}
	near := finding.NearestTo(expr)
	name := expr[strings.LastIndexByte(expr, '/')+1:]
	for _, n := range p.Graph.Nodes {
		id := n.Key
		if strings.EqualFold(id.Name, name) {
			near.Add(id.Kind+"/"+id.Name, expr) // of another kind or namespace
		}
		near.Add(id.Kind+"/"+id.Name, id.Name, id.Kind, id.Kind+"/"+id.Name, id.GroupKind()+"/"+id.Name, id.Kind+"/"+id.Namespace+"/"+id.Name)
	}
	remedy := "use KIND/NAME, KIND/NAMESPACE/NAME or NAME from the table that cmp explain prints"
	question := near.String()
	if same := ofKind(p, expr); question == "" && len(same) <= 3 {
		question = finding.DidYouMean(same...)
	}
	return nil, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, Object: expr,
		Message: "object not found in the component", Remedy: remedy}.Asking(question)
}

// ofKind names the objects whose kind is that of an expression such as "Deployment/web". The
// name of the release, which their names often contain, may not be what the user expects.
func ofKind(p *wave.Plan, expr string) (names []string) {
	kind, _, _ := strings.Cut(expr, "/")
	for _, n := range p.Graph.Nodes {
		if strings.EqualFold(n.Key.Kind, kind) && !n.External {
			names = append(names, n.Key.Kind+"/"+n.Key.Name)
		}
	}
	return names
}

// reasons returns the chain of reasons for the waves of nodes.
func reasons(p *wave.Plan, nodes []int) string {
	var texts []string
	for _, i := range nodes {
		var lines []string
		for _, line := range strings.Split(p.Explain(i), "\n") {
			lines = append(lines, finding.Sanitize(line))
		}
		texts = append(texts, strings.Join(lines, "\n"))
	}
	return strings.Join(texts, "\n")
}

// explanation explains an order; it marshals to its JSON form.
type explanation struct {
	Objects []explainedObject `json:"objects"`
	Sets    []explainedSet    `json:"applicationSets,omitempty"`
	text    string
}

// explainOrder explains the order of a plan, or only of the objects that the user named. sets are the
// expanded ApplicationSets of the plan by their node.
func explainOrder(p *wave.Plan, sets map[int]plugin.GeneratedSet, named ...string) (e explanation, err error) {
	nodes := p.Order
	if len(named) == 0 {
		e.text = orderTable(p.Table())
	} else {
		if nodes, err = findObjects(p, named[0]); err != nil {
			return e, err
		}
		e.text = reasons(p, nodes)
	}
	e.Objects = explainedObjects(p, nodes)
	for _, i := range slices.Sorted(maps.Keys(sets)) {
		if slices.Contains(nodes, i) {
			e.Sets = append(e.Sets, setOf(p.Graph.Nodes[i].Key, sets[i]))
		}
	}
	return e, nil
}

// Text returns the order as text in columns, or the reasons for the waves of the named objects.
func (e explanation) Text() string {
	text := e.text
	for _, set := range e.Sets {
		text += set.table()
	}
	return text
}

// explainedObject is an object of an explanation.
type explainedObject struct {
	// Wave is the sync wave. If nil, Phase says when the object is applied: the
	// phase and weight of a hook, "elsewhere" for another Application, or "-" for
	// never.
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
	// References are the object's references to others.
	References []explainedReference `json:"references"`
}

// explainedReference is a reference of an explained object.
type explainedReference struct {
	To    string `json:"to"`
	Field string `json:"field"`
	// Need is "needs", "may need" or "needs not"; Until the state of the target: "exists",
	// "healthy" or "together".
	Need  string `json:"need"`
	Until string `json:"until"`
	// Otherwise is what happens without the target: "waits", "degrades", "wrong data",
	// "unchanged", "stops" or "refused".
	Otherwise string `json:"otherwise"`
	// Sign is what shows the reference, such as "record" or "call"; Inferred means that it
	// is a convention or a hint.
	Sign     string `json:"sign"`
	Inferred bool   `json:"inferred"`
	Why      string `json:"why"`
}

// explainedObjects explains the given nodes of a plan.
func explainedObjects(p *wave.Plan, nodes []int) []explainedObject {
	all := []explainedObject{}
	for _, i := range nodes {
		n, row := p.Graph.Nodes[i], p.Row(i)
		o := explainedObject{Group: n.Key.Group, Kind: n.Key.Kind, Namespace: n.Key.Namespace, Name: n.Key.Name,
			Why: row.Why, File: n.File, Line: n.Line, References: []explainedReference{}}
		if place := p.Places[i]; place.Computed && !n.External {
			o.Wave, o.Rung = &place.Wave, row.Rung
		} else {
			o.Phase = row.Wave
		}
		for _, r := range p.Graph.References {
			if r.From == i {
				o.References = append(o.References,
					explainedReference{To: p.Graph.Nodes[r.To].Key.String(), Field: r.Field, Need: r.Need.String(), Until: r.Until.String(),
						Otherwise: r.Fails.String(), Sign: r.Sign.String(), Inferred: r.Inferred(), Why: r.Why})
			}
		}
		all = append(all, o)
	}
	return all
}

// explainedSet is an ApplicationSet with the Applications that it generates.
type explainedSet struct {
	Namespace    string                 `json:"namespace,omitempty"`
	Name         string                 `json:"name"`
	Applications []explainedApplication `json:"applications"`
}

// explainedApplication is a generated Application.
type explainedApplication struct {
	// Step is its step of a RollingSync, counted from 1; 0 without one.
	Step      int    `json:"step,omitempty"`
	Name      string `json:"name"`
	Namespace string `json:"destinationNamespace,omitempty"`
	// Sources are its directories and charts.
	Sources []string `json:"sources"`
}

// setOf lists the Applications of an ApplicationSet.
func setOf(id object.ID, set plugin.GeneratedSet) explainedSet {
	s := explainedSet{Namespace: id.Namespace, Name: id.Name, Applications: []explainedApplication{}}
	for i, app := range set.Applications {
		a := explainedApplication{Name: app.ID.Name, Namespace: app.Get("spec", "destination", "namespace").Text(),
			Sources: appset.SourcesOf(app)}
		if set.Steps != nil {
			a.Step = set.Steps[i]
		}
		s.Applications = append(s.Applications, a)
	}
	return s
}

// table returns the Applications as text in columns.
func (s explainedSet) table() string {
	name := s.Name
	if s.Namespace != "" {
		name = s.Namespace + "/" + name
	}
	name = finding.Sanitize(name)
	if len(s.Applications) == 0 {
		return fmt.Sprintf("\nNo Application of ApplicationSet %s is known.\n", name)
	}
	head := []string{"NAME", "DEPLOYS TO", "SOURCE"}
	steps := slices.ContainsFunc(s.Applications, func(a explainedApplication) bool { return a.Step > 0 })
	if steps {
		head = append([]string{"STEP"}, head...)
	}
	var rows [][]string
	for _, a := range s.Applications {
		row := []string{a.Name, a.Namespace, strings.Join(a.Sources, ", ")}
		if steps {
			number := "none"
			if a.Step > 0 {
				number = fmt.Sprint(a.Step)
			}
			row = append([]string{number}, row...)
		}
		rows = append(rows, row)
	}
	return fmt.Sprintf("\nApplicationSet %s generates %s:\n", name, finding.Counted(len(s.Applications), "Application")) +
		paint.Rows(head, rows)
}
