package generate

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	texttemplate "text/template"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/link"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/settings"
	"github.com/ladder-cmp/ladder/object"
)

// Bundle contains the manifests that a cluster needs before Argo CD runs: files in the order
// in which to apply them, and the objects to wait for after each file.
type Bundle struct {
	Steps []BootstrapStep
	// Until is the last included step, in the format of the fleet.
	Until string
}

// BootstrapStep is a file with the objects to wait for after it is applied.
type BootstrapStep struct {
	// Name is the name of the file without its extension; it starts with a number.
	Name string
	// About describes the content.
	About string
	// Text contains the manifests.
	Text  string
	Gates []WaitFor
}

// WaitFor is an object that must be ready before anything else is applied, as
// arguments of kubectl.
type WaitFor struct {
	Args []string
	Why  string
	// OneReplica means that one ready replica is enough, because the nodes may have no room for
	// more; Args are then the arguments that read the number of ready replicas.
	OneReplica bool

	// network means that the object provides the Pod network. early means that the object
	// becomes ready without a Pod network.
	network, early bool
}

// BootstrapOptions select the Applications that are applied before Argo CD.
type BootstrapOptions struct {
	// Until is the last step; if it is not set, all Applications with a step are included.
	Until component.Step
	// Only lists the names of the Applications to include (all if empty), and Skip those to
	// omit. Omitted Applications are assumed to be in the cluster.
	Only, Skip []string
}

// has reports whether an Application is included, by its own name or that of its component.
func (o BootstrapOptions) has(app *fleet.Application) bool {
	matches := func(names []string) bool {
		return slices.Contains(names, app.Name) || slices.Contains(names, app.Component.Name)
	}
	return (len(o.Only) == 0 || matches(o.Only)) && !matches(o.Skip)
}

// NewBootstrap generates files for the components up to a step: one for each component, or several
// if one of its waves must be ready before the next.
//
// Hooks become plain objects: PreSync hooks come first, PostSync hooks last. Hooks that Argo CD
// runs in no sync are omitted with a note.
//
// The Pod network comes before everything that needs it, regardless of the steps, because a Pod
// never becomes ready without it.
func NewBootstrap(f *fleet.Fleet, opt BootstrapOptions) (Bundle, []finding.Finding, error) {
	b := Bundle{}
	apps, networkFindings := until(f, opt)
	if len(apps) == 0 {
		return b, nil, nothingToBootstrap(f, opt)
	}
	last := slices.MaxFunc(apps, func(x, y *fleet.Application) int { return cmp.Compare(x.Step.Number, y.Step.Number) }).Step
	if opt.Until.Set {
		last = opt.Until
	}
	b.Until = f.FormatStep(last)
	faults := append(cannotBootstrap(f, apps, opt), networkFindings...)
	namespaces := slices.Clone(gates.Namespaces)
	for _, app := range apps {
		steps, notes := bootstrapOne(f, app, &namespaces)
		faults = append(faults, notes...)
		b.Steps = append(b.Steps, steps...)
	}
	finding.Sort(faults)
	if err := finding.Err(faults); err != nil {
		return b, nil, err
	}
	digits := max(2, len(fmt.Sprint(len(b.Steps)-1)))
	moveGatesAfterNetwork(b.Steps)
	for i := range b.Steps {
		b.Steps[i].Name = fmt.Sprintf("%0*d-%s", digits, i, b.Steps[i].Name)
	}
	return b, faults, nil
}

// nothingToBootstrap says why no Application is included.
func nothingToBootstrap(f *fleet.Fleet, opt BootstrapOptions) error {
	message, remedy := "no component has a "+f.Profile.Noun(), "use a later "+f.Profile.Noun()
	if on := f.Enabled(); len(on) > 0 && on[0].Step.Set {
		message = fmt.Sprintf("no component is in %s or before; the first one, %s, is in %s",
			f.Profile.StepName(opt.Until.Number), on[0].Name, f.Profile.StepName(on[0].Step.Number))
	}
	if len(opt.Only)+len(opt.Skip) > 0 {
		message, remedy = "--only and --skip select no component", "correct the names"
	}
	return finding.Finding{Severity: finding.Error, Rule: finding.NotFound, Field: "--until", Message: message, Remedy: remedy}
}

