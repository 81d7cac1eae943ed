package wave

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/object"
)

// Row is a row of the table that explains an order.
type Row struct {
	// Wave is the wave, or phase and weight for hooks of other phases.
	Wave   string
	Rung   string
	Object object.ID
	// Why summarizes what decided the wave.
	Why string
}

// Table explains the order: one row for each object, in apply order.
func (p *Plan) Table() []Row {
	rows := make([]Row, len(p.Order))
	for at, i := range p.Order {
		rows[at] = p.Row(i)
	}
	return rows
}

// Row explains the wave of a node.
func (p *Plan) Row(i int) Row {
	rung := "-"
	if p.Places[i].Computed {
		rung = p.Places[i].Rung.Name
	}
	return Row{Wave: p.waveText(i), Rung: rung, Object: p.Graph.Nodes[i].Key, Why: p.why(i)}
}

func (p *Plan) waveText(i int) string {
	n, place := p.Graph.Nodes[i], p.Places[i]
	if n.External {
		return "external"
	}
	if place.Computed {
		return fmt.Sprint(place.Wave)
	}
	phases := n.Phases()
	if len(phases) == 0 {
		return "-"
	}
	return fmt.Sprintf("%s %d", namesOf(phases, "+"), place.Wave)
}

// why summarizes what decided the wave of a node.
func (p *Plan) why(i int) string {
	return p.decision(i) + p.laterPhases(i) + p.dependentSuffix(i) + p.wasSuffix(i)
}

// laterPhases names the other phases of an object that Argo CD applies in several, for the
// end of its row.
func (p *Plan) laterPhases(i int) string {
	phases := p.Graph.Nodes[i].Phases()
	if len(phases) < 2 {
		return ""
	}
	return "; Argo CD applies it again in " + namesOf(phases[1:], ", ")
}

func namesOf(phases []object.Phase, separator string) string {
	names := make([]string, len(phases))
	for i, phase := range phases {
		names[i] = string(phase)
	}
	return strings.Join(names, separator)
}

// wasSuffix says what a Helm hook was before it was taken into the order.
func (p *Plan) wasSuffix(i int) string {
	if was := p.Graph.Nodes[i].Was; was != "" {
		return "; was " + was
	}
	return ""
}

// dependentSuffix names the first dependent of a node for the end of its row.
func (p *Plan) dependentSuffix(i int) string {
	all := p.laterDependents(i)
	if len(all) == 0 {
		return ""
	}
	who, waits := p.name(all[0].Node), "waits"
	if len(all) > 1 {
		who, waits = fmt.Sprintf("%s and %d more", who, len(all)-1), "wait"
	}
	if p.IsBlind(i) {
		return fmt.Sprintf("; Argo CD does not wait for it before %s, since %s", who, p.whyBlind(i))
	}
	return fmt.Sprintf("; %s %s for it", who, waits)
}

// whyBlind says why Argo CD does not wait for a node that IsBlind, as a clause.
func (p *Plan) whyBlind(i int) string {
	if p.Graph.Nodes[i].Kind.Later != "" {
		return fmt.Sprintf("Argo CD %s has no health check for its kind", p.base.ArgoCD())
	}
	return "it has no health check for its kind"
}

// IsBlind reports whether a later object needs an object to be healthy, but Argo CD does not wait:
// its kind is not built in, and has no health check. For children of an app of apps, package
// argocd says so.
func (p *Plan) IsBlind(i int) bool {
	n := &p.Graph.Nodes[i]
	return !n.HasHealth && len(n.Kind.Health) == 0 && n.Kind.Deploys.IsZero() && !p.base.Builtin(n.Key.Group) &&
		slices.ContainsFunc(p.laterDependents(i), func(c Dependent) bool { return c.Reference.Until == graph.Healthy })
}

