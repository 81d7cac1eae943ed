package knowledge

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// File is the name of the files with which users extend the knowledge.
const File = "ladder.yaml"

// userFile is the content of a ladder.yaml.
type userFile struct {
	// Rungs change the waves of rungs; names and order cannot change.
	Rungs []Rung     `yaml:"rungs"`
	Kinds []userKind `yaml:"kinds"`
	// Conventions take precedence over built-in ones.
	Conventions []Convention `yaml:"conventions"`
	Smokes      userSmokes   `yaml:"smokes"`
	// Migrations are words in names of migration Jobs.
	Migrations []string `yaml:"migrations"`
	// Platform is the platform of the clusters, whose kinds then exist.
	Platform string `yaml:"platform"`
	// Packages extend or override the known packages.
	Packages []Package `yaml:"packages"`
	// Fleet is about all components below the file. A FleetReader reads it.
	Fleet unread `yaml:"fleet"`
}

// userKind is a record with its group.
type userKind struct {
	Group string `yaml:"group"`
	Kind  `yaml:",inline"`
}

// userSmokes adds to smokes.yaml.
type userSmokes struct {
	Words  []string `yaml:"words"`
	Labels []string `yaml:"labels"`
}

// namespaced is the scope that overrides cluster scope.
const namespaced = "namespaced"

// choices lists the values of enumerated keys. An empty value removes the built-in
// one.
var choices = map[string][]string{
	"scope":     {"cluster", namespaced, ""},
	"runs":      {"once", "later", ""},
	"rights":    {"role", "binding", ""},
	"place":     {WithConsumer, First, ""},
	"namespace": {"any", "every", ""},
	"meaning":   {string(Exists), string(Healthy), string(Produces), string(With), string(NoOrder)},
	"platform":  {"openshift", ""},
	"can":       {"Degraded", "Suspended", "Unknown", "Missing"},
}

// topWave is the highest wave of a rung: package wave multiplies authors' waves by
// a hundred, and the whole ladder must fit between two of them.
const topWave = 99

// addition is a record of a ladder.yaml, which is merged when the kind is looked
// up.
type addition struct {
	node  *yaml.Node
	place string // file and line
}

// With returns the knowledge extended by a ladder.yaml. name is the name of the
// file in messages. The receiver is unchanged, and shares unaffected data with the
// result.
//
// A record overrides the existing one field by field. Its references are added to
// existing ones, or replace those with the same path or name. The error joins all
// findings about the file.
func (b *Base) With(name, text string) (*Base, error) { return b.with(name, text, false) }

// WithTenants returns the knowledge extended by a ladder.yaml of the owner of a component, whose
// fleet section has no effect: see Refused.
func (b *Base) WithTenants(name, text string) (*Base, error) { return b.with(name, text, true) }

func (b *Base) with(name, text string, tenants bool) (*Base, error) {
	r := reader{tenants: tenants, File: settings.File{Name: name, Rule: finding.BadSettings, Description: "Ladder's own settings"}, base: b}
	root, err := r.Parse([]byte(text))
	if root == nil {
		return b, err
	}
	if faults := r.Check(root, userFile{}, choices); len(faults) > 0 {
		// Values of the wrong type are not checked further; the others are.
		r.faults = faults
	}
	over := *b
	r.rungs(&over, settings.Value(root, "rungs"))
	r.kinds(&over, settings.Value(root, "kinds"))
	r.conventions(&over, settings.Value(root, "conventions"))
	r.words(&over, root)
	r.packages(&over, root)
	r.fleet(&over, settings.Value(root, fleetKey))
	if len(r.faults) > 0 {
		faults := finding.Of(errors.Join(r.faults...))
		finding.Sort(faults)
		return b, finding.Err(faults)
	}
	return &over, nil
}

// reader reads a ladder.yaml and collects its problems.
type reader struct {
	settings.File
	base   *Base
	faults []error
	// tenants means that the owner of a component wrote the file.
	tenants bool
}