// until returns the included Applications by step, with the Pod network before everything that
// needs it. Within a step, each Application comes after its dependencies. The findings name the
// Applications that move because of the Pod network.
func until(f *fleet.Fleet, opt BootstrapOptions) ([]*fleet.Application, []finding.Finding) {
	var remaining, all []*fleet.Application
	for _, app := range f.Enabled() {
		if app.Step.Set && (!opt.Until.Set || app.Step.Number <= opt.Until.Number) && opt.has(app) {
			remaining = append(remaining, app)
		}
	}
	hasDependency := func(app *fleet.Application) bool {
		return slices.ContainsFunc(f.Links, func(l fleet.Link) bool {
			to := f.Applications[l.To]
			return f.Applications[l.From] == app && l.Strength() >= fleet.Exists && to.Step.Number == app.Step.Number &&
				slices.Contains(remaining, to)
		})
	}
	for len(remaining) > 0 {
		next := slices.IndexFunc(remaining, func(app *fleet.Application) bool {
			return app.Step.Number == remaining[0].Step.Number && !hasDependency(app)
		})
		next = max(next, 0) // Applications that depend on each other keep their order
		all, remaining = append(all, remaining[next]), slices.Delete(remaining, next, next+1)
	}
	return networkFirst(f, all)
}

// Check checks that a fleet is that of one cluster: it has the named components and, without an
// environment, no included component that is deployed only in some of them.
func (o BootstrapOptions) Check(f *fleet.Fleet, environment string) error {
	for _, name := range slices.Concat(o.Only, o.Skip) {
		if _, err := rollout.FindComponent(f, name); err != nil {
			return err
		}
	}
	all, _ := until(f, o)
	at := slices.IndexFunc(all, func(app *fleet.Application) bool { return app.Environments.MayBeMissing() })
	if at < 0 || environment != "" {
		return nil
	}
	return finding.Usagef("%s: %s is for %s only, and a cluster belongs to one environment; use --environment %s",
		all[at].File, all[at].Name, strings.Join(f.EnvironmentsOf(all[at]), ", "), strings.Join(f.Environments(), " or "))
}

// cannotBootstrap reports missing sources, and dependencies that are applied too late.
func cannotBootstrap(f *fleet.Fleet, apps []*fleet.Application, opt BootstrapOptions) []finding.Finding {
	var all []finding.Finding
	for _, app := range apps {
		all = slices.Concat(all, lint.Refused(f, app), lint.NameFaults(app, app.Name))
		switch {
		case app.Failed:
			all = append(all, app.Findings...)
		case app.IsChartMissing:
			all = append(all, app.Fault(finding.Rollout, "chart",
				"the chart of "+app.Name+" is in another repository, and was not fetched",
				"run cmp vendor, or put the chart into this repository and name its directory as chart.path"))
		}
	}
	for _, l := range f.Links {
		from, to := f.Applications[l.From], f.Applications[l.To]
		at, dependencyAt := slices.Index(apps, from), slices.Index(apps, to)
		if !l.Strength().NeedsEarlierStep() || at < 0 || dependencyAt >= 0 && dependencyAt < at || !to.IsEnabled() {
			continue
		}
		where := "is not applied before Argo CD"
		if dependencyAt >= 0 {
			where = "comes after it"
		}
		found := from.Fault(finding.Rollout, from.StepKey(),
			fmt.Sprintf("%s depends on %s, which %s: %s", from.Name, to.Name, where, l.Reasons[0]),
			"move "+to.Name+" to an earlier "+f.Profile.Noun())
		switch {
		case !opt.has(to):
			found.Severity, found.Remedy = finding.Note, "make sure that it is in the cluster already"
		case !l.IsCertain():
			found.Severity = finding.Warning
		}
		all = append(all, found)
	}
	return all
}