// laterDependents returns the dependents of a node that are not in its wave. With the waves of
// the manifests, a dependent may share the wave, and then nothing waits.
func (p *Plan) laterDependents(i int) []Dependent {
	return slices.DeleteFunc(slices.Clone(p.dependents[i]), func(c Dependent) bool {
		at, to := p.Places[c.Node], p.Places[i]
		return at.Computed && to.Computed && at.Wave <= to.Wave
	})
}

func (p *Plan) decision(i int) string {
	n, place := p.Graph.Nodes[i], p.Places[i]
	if author, set := n.Wave(); place.Author && set && place.Computed {
		if p.isAsWritten(i) {
			return fmt.Sprintf("has wave %d in its manifest", author)
		}
		return fmt.Sprintf("has wave %d in its manifest; within that wave: %s", author, p.cause(i))
	} else if p.opt.Waves == Off && !set && place.Computed {
		return "has no wave in its manifest"
	}
	return p.cause(i)
}

// isAsWritten reports whether a node has the wave of its manifest.
func (p *Plan) isAsWritten(i int) bool {
	author, set := p.Graph.Nodes[i].Wave()
	place := p.Places[i]
	return place.Author && set && place.Computed && (p.opt.Waves == Off || place.Kept || place.Wave == author)
}

// cause says what decided the wave of a node or, within a wave of the author, its
// level.
func (p *Plan) cause(i int) string {
	n, place := p.Graph.Nodes[i], p.Places[i]
	because := place.Because
	switch because.Cause {
	case ByPhase:
		if len(n.Phases()) == 0 {
			return "Argo CD never applies it"
		}
		return "hooks outside the Sync phase keep the wave of their manifest"
	case ByReference:
		return because.Reference.Why + " " + p.name(because.Other) + because.Reference.Detail() + inferredSuffix(because.Reference)
	case ByConsumer:
		if because.Reference.Need == graph.MayNeed {
			return "may be needed by " + p.name(because.Other) + because.Reference.Detail()
		}
		return "is needed by " + p.name(because.Other) + because.Reference.Detail() + inferredSuffix(because.Reference)
	case ByCompanion:
		return "shares a wave with " + p.name(because.Other) + ", since they refer to each other"
	case ByDoubt:
		if because.Other != i {
			return "shares the last wave with " + p.name(because.Other)
		}
		if d := p.doubts[i]; d.root != i {
			return "is in the last wave, because it needs " + p.name(d.root) + ", which may never be healthy"
		} else if d.why != "" {
			return "is in the last wave, because " + d.why
		}
		return "is in the last wave, because " + n.Uncertain()
	case ByController:
		return "already exists when " + p.name(because.Other) + " starts"
	}
	if n.Role != "" {
		return n.RoleWhy
	}
	return n.Kind.Why
}

func (p *Plan) name(i int) string { return p.Graph.Nodes[i].Key.String() }

// Find returns the nodes that match an expression such as "Deployment/web",
// "deployment/shop/web" or "web".
func (p *Plan) Find(expr string) []int {
	parts := strings.Split(expr, "/")
	var found []int
	for i, n := range p.Graph.Nodes {
		k := n.Key
		var match bool
		switch len(parts) {
		case 1:
			match = k.Name == parts[0]
		case 2:
			match = isKind(k, parts[0]) && k.Name == parts[1]
		case 3:
			match = isKind(k, parts[0]) && k.Namespace == parts[1] && k.Name == parts[2]
		}
		if match {
			found = append(found, i)
		}
	}
	return found
}

func isKind(id object.ID, kind string) bool {
	return strings.EqualFold(id.Kind, kind) || strings.EqualFold(id.GroupKind(), kind)
}