func (r *reader) fault(n *yaml.Node, field, message, remedy string) {
	r.faults = append(r.faults, r.Fault(n.Line, field, message, remedy))
}

// decode reports whether a value has the type of its target. If not, Check has
// reported it; but a decoder also refuses a file that expands to an excessive size
// through aliases.
func (r *reader) decode(n *yaml.Node, field string, into any) bool {
	if len(r.Check(n, reflect.ValueOf(into).Elem().Interface(), choices)) > 0 {
		return false
	}
	if err := n.Decode(into); err != nil {
		r.fault(n, field, err.Error(), "use fewer aliases")
		return false
	}
	return true
}

// rungs changes the waves of rungs.
func (r *reader) rungs(over *Base, list *yaml.Node) {
	over.rungOrder = slices.Clone(over.rungOrder)
	written := map[string]*yaml.Node{}
	for i, n := range settings.Items(list) {
		field := fmt.Sprintf("rungs[%d]", i)
		var to Rung
		if !r.decode(n, field, &to) {
			continue
		}
		at := slices.IndexFunc(over.rungOrder, func(x Rung) bool { return x.Name == to.Name })
		switch {
		case at < 0:
			r.unknownRung(n, field+".name", to.Name)
			continue
		case written[to.Name] != nil:
			r.fault(n, field, fmt.Sprintf("rung %s is already set on line %d", to.Name, written[to.Name].Line), "keep one of the two")
			continue
		case settings.Value(n, "wave") == nil && settings.Value(n, "gates") == nil:
			r.fault(n, field, `missing key "wave"`, "write {name: "+to.Name+", wave: N}")
			continue
		case settings.Value(n, "wave") == nil:
			to.Wave = over.rungOrder[at].Wave
		case to.Wave < 0 || to.Wave > topWave:
			r.fault(settings.Value(n, "wave"), field+".wave", fmt.Sprintf("wave %d is not between 0 and %d", to.Wave, topWave),
				"write a number from 0 to "+strconv.Itoa(topWave))
			continue
		}
		written[to.Name] = n
		over.rungOrder[at].Wave, over.rungOrder[at].Why = to.Wave, cmp.Or(to.Why, over.rungOrder[at].Why)
		if settings.Value(n, "gates") != nil {
			over.rungOrder[at].Gates = to.Gates
		}
	}
	if len(written) == 0 {
		return
	}
	for i := 1; i < len(over.rungOrder); i++ {
		low, high := over.rungOrder[i-1], over.rungOrder[i]
		if low.Wave < high.Wave {
			continue
		}
		n := cmp.Or(written[high.Name], written[low.Name])
		if n == nil {
			continue // reported for a lower rung, whose wave is too high
		}
		remedy := "keep the order of the rungs, and set the waves of both"
		if high.Name == Smokes {
			remedy = "write a higher wave for " + Smokes + ", which come last"
		}
		r.fault(n, "rungs", fmt.Sprintf("rung %s at wave %d is not above %s at wave %d", high.Name, high.Wave, low.Name, low.Wave), remedy)
	}
	over.rungs = map[string]Rung{}
	for _, rung := range over.rungOrder {
		over.rungs[rung.Name] = rung
	}
}

// kinds merges records into existing ones, group by group.
func (r *reader) kinds(over *Base, list *yaml.Node) {
	added := map[string]map[string]addition{}
	for i, n := range settings.Items(list) {
		field := fmt.Sprintf("kinds[%d]", i)
		var k userKind
		if !r.decode(n, field, &k) || !r.checkIdentity(n, field, k) {
			continue
		}
		if before, twice := added[k.Group][k.Kind.Kind]; twice {
			r.fault(n, field, fmt.Sprintf("the kind is already described on line %d", before.node.Line), "merge the two records")
			continue
		}
		if added[k.Group] == nil {
			added[k.Group] = map[string]addition{}
		}
		added[k.Group][k.Kind.Kind] = addition{n, fmt.Sprintf("%s:%d", r.Name, n.Line)}
	}
	for i, n := range settings.Items(list) {
		var k userKind
		if len(r.Check(n, k, choices)) > 0 || n.Decode(&k) != nil {
			continue // reported above
		}
		r.checkRecord(n, fmt.Sprintf("kinds[%d]", i), k, added)
	}
	over.changed = maps.Clone(over.changed)
	if over.changed == nil {
		over.changed = map[string]group{}
	}
	for name, records := range added {
		over.changed[name] = sync.OnceValue(func() *groupFile { return r.base.mergeGroup(name, records) })
	}
}

