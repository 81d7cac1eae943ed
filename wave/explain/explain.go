// Package explain prints the order of a component with the reasons for it.
package explain

import (
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/wave"
)

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

// Find returns the objects that the user named, also by kubectl's short names of
// kinds. It fails if there are none. An object with generateName is found by that
// prefix.
func Find(p *wave.Plan, expr string) ([]int, error) {
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
	return nil, finding.Finding{Severity: finding.Error, Rule: "no-such-object", Object: expr, Message: "object not found in the component", Remedy: remedy}.Asking(question)
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

// Explanation explains an order; it marshals to its JSON form.
type Explanation struct {
	Objects []Object `json:"objects"`
	Sets    []Set    `json:"applicationSets,omitempty"`
	text    string
}

// Order explains the order of a plan, or only of the objects that the user named. sets are the
// expanded ApplicationSets of the plan by their node.
func Order(p *wave.Plan, sets map[int]appset.Set, named ...string) (e Explanation, err error) {
	nodes := p.Order
	if len(named) == 0 {
		e.text = orderTable(p.Table())
	} else {
		if nodes, err = Find(p, named[0]); err != nil {
			return e, err
		}
		e.text = reasons(p, nodes)
	}
	e.Objects = Objects(p, nodes)
	for _, i := range slices.Sorted(maps.Keys(sets)) {
		if slices.Contains(nodes, i) {
			e.Sets = append(e.Sets, setOf(p.Graph.Nodes[i].Key, sets[i]))
		}
	}
	return e, nil
}

// Text returns the order as text in columns, or the reasons for the waves of the named objects.
func (e Explanation) Text() string {
	text := e.text
	for _, set := range e.Sets {
		text += set.table()
	}
	return text
}

// Object is an object of an Explanation.
type Object struct {
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
	References []Reference `json:"references"`
}

// Reference is a reference of an Object.
type Reference struct {
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

// Objects explains the given nodes of a plan.
func Objects(p *wave.Plan, nodes []int) []Object {
	all := []Object{}
	for _, i := range nodes {
		n, row := p.Graph.Nodes[i], p.Row(i)
		o := Object{Group: n.Key.Group, Kind: n.Key.Kind, Namespace: n.Key.Namespace, Name: n.Key.Name,
			Why: row.Why, File: n.File, Line: n.Line, References: []Reference{}}
		if place := p.Places[i]; place.Computed && !n.External {
			o.Wave, o.Rung = &place.Wave, row.Rung
		} else {
			o.Phase = row.Wave
		}
		for _, r := range p.Graph.References {
			if r.From == i {
				o.References = append(o.References, Reference{To: p.Graph.Nodes[r.To].Key.String(), Field: r.Field, Need: r.Need.String(), Until: r.Until.String(),
					Otherwise: r.Fails.String(), Sign: r.Sign.String(), Inferred: r.Inferred(), Why: r.Why})
			}
		}
		all = append(all, o)
	}
	return all
}
