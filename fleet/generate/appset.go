// Package generate writes for Argo CD what rolls out a fleet: ApplicationSets or apps of apps, and
// the manifests that a cluster needs before Argo CD runs. It refuses a fleet of which lint knows
// that its rollout never ends, and finds how a committed file differs.
package generate

import (
	"cmp"

	"github.com/ladder-cmp/ladder/fleet/profile"

	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Options select what is generated.
type Options struct {
	// RepoURL and Revision are the repository and revision from which Argo CD reads the
	// components; if empty, those in ladder.yaml.
	RepoURL  string
	Revision string
	// Environment limits the output to one environment; empty means all.
	Environment string
	// AllowBlocked generates the rollout even if it is known that it cannot finish.
	AllowBlocked bool
	// Template is the owner's own ApplicationSet, or Application for each child; nil generates
	// them.
	Template *OwnTemplate
	// Preserve keeps the resources of Applications that are deleted.
	Preserve bool
	// ArgoCD is the release for which ApplicationSets are, such as "2.14"; the newest known one if
	// empty.
	ArgoCD string
	// Path is the directory in the repository from which a parent reads its children.
	Path string
	// Tiers adds a parent for each band between the root and the children.
	Tiers bool
	// Sets, with Tiers, gives a tier an ApplicationSet instead of children with waves.
	Sets bool
}

// writer generates the objects of a fleet.
type writer struct {
	// Fleet has the repository and the revision to write.
	*fleet.Fleet
	template     *OwnTemplate
	preserve     bool
	allowBlocked bool
	// ordered is true if Argo CD can delete Applications in the reverse order of the steps.
	ordered bool
}

// newWriter returns a writer, and the sets to write.
func newWriter(f *fleet.Fleet, opt Options) (writer, []fleet.Set, error) {
	copied := *f
	copied.Settings.RepoURL = cmp.Or(opt.RepoURL, f.Settings.RepoURL)
	if opt.Revision != "" {
		copied.Settings.Revision, copied.Settings.Environments = opt.Revision, slices.Clone(f.Settings.Environments)
		for i := range copied.Settings.Environments {
			copied.Settings.Environments[i].Revision = ""
		}
	}
	w := writer{Fleet: &copied, template: opt.Template, preserve: opt.Preserve, allowBlocked: opt.AllowBlocked}
	sets, err := fleet.Sets(w.Fleet, opt.Environment)
	if err != nil {
		return w, nil, err
	}
	release, ok := knowledge.ReleaseOf(opt.ArgoCD)
	w.ordered = !ok || !release.Before(deletesInOrder)
	return w, sets, nil
}

// deployments returns the Applications of a set at its destinations, by step.
func (w writer) deployments(s fleet.Set) []fleet.Deployment {
	return s.Deployments(w.Enabled())
}

// deletesInOrder is the first release that deletes Applications in the reverse order of the
// steps. Older releases reject the field.
var deletesInOrder = knowledge.Release{Major: 3, Minor: 2}

// ApplicationSets generates the rollout of a fleet: an ApplicationSet that reads every component.yaml, with an
// entry for each step. If environments share a cluster there are two, the first of which contains
// what a cluster has once. With promotion, there is one for each environment.
//
// The error joins the findings that prevent a rollout; the other findings are returned.
func ApplicationSets(f *fleet.Fleet, opt Options) ([]Manifest, []finding.Finding, error) {
	w, sets, err := newWriter(f, opt)
	if err != nil {
		return nil, nil, err
	}
	faults := slices.Concat(w.rolloutFaults(opt.Environment, sets), w.labelFaults(), w.withoutAutomatedSync(), w.setOrderFaults(sets))
	finding.Sort(faults)
	if err := finding.Err(faults); err != nil {
		return nil, nil, err
	}
	promoted := fleet.InPromotionOrder(w.Fleet, sets)
	if w.template != nil && len(promoted) > len(sets) {
		return nil, nil, w.template.fault("metadata.name",
			"promotion needs an ApplicationSet for each environment, and a template is one",
			"generate them with --environment, or without --template")
	}
	if w.template != nil && len(sets) > 1 {
		return nil, nil, w.template.fault("metadata.name",
			"the environments of this fleet share a cluster, which needs two ApplicationSets, and a template is one",
			"generate them with --environment, or without --template")
	}
	var all []Manifest
	for _, s := range promoted {
		if s.Wave != nil && len(w.deployments(s)) == 0 {
			continue // of several, one may have nothing to deploy
		}
		m, err := w.applicationSet(s)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, m)
	}
	return all, faults, nil
}