// conventions adds conventions before existing ones.
func (r *reader) conventions(over *Base, list *yaml.Node) {
	var all []Convention
	for i, n := range settings.Items(list) {
		field := fmt.Sprintf("conventions[%d]", i)
		var c Convention
		if !r.decode(n, field, &c) {
			continue
		}
		if bare := strings.Trim(c.Key, anything); bare == "" || strings.Contains(bare, anything) || len(c.Key)-len(bare) > 1 {
			r.fault(n, field, fmt.Sprintf("%q is not a key", c.Key), `write a key, with at most one "*", as its first or last character`)
		}
		if c.Meaning != Exists && c.Meaning != NoOrder && c.Meaning != Produces {
			message := fmt.Sprintf("meaning %q cannot be inferred from a key alone", c.Meaning)
			if c.Meaning == "" {
				message = `missing key "meaning"`
			}
			r.fault(n, field, message, `set "meaning" to exists, `+
				`produces (the object writes the target) or known (the reference does not affect the order), or add a record for the kind`)
		}
		r.checkCommon(n, field, c.Why, c.To)
		for _, to := range c.To {
			r.checkTarget(n, field, to)
		}
		c.Source = cmp.Or(c.Source, fmt.Sprintf("%s:%d", r.Name, n.Line))
		all = append(all, c)
	}
	if len(all) > 0 {
		before := over.conventions
		over.conventions = sync.OnceValue(func() []Convention { return append(all, before()...) })
	}
}

// words adds words for tests and migrations.
func (r *reader) words(over *Base, root *yaml.Node) {
	if n := settings.Value(root, "migrations"); n != nil {
		var more []string
		if r.decode(n, "migrations", &more) {
			over.migrations = append(slices.Clip(over.migrations), more...)
		}
	}
	if n := settings.Value(root, "smokes"); n != nil {
		var more userSmokes
		if r.decode(n, "smokes", &more) {
			before := over.smokes
			over.smokes = sync.OnceValue(func() smokeFile {
				f := before()
				f.Words = append(slices.Clip(f.Words), more.Words...)
				f.Labels = append(slices.Clip(f.Labels), more.Labels...)
				return f
			})
		}
	}
}

// packages adds packages of operators, and sets the platform.
func (r *reader) packages(over *Base, root *yaml.Node) {
	if n := settings.Value(root, "platform"); n != nil {
		r.decode(n, "platform", &over.platform)
	}
	var more []Package
	for i, n := range settings.Items(settings.Value(root, "packages")) {
		field := fmt.Sprintf("packages[%d]", i)
		var p Package
		switch {
		case !r.decode(n, field, &p):
		case p.Name == "":
			r.fault(n, field, `missing key "package"`, `set "package" to spec.name of the Subscription`)
		case len(p.Installs) == 0:
			r.fault(n, field, `missing key "brings", what the package installs`,
				`set "brings" to a list of groups, or of Kind.group for one kind of a group`)
		case slices.ContainsFunc(more, func(other Package) bool { return other.Name == p.Name }):
			r.fault(n, field, "duplicate package "+p.Name, "merge the two records")
		default:
			p.Source = cmp.Or(p.Source, fmt.Sprintf("%s:%d", r.Name, n.Line))
			more = append(more, p)
		}
	}
	if len(more) > 0 {
		before := over.packages
		over.packages = sync.OnceValue(func() packages { return before().with(more) })
	}
}
