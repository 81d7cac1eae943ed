package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Dangling returns the findings about what nothing in a fleet creates.
func Dangling(f *fleet.Fleet, environment string) []finding.Finding {
	return findIn(f, environment, slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Name != graph.MissingObject }))
}

// dangling finds what components refer to and nothing in the fleet creates.
func (l *checker) dangling() []fault {
	var all []fault
	unless := l.mayBeElsewhere()
	for at := 0; at < len(l.Objects.Dangling); {
		first := l.Objects.Dangling[at]
		var users []*fleet.Application
		from := -1
		for ; at < len(l.Objects.Dangling) && l.Objects.Dangling[at].ID == first.ID; at++ {
			a := l.Objects.Dangling[at]
			app := l.Applications[l.Objects.Nodes[a.From].Part]
			if !l.anywhere(app) || l.Objects.Nodes[a.From].Stub {
				continue
			}
			if from < 0 {
				first, from = a, a.From
			}
			if !slices.Contains(users, app) {
				users = append(users, app)
			}
		}
		if from < 0 {
			continue
		}
		n := &l.Objects.Nodes[from]
		severity := finding.Warning
		if unless != "" || facts.IsData(first.ID) || l.Base.Builtin(first.ID.Group) {
			severity = finding.Note
		}
		f := l.at(severity, users[0], fmt.Sprintf("in %s, it %s %s, which nothing in the fleet creates%s%s",
			fileLine(n.File, n.Line), first.Why,
			first.ID, alsoUsed(users), unless),
			"correct the name, or add it to a component; if it exists outside, write expects: ["+first.Entry+"] into component.yaml")
		if l.InPlace() {
			f.Remedy = "correct the name, or add it to an Application, unless it exists outside the fleet"
		}
		f.Object, f.Field, f.About = n.Key.String(), first.Field, first.ID.String()
		all = append(all, f)
	}
	return append(all, l.unknownStreams(unless)...)
}

func alsoUsed(users []*fleet.Application) string {
	if len(users) == 1 {
		return ""
	}
	return fmt.Sprintf(" (%d components use it: %s)", len(users), finding.Few(namesOf(users)))
}

// mayBeElsewhere names the components whose objects are not all known.
func (l *checker) mayBeElsewhere() string {
	unknown := l.unrendered()
	for _, app := range l.Applications {
		if len(app.MissingSources) > 0 && l.anywhere(app) && !slices.Contains(unknown, app) {
			unknown = append(unknown, app)
		}
	}
	if len(unknown) == 0 {
		return ""
	}
	return fmt.Sprintf(", unless it is in %s, which could not be rendered", finding.Few(namesOf(unknown)))
}

// streamField is the end of the field in which custom resources of platforms, such as claims of
// Crossplane, name a stream of NATS. No record can describe their kinds.
const streamField = "nats.stream"

// unknownStreams finds streams that custom resources name, and that nothing else in the fleet does:
// no object and no script creates them.
func (l *checker) unknownStreams(unless string) []fault {
	type stream struct {
		node  int
		field string
		users []*fleet.Application
	}
	var names []string
	streams := map[string]*stream{}
	for i := range l.Objects.Nodes {
		n := &l.Objects.Nodes[i]
		app := l.Applications[n.Part]
		if l.Base.Builtin(n.Key.Group) || n.External || n.Stub || !l.anywhere(app) {
			continue
		}
		field, name := textAt(n.Get("spec"), "spec", streamField)
		if name == "" || l.isNamedByOthers(n.Key, name) {
			continue
		}
		if streams[name] == nil {
			names = append(names, name)
			streams[name] = &stream{node: i, field: field}
		}
		if s := streams[name]; !slices.Contains(s.users, app) {
			s.users = append(s.users, app)
		}
	}
	severity := finding.Warning
	if unless != "" {
		severity = finding.Note
	}
	var all []fault
	for _, name := range names {
		s := streams[name]
		n := &l.Objects.Nodes[s.node]
		f := l.at(severity, s.users[0], fmt.Sprintf("in %s, it uses stream %q, which nothing in the fleet creates%s%s",
			fileLine(n.File, n.Line), name,
			alsoUsed(s.users), unless), "correct the name, or add what creates the stream")
		f.Object, f.Field, f.About = n.Key.String(), s.field, "stream "+name
		all = append(all, f)
	}
	return all
}

// textAt returns the first text at a field whose path ends in some keys.
func textAt(v object.Value, field, end string) (at, text string) {
	for _, f := range v.Fields() {
		path := field + "." + f.Key
		if strings.HasSuffix(path, "."+end) && f.Value.IsText() {
			return path, f.Value.Text()
		}
		if at, text = textAt(f.Value, path, end); text != "" {
			return at, text
		}
	}
	return "", ""
}

// isNamedByOthers reports whether an object of another kind contains a name.
func (l *checker) isNamedByOthers(user object.ID, name string) bool {
	return slices.ContainsFunc(l.Objects.Nodes, func(n graph.Node) bool {
		return n.Key.GroupKind() != user.GroupKind() && strings.Contains(n.Text(), name)
	})
}