func (w writer) applicationSet(s fleet.Set) (Manifest, error) {
	steps, comments := w.steps(s)
	set := argocd.ApplicationSet{APIVersion: argocd.APIVersion, Kind: "ApplicationSet",
		Metadata: argocd.Metadata{Name: s.Name, Namespace: w.namespace()},
		Spec: argocd.SetSpec{
			GoTemplate: true, GoTemplateOptions: []string{"missingkey=error"},
			Generators:    w.generators(s),
			Strategy:      argocd.Strategy{Type: "RollingSync", RollingSync: argocd.RollingSync{Steps: steps}},
			Template:      w.common(s),
			TemplatePatch: w.templatePatch(s),
		}}
	if s.Wave != nil {
		set.Metadata.Annotations = map[string]string{object.SyncWave: strconv.Itoa(*s.Wave)}
	}
	switch {
	case w.preserve:
		set.Spec.SyncPolicy = &argocd.SetSyncPolicy{PreserveResourcesOnDeletion: true}
	case w.ordered:
		set.Spec.Strategy.DeletionOrder = "Reverse"
	}
	if w.template != nil {
		return w.ownSet(s, set)
	}
	m := NewManifest(s.Name, set)
	m.Comment(lines(
		"Generated by cmp fleet apps. Generate it again when a component uses a step that is",
		"not listed here, or a chart from a new repository; cmp fleet apps --check reports it.",
		"Steps need progressive syncs: applicationsetcontroller.enable.progressive.syncs: \"true\"",
		"in the argocd-cmd-params-cm ConfigMap."))
	if s.Title != "" {
		m.Comment("The wave only has an effect if a parent Application contains this ApplicationSet: "+s.Title+".", "metadata",
			"annotations")
	}
	m.Comment("A key that is missing in a component.yaml must not become \"<no value>\".", "spec", "goTemplateOptions")
	for i := range steps {
		m.Comment(comments[i], "spec", "strategy", "rollingSync", "steps", strconv.Itoa(i))
	}
	if set.Spec.Strategy.DeletionOrder != "" {
		m.Comment("Applications are deleted in reverse order, and the finalizer deletes their resources.", "spec", "strategy",
			"deletionOrder")
	}
	m.Comment("Argo CD disables automated sync of Applications in steps, and syncs them itself with these settings.", "spec",
		"template", "spec", "syncPolicy")
	return m, nil
}

func lines(all ...string) string { return strings.Join(all, "\n") }

// generators returns the generators that read the component.yaml of every component, combined
// with the destinations if there are several. Split components have a second generator, for
// their CRDs.
func (w writer) generators(s fleet.Set) []argocd.Generator {
	var all []argocd.Generator
	for _, part := range []crds.Mode{crds.Skip, crds.Only} {
		values := w.values(part)
		chosen := w.selectorFor(s, part)
		if chosen == nil {
			continue
		}
		if part == crds.Only {
			chosen.MatchLabels = map[string]string{"crds": "split"}
		}
		var revisions []string
		for _, p := range s.Destinations {
			if !slices.Contains(revisions, p.Revision) {
				revisions = append(revisions, p.Revision)
			}
		}
		for _, revision := range revisions {
			git := &argocd.GitGenerator{RepoURL: w.Settings.RepoURL, Revision: revision, Values: values}
			for _, p := range w.patterns() {
				git.Files = append(git.Files, argocd.GitFile{Path: p})
			}
			g := argocd.Generator{Git: git, Selector: chosen}
			if s.HasNames() {
				g = argocd.Generator{Matrix: &argocd.MatrixGenerator{Generators: []argocd.Generator{{Git: git},
					{List: &argocd.ListGenerator{ElementsYAML: elements(s.Destinations, revision)}}}}, Selector: chosen}
			}
			all = append(all, g)
		}
	}
	return all
}

// values returns the expressions that compute the values of an Application from its
// component.yaml. The step is padded, so that it is the text that an entry selects, whether it
// is written 10, "10" or "010".
func (w writer) values(part crds.Mode) map[string]string {
	phase := `{{ $phase := get . (hasKey . "rolloutPhase" | ternary "rolloutPhase" "wave") | toString }}`
	suffix, crdsMode := "", `{{ get . "crds" | toString | eq "split" | ternary "skip" "" }}`
	if part == crds.Only {
		phase = `{{ $phase := get . "crdsPhase" | toString }}`
		suffix, crdsMode = fleet.CRDsSuffix, "only"
	}
	values := map[string]string{
		"name":      `{{ get . "name" | default .path.basename }}`,
		"namespace": `{{ get . "namespace" | default "default" }}`,
		"phase": phase + fmt.Sprintf(`{{ if regexMatch "^[0-9]+$" $phase }}{{ atoi $phase | printf "%%0%dd" }}{{ end }}`,
			w.Profile.Digits),
	}
	if w.split() {
		values["crds"], values["suffix"] = crdsMode, suffix
	}
	return values
}

func (w writer) split() bool {
	return slices.ContainsFunc(w.Applications, func(a *fleet.Application) bool { return a.Part == crds.Only })
}