// Explain returns the chain of reasons for an object's wave, then all references
// from and to the object.
func (p *Plan) Explain(i int) string {
	var b strings.Builder
	n := p.Graph.Nodes[i]
	b.WriteString(n.Key.String())
	if n.File != "" {
		fmt.Fprintf(&b, "  (%s", n.File)
		if n.Line > 0 {
			fmt.Fprintf(&b, ":%d", n.Line)
		}
		b.WriteByte(')')
	}
	b.WriteByte('\n')
	if n.Was != "" {
		fmt.Fprintf(&b, "  was %s\n", n.Was)
	}
	p.chain(&b, i)
	p.gates(&b, i)
	p.references(&b, "refers to", func(r graph.Reference) (int, bool) { return r.To, r.From == i })
	p.references(&b, "is referred to by", func(r graph.Reference) (int, bool) { return r.From, r.To == i })
	p.setAside(&b, i)
	p.otherClaims(&b, i)
	return b.String()
}

// setAside writes the references of a node that have no effect, and why.
func (p *Plan) setAside(b *strings.Builder, i int) {
	heading := "does not count:\n"
	for _, a := range p.Graph.Aside {
		if a.From != i {
			continue
		}
		why := fmt.Sprintf("%s %s, which says more (%s)", p.name(a.By.From), a.By.Why, a.By.Sign)
		switch {
		case a.By.Explicit() && a.By.Need == graph.NeedsNot:
			why = "does not wait, because of annotation " + a.By.Field
		case a.By.From == i:
			why = fmt.Sprintf("it %s it, which says more (%s)", a.By.Why, a.By.Sign)
		}
		fmt.Fprintf(b, "%s  %-29s %s (%s: %s, %s): %s\n", heading, a.Answer(), p.name(a.To), a.Field, a.Why, a.Sign, why)
		heading = ""
	}
}

// otherClaims writes what else shows what a node is for.
func (p *Plan) otherClaims(b *strings.Builder, i int) {
	n := &p.Graph.Nodes[i]
	heading := "its rung has other signs:\n"
	for _, c := range p.Graph.Claims {
		if c.Node == i && c.Rung != "" && c.Why != n.RoleWhy {
			fmt.Fprintf(b, "%s  rung %s: %s\n", heading, c.Rung, c.Why)
			heading = ""
		}
	}
}

// gates writes the dependents of a node, why they wait, and what it holds up.
func (p *Plan) gates(b *strings.Builder, i int) {
	for at, c := range p.laterDependents(i) {
		if at == 0 {
			heading := "objects that wait for it:\n"
			if p.IsBlind(i) {
				heading = fmt.Sprintf("objects that need it, although Argo CD does not wait for it, since %s:\n", p.whyBlind(i))
			}
			b.WriteString(heading)
		}
		fmt.Fprintf(b, "  wave %-10s %s, which %s%s\n", p.waveText(c.Node), p.name(c.Node), c.Reason.Without(), inferredSuffix(c.Reference))
	}
	if held := p.heldUp(i); held != "" {
		fmt.Fprintf(b, "while it is not healthy, no sync applies %s\n", held)
	}
}

// chain writes the reasons, each leading to the next object.
func (p *Plan) chain(b *strings.Builder, i int) {
	seen := map[int]bool{}
	for depth := 1; !seen[i]; depth++ {
		seen[i] = true
		pl, n := p.Places[i], p.Graph.Nodes[i]
		because := pl.Because
		fmt.Fprintf(b, "%swave %s: %s", strings.Repeat("  ", depth), p.waveText(i), p.decision(i))
		if r := because.Reference; (because.Cause == ByReference || because.Cause == ByConsumer) && r.Field != "" {
			fmt.Fprintf(b, " (%s)", r.Field)
		}
		b.WriteByte('\n')
		if other, ok := p.Decider(i); ok {
			i = other
			continue
		}
		if because.Cause == ByRung && !p.isAsWritten(i) {
			fmt.Fprintf(b, "%s%s: %s\n", strings.Repeat("  ", depth+1), p.rungWave(i), pl.Rung.Why)
			if n.Kind.Source != "" {
				fmt.Fprintf(b, "%ssource: %s\n", strings.Repeat("  ", depth+1), n.Kind.Source)
			}
		}
		if author, set := n.Wave(); pl.Author && !set {
			fmt.Fprintf(b, "%sno wave in the manifest, so wave 0\n", strings.Repeat("  ", depth+1))
		} else if pl.Author && !pl.Computed {
			fmt.Fprintf(b, "%sthe manifest has wave %d\n", strings.Repeat("  ", depth+1), author)
		}
	}
}