// bootstrapOne generates the files of an Application. existing lists the namespaces that exist
// already; bootstrapOne adds those of the Application.
func bootstrapOne(f *fleet.Fleet, app *fleet.Application, existing *[]string) ([]BootstrapStep, []finding.Finding) {
	nodes, notes := applied(f, app)
	var steps []BootstrapStep
	var docs []string
	for _, ns := range missingNamespaces(nodes, *existing) {
		docs = append(docs, YAML(NewManifest("", map[string]any{"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]string{"name": ns}})))
		*existing = append(*existing, ns)
	}
	for _, n := range nodes {
		if n.Key.Group == "" && n.Key.Kind == "Namespace" {
			*existing = append(*existing, n.Key.Name)
		}
	}
	var waits []WaitFor
	end := func() {
		if len(docs) > 0 {
			steps = append(steps, BootstrapStep{Name: app.Name, About: stepAbout(f, app), Text: strings.Join(docs, "---\n"), Gates: waits})
		}
		docs, waits = nil, nil
	}
	for i, n := range nodes {
		// Start a new file after a wave with a gate.
		if i > 0 && momentOf(nodes[i-1]) != momentOf(n) && len(waits) > 0 {
			end()
		}
		docs = append(docs, inNamespace(n))
		w, ok := waitFor(n)
		if !ok && link.IsNetwork(&n) { // an operator creates what can be waited for
			w, ok = WaitFor{Args: strings.Fields(gates.Nodes.Command), Why: gates.Nodes.Why}, true
		}
		if ok {
			w.network, w.early = link.IsNetwork(&n), len(n.Kind.Defines) > 0 || onHostNetwork(&n)
			if isCrowded(&n) {
				w.OneReplica, w.Args, w.Why = true, w.Args[len(strings.Fields(rolloutStatus)):],
					"one ready replica: one node has no room for more"
			}
			waits = append(waits, w)
		}
	}
	end()
	if len(steps) > 1 {
		for i := range steps {
			steps[i].Name = fmt.Sprintf("%s-%d", app.Name, i+1)
		}
	}
	return steps, notes
}

func stepAbout(f *fleet.Fleet, app *fleet.Application) string {
	text := app.Name + " of " + f.Profile.StepName(app.Step.Number)
	if place, ok := f.Profile.Place(app.Step.Number); ok && place.Title != "" {
		text += ", " + place.Title
	}
	return text
}

// moment is the phase and wave in which Argo CD applies an object.
type moment struct{ phase, wave int }

// momentOf returns the moment of an object.
func momentOf(n graph.Node) moment {
	wave, _ := n.Wave()
	return moment{n.Phases()[0].Order(), wave}
}

// applied returns the objects of an Application that Argo CD applies in a sync, in apply order.
func applied(f *fleet.Fleet, app *fleet.Application) ([]graph.Node, []finding.Finding) {
	order := map[string]int{}
	for i, o := range app.Objects {
		order[o.Text()] = i
	}
	var all []graph.Node
	var notes []finding.Finding
	for _, n := range f.Objects.Nodes {
		if f.Applications[n.Part] != app || n.Stub {
			continue
		}
		note := finding.Finding{Severity: finding.Note, Rule: finding.Rollout, File: n.File, Line: n.Line, Object: n.Key.String()}
		runs := slices.ContainsFunc(n.Phases(), func(p object.Phase) bool {
			return slices.Contains([]object.Phase{object.PreSync, object.Sync, object.PostSync}, p)
		})
		switch {
		case !runs:
			note.Message = "left out: a hook that no sync runs"
		case n.Generated:
			note.Message = "left out: kubectl apply does not support generateName"
		default:
			all = append(all, n)
			continue
		}
		notes = append(notes, note)
	}
	slices.SortStableFunc(all, func(x, y graph.Node) int {
		return cmp.Or(cmp.Compare(momentOf(x).phase, momentOf(y).phase), cmp.Compare(momentOf(x).wave, momentOf(y).wave),
			cmp.Compare(order[x.Text()], order[y.Text()]))
	})
	return all, notes
}

// missingNamespaces returns the namespaces of objects that no object creates.
func missingNamespaces(nodes []graph.Node, existing []string) []string {
	var all []string
	for _, n := range nodes {
		own := slices.ContainsFunc(nodes, func(other graph.Node) bool {
			return other.Key.Group == "" && other.Key.Kind == "Namespace" && other.Key.Name == n.Key.Namespace
		})
		if n.Key.Namespace != "" && !own && !slices.Contains(existing, n.Key.Namespace) && !slices.Contains(all, n.Key.Namespace) {
			all = append(all, n.Key.Namespace)
		}
	}
	slices.Sort(all)
	return all
}

// inNamespace returns the text of an object with the namespace that Argo CD would set.
func inNamespace(n graph.Node) string {
	text := n.Text()
	if n.Key.Namespace != "" && n.ID.Namespace == "" {
		if m, err := ParseManifest("", text); err == nil {
			m.Set(n.Key.Namespace, "metadata", "namespace")
			return YAML(m)
		}
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return strings.TrimLeft(strings.TrimPrefix(text, "---\n"), "\n") // a text that begins with an empty line has no inline form
}

//go:embed gates.yaml
var gatesText []byte

var gates = settings.Embedded[struct {
	Gates []struct {
		Kinds       []string `yaml:"kinds"`
		Command     string   `yaml:"command"`
		Why, Source string
	} `yaml:"gates"`
	Nodes      struct{ Command, Why, Source string }
	Namespaces []string `yaml:"namespaces"`
}](gatesText)

// rolloutStatus is the command of gates.yaml that waits for workloads.
const rolloutStatus = "rollout status"

// conditionPattern and valuePattern match the two forms in which records of kinds describe what
// Argo CD waits for: "condition Ready" and "status.phase Running".
var (
	conditionPattern = lazyregexp.New(`^condition ([A-Za-z]+)$`)
	valuePattern     = lazyregexp.New(`^(status(?:\.[A-Za-z]+)+) ([A-Za-z]+)$`)
)

// waitFor returns the kubectl arguments that wait for an object, if Ladder knows when it is ready.
func waitFor(n graph.Node) (WaitFor, bool) {
	if n.Uncertain() != "" || n.Idle || n.HasHealth && n.Health.Healthy {
		return WaitFor{}, false
	}
	what := strings.ToLower(n.Key.Kind)
	if n.Key.Group != "" {
		what += "." + n.Key.Group
	}
	what += "/" + n.Key.Name
	w := WaitFor{Why: cmp.Or(n.Health.Waits, "healthy")}
	if !resource.MatchString(what) || n.Key.Namespace != "" && !object.IsName(n.Key.Namespace) {
		return w, false // the name is invalid, and kubectl may parse it as a flag
	}
	withNamespace := func(args ...string) (WaitFor, bool) {
		if n.Key.Namespace != "" {
			args = append(args, "--namespace="+n.Key.Namespace)
		}
		w.Args = args
		return w, true
	}
	if n.HasHealth {
		for _, g := range gates.Gates {
			if slices.Contains(g.Kinds, n.Key.GroupKind()) {
				return withNamespace(append(strings.Fields(g.Command), what)...)
			}
		}
		if m := conditionPattern.FindStringSubmatch(n.Health.Waits); m != nil {
			return withNamespace("wait", "--for=condition="+m[1], what)
		}
		if m := valuePattern.FindStringSubmatch(n.Health.Waits); m != nil {
			return withNamespace("wait", fmt.Sprintf("--for=jsonpath={.%s}=%s", m[1], m[2]), what)
		}
		return w, false
	}
	if sees := n.Kind.Status; sees != nil && sees.Under == "" {
		for _, sign := range sees.Healthy {
			w.Why = "condition " + sign.Condition
			if sign.Condition != "" {
				return withNamespace("wait", "--for=condition="+sign.Condition+"="+sign.Values()[0], what)
			}
			if len(sign.Values()) == 1 {
				w.Why = sign.At + " " + sign.Values()[0]
				return withNamespace("wait", fmt.Sprintf("--for=jsonpath={.%s}=%s", sign.At, sign.Values()[0]), what)
			}
		}
	}
	return w, false
}

// resource returns the kubectl argument for an object. The names of some kinds contain special
// characters, such as the colons of a ClusterRole.
var resource = lazyregexp.New(`^[a-z0-9][-a-z0-9.]*/[A-Za-z0-9][-A-Za-z0-9._:]*$`)

//go:embed apply.sh.tmpl
var scriptText string

var script = sync.OnceValue(func() *texttemplate.Template {
	return texttemplate.Must(texttemplate.New("").Funcs(texttemplate.FuncMap{"quoted": finding.Quote, "remark": remark}).Parse(scriptText))
})

// remark formats a text as a one-line comment.
func remark(text string) string { return finding.Sanitize(strings.Join(strings.Fields(text), " ")) }

// Script returns a POSIX shell script that applies the files in order with kubectl, and waits
// after each.
func (b Bundle) Script() string {
	var text bytes.Buffer
	if err := script().Execute(&text, b); err != nil {
		panic(err) // the template uses only fields of Bundle, and writing to memory cannot fail
	}
	return text.String()
}

// Talos returns a patch of a Talos machine configuration with the files as inline manifests. Talos
// applies them when it starts the cluster and retries those that fail; it does not wait between
// them.
func (b Bundle) Talos() string {
	type inline struct {
		Name     string `yaml:"name"`
		Contents string `yaml:"contents"`
	}
	var patch struct {
		Cluster struct {
			InlineManifests []inline `yaml:"inlineManifests"`
		} `yaml:"cluster"`
	}
	for _, s := range b.Steps {
		patch.Cluster.InlineManifests = append(patch.Cluster.InlineManifests, inline{s.Name, s.Text})
	}
	m := NewManifest("talos", patch)
	m.Comment("Generated by cmp fleet bootstrap: a patch for the machine configuration of control planes\n" +
		"(talosctl machineconfig patch, or --config-patch-control-plane). Everyone who can read the\n" +
		"configuration can read the Secrets in it.")
	for i, s := range b.Steps {
		m.Comment(s.About+".", "cluster", "inlineManifests", fmt.Sprint(i))
	}
	return YAML(m)
}