// selectorFor selects the components of a set that are deployed; nil if there are none. It
// selects by the content of the files instead of excluding files, because Argo CD 2.14 does not
// support exclusion, and because a component can then be disabled in its own file.
func (w writer) selectorFor(s fleet.Set, part crds.Mode) *argocd.Selector {
	var listed []string
	found := s.Rest && part != crds.Only
	for _, app := range w.Applications {
		if (app.Part == crds.Only) != (part == crds.Only) {
			continue
		}
		found = found || s.Has(app) && app.IsEnabled()
		if slices.Contains(s.Listed, app) {
			listed = append(listed, app.Dir)
		}
	}
	if !found {
		return nil
	}
	result := &argocd.Selector{MatchExpressions: []argocd.Expression{{Key: "enabled", Operator: "NotIn", Values: []string{"false"}}}}
	switch {
	case s.Rest && len(listed) > 0:
		result.MatchExpressions = append(result.MatchExpressions, argocd.Expression{Key: "path.path", Operator: "NotIn", Values: listed})
	case !s.Rest:
		result.MatchExpressions = append(result.MatchExpressions, argocd.Expression{Key: "path.path", Operator: "In", Values: listed})
	}
	return result
}

// elements returns the template of the list generator: the destinations of a component, either
// all of a revision or those of the environments that it names. They are below the key values,
// because a component.yaml could override any other key: the git generator overwrites only
// values and path.
func elements(destinations []fleet.Destination, revision string) string {
	var b strings.Builder
	b.WriteString("{{- $only := get . \"environments\" | default list }}\n")
	b.WriteString("{{- $off := list }}\n")
	b.WriteString("{{- $namespaces := dict }}\n")
	b.WriteString("{{- if kindIs \"map\" $only }}\n")
	b.WriteString("{{- range $name, $there := $only }}" +
		"{{ if and (kindIs \"map\" $there) (get $there \"enabled\" | toString | eq \"false\") }}" +
		"{{ $off = append $off $name }}{{ end }}{{ end }}\n")
	b.WriteString("{{- range $name, $there := $only }}{{ if kindIs \"map\" $there }}" +
		"{{ $_ := set $namespaces $name (get $there \"namespace\" | default \"\" | toString) }}{{ end }}{{ end }}\n")
	b.WriteString("{{- $only = list }}\n{{- end }}\n")
	b.WriteString("{{- if not (kindIs \"slice\" $only) }}{{ $only = list $only }}{{ end }}\n")
	for _, p := range destinations {
		if p.Revision != revision {
			continue
		}
		conditions := []string{"empty $only"}
		for _, e := range p.In {
			conditions = append(conditions, fmt.Sprintf("has %q $only", e))
		}
		server := cmp.Or(p.Server, argocd.InCluster)
		namespace := `""`
		condition := "or (" + strings.Join(conditions, ") (") + ")"
		if len(p.In) == 1 {
			namespace = fmt.Sprintf("{{ get $namespaces %q | toJson }}", p.In[0])
			condition = fmt.Sprintf("and (not (has %q $off)) (%s)", p.In[0], condition)
		}
		fmt.Fprintf(&b, "{{- if %s }}\n"+
			"- values: {environment: %s, cluster: %s, namespaceSuffix: %s, environmentNamespace: %s, revision: %s}\n{{- end }}\n",
			condition, strconv.Quote(p.Name), strconv.Quote(server), strconv.Quote(p.Suffix), namespace, strconv.Quote(p.Revision))
	}
	return b.String()
}

// steps returns an entry for each used step, in order, and a last one that selects all other
// Applications, because Argo CD would never sync them otherwise.
func (w writer) steps(s fleet.Set) (steps []argocd.Step, comments []string) {
	members := map[int][]string{}
	var rest []string
	for _, d := range w.deployments(s) {
		if d.Step.Set {
			members[d.Step.Number] = append(members[d.Step.Number], d.Name)
		} else {
			rest = append(rest, d.Name)
		}
	}
	var numbers []string
	for _, number := range slices.Sorted(maps.Keys(members)) {
		place, _ := w.Profile.Place(number)
		numbers = append(numbers, w.Profile.Write(number))
		steps = append(steps, argocd.Step{MatchExpressions: []argocd.Expression{{Key: w.Profile.Label, Operator: "In",
			Values: []string{w.Profile.Write(number)}}}, MaxUpdate: maxUpdate(place)})
		comments = append(comments, w.stepComment(number, members[number]))
	}
	steps = append(steps, argocd.Step{MatchExpressions: []argocd.Expression{{Key: w.Profile.Label, Operator: "NotIn",
		Values: append([]string{}, numbers...)}}})
	comments = append(comments,
		wrap("Applications that no other step selects (currently: "+list(rest)+"). Without this step, Argo CD would never sync them."))
	return steps, comments
}

// stepComment describes a step and its current members.
func (w writer) stepComment(step int, members []string) string {
	text := w.Profile.Write(step)
	place, known := w.Profile.Place(step)
	band, banded := w.Profile.Band(step)
	if banded {
		text += " " + band.Name
	}
	if known && place.Title != "" {
		text += ", " + place.Title
	}
	if place.Manual {
		text += ", which people sync manually"
	}
	return wrap(text + ": " + list(members) + ".")
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// wrap breaks a comment into lines.
func wrap(text string) string {
	const width = 96
	var all []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			all, line = append(all, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return lines(append(all, line)...)
}

// maxUpdate returns the maxUpdate of a place: 0 if people sync it, nil if it has no limit.
func maxUpdate(p profile.Place) *int {
	switch {
	case p.Manual:
		return new(int)
	case p.MaxUpdate > 0:
		return &p.MaxUpdate
	}
	return nil
}