// rungWave says at which wave the rung of a node starts.
func (p *Plan) rungWave(i int) string {
	rung, at := p.Places[i].Rung, p.Places[i].Wave
	switch {
	case p.Places[i].Author:
		return "rung " + rung.Name
	case at > rung.Wave && p.isLastBecauseUnneeded(i):
		return fmt.Sprintf("nothing waits for this object, so it is in the last wave, %d; rung %s starts at wave %d", at, rung.Name, rung.Wave)
	case at < rung.Wave && !slices.ContainsFunc(p.Places, func(other Placement) bool { return other.Computed && other.Wave != at }):
		return fmt.Sprintf("one wave is enough for all objects; with several, rung %s starts at wave %d", rung.Name, rung.Wave)
	case at > rung.Wave:
		return fmt.Sprintf("rung %s normally starts at wave %d; here, it shares wave %d with later rungs", rung.Name, rung.Wave, at)
	}
	return fmt.Sprintf("rung %s starts at wave %d", rung.Name, rung.Wave)
}

// isLastBecauseUnneeded reports whether a node with a health check is in the last wave because
// no object waits for it.
func (p *Plan) isLastBecauseUnneeded(i int) bool {
	if isPassive(&p.Graph.Nodes[i]) || len(p.dependents[i]) > 0 {
		return false
	}
	return !slices.ContainsFunc(p.Places, func(other Placement) bool { return other.Computed && other.Wave > p.Places[i].Wave })
}

// inferredSuffix marks a reference that is inferred from a convention.
func inferredSuffix(r graph.Reference) string {
	if r.Inferred() {
		return " (inferred)"
	}
	return ""
}

func inferredMark(r graph.Reference) string {
	if r.Inferred() {
		return ", inferred"
	}
	return ""
}

// effect says how a reference affected the wave of its object: several may demand
// the same wave, and some had to yield.
func (p *Plan) effect(r graph.Reference) string {
	if yielded := p.yielded[r]; yielded != "" {
		return ", " + yielded
	}
	place := p.Places[r.From]
	if place.Because.Cause != ByReference || place.Because.Reference == r || !place.Computed {
		return ""
	}
	decisive := place.Because.Reference
	if r.Need == decisive.Need && r.Until == decisive.Until && p.Places[r.To].Wave == p.Places[decisive.To].Wave {
		return ", demands the same wave"
	}
	return ""
}

// references writes the references that pick selects, with the object at the other
// end. Those that differ only in their field, such as the webhooks of one configuration,
// are one line.
func (p *Plan) references(b *strings.Builder, title string, pick func(graph.Reference) (int, bool)) {
	type line struct{ before, after string } // all but the field
	var lines []line
	fields := map[line][]string{}
	for _, r := range p.Graph.References {
		other, ok := pick(r)
		if !ok {
			continue
		}
		l := line{fmt.Sprintf("wave %-10s %-14s %s", p.waveText(other), r.Answer(), p.name(other)),
			r.Why + r.Detail() + inferredMark(r) + ")" + p.effect(r)}
		if fields[l] == nil {
			lines = append(lines, l)
		}
		fields[l] = append(fields[l], r.Field)
	}
	for at, l := range lines {
		if at == 0 {
			fmt.Fprintf(b, "%s:\n", title)
		}
		field := fields[l][0]
		if more := len(fields[l]) - 1; more > 0 {
			field += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(b, "  %s (%s: %s\n", l.before, field, l.after)
	}
}
