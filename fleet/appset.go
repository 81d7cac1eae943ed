package fleet

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	texttemplate "text/template"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// SetOptions say what an ApplicationSet is to be like.
type SetOptions struct {
	Target
	// AllSteps adds the steps of places of the profile at which nothing stands.
	AllSteps bool
	// Preserve keeps what Applications hold when they are deleted.
	Preserve bool
	// ArgoCD is the release it is for, such as "2.14"; the newest that is known
	// if empty.
	ArgoCD string
}

// deletesInOrder is the first release that deletes Applications in the reverse
// order of the steps; those before refuse the field.
var deletesInOrder = [2]int{3, 2}

// ApplicationSets makes what rolls out the fleet in the order of its phases:
// an ApplicationSet that reads every component.yaml, with a step for each phase.
// Where environments share a cluster there are two, of which the first holds
// what the cluster has once.
//
// The findings are what is worth knowing; the error joins those that leave no
// rollout.
func (f *Fleet) ApplicationSets(opt SetOptions) ([]Manifest, []finding.Finding, error) {
	sets, err := f.sets(opt.Target)
	if err != nil {
		return nil, nil, err
	}
	faults := slices.Concat(f.guard(opt.Target, sets), f.unlabelled(), f.nowhere(opt.Target), f.before(sets), f.disproved(opt.Target))
	ordered, err := atLeast(opt.ArgoCD, deletesInOrder)
	if err != nil {
		return nil, nil, err
	}
	finding.Sort(faults)
	if err := finding.Err(faults); err != nil {
		return nil, nil, err
	}
	var all []Manifest
	for _, s := range sets {
		m, err := f.applicationSet(s, opt, ordered)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, m)
	}
	return all, faults, nil
}

// oldest is the first release of Argo CD that Ladder is for.
var oldest = [2]int{2, 14}

// atLeast reports whether a release is one, or comes after it.
func atLeast(release string, than [2]int) (bool, error) {
	if release == "" {
		return true, nil
	}
	major, minor, _ := strings.Cut(strings.TrimPrefix(release, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	x, err := strconv.Atoi(major)
	y, err2 := strconv.Atoi(minor)
	if err != nil || err2 != nil {
		return false, fmt.Errorf("%q is no release of Argo CD; write one like 2.14 or 3.5", release)
	}
	if x < oldest[0] || x == oldest[0] && y < oldest[1] {
		return false, fmt.Errorf("release %s of Argo CD is too old; name %d.%d or a later one, from which on what is written is understood", release, oldest[0], oldest[1])
	}
	return x > than[0] || x == than[0] && y >= than[1], nil
}

func (f *Fleet) applicationSet(s set, opt SetOptions, ordered bool) (Manifest, error) {
	generators, err := f.generators(s, opt.Target)
	if err != nil {
		return Manifest{}, err
	}
	steps, comments := f.steps(s, opt.AllSteps)
	made := applicationSet{APIVersion: argoCDVersion, Kind: "ApplicationSet", Metadata: metadata{Name: s.name, Namespace: f.namespace()},
		Spec: applicationSetSpec{
			GoTemplate: true, GoTemplateOptions: []string{"missingkey=error"},
			Generators:    generators,
			Strategy:      strategy{Type: "RollingSync", RollingSync: rollingSync{steps}},
			Template:      f.template(s, opt),
			TemplatePatch: f.templatePatch(s, opt),
		}}
	if s.wave != nil {
		made.Metadata.Annotations = map[string]string{syncWave: strconv.Itoa(*s.wave)}
	}
	switch {
	case opt.Preserve:
		made.Spec.SyncPolicy = &setSyncPolicy{true}
	case ordered:
		made.Spec.Strategy.DeletionOrder = "Reverse"
	}
	m := manifest(s.name, made)
	m.node.HeadComment = lines(
		"Written by cmp fleet appset. Write it again when a component gets a phase that no",
		"step has, or a chart from an address that is new; cmp fleet appset --check says so.",
		"Steps need progressive syncs: applicationsetcontroller.enable.progressive.syncs: \"true\"",
		"in the ConfigMap argocd-cmd-params-cm.")
	if s.title != "" {
		m.comment("The wave counts where a parent Application holds this: "+s.title+".", "metadata", "annotations")
	}
	m.comment("A key that a component.yaml lacks must not become \"<no value>\".", "spec", "goTemplateOptions")
	for i := range steps {
		m.comment(comments[i], "spec", "strategy", "rollingSync", "steps", strconv.Itoa(i))
	}
	if made.Spec.Strategy.DeletionOrder != "" {
		m.comment("What came last goes first, and its finalizer lets it take what it holds along.", "spec", "strategy", "deletionOrder")
	}
	m.comment("Argo CD turns automated syncs of Applications in steps off and starts them itself, with these settings.", "spec", "template", "spec", "syncPolicy")
	return m, nil
}

func lines(all ...string) string { return strings.Join(all, "\n") }

// generators read the component.yaml of every component; where there are
// places, once for each. The second is of the definitions of components that
// are split.
func (f *Fleet) generators(s set, t Target) ([]generator, error) {
	var all []generator
	for _, part := range []crds.Mode{crds.Skip, crds.Only} {
		values := f.values(part)
		chosen := f.chosen(s, part)
		if chosen == nil {
			continue
		}
		if part == crds.Only {
			chosen.MatchLabels = map[string]string{"crds": "split"}
		}
		var revisions []string
		for _, p := range s.places {
			if !slices.Contains(revisions, p.Revision) {
				revisions = append(revisions, p.Revision)
			}
		}
		for _, revision := range revisions {
			git := &gitGenerator{RepoURL: cmp.Or(t.RepoURL, f.Settings.RepoURL), Revision: revision, Values: values}
			for _, p := range f.patterns() {
				git.Files = append(git.Files, gitFile{p})
			}
			g := generator{Git: git, Selector: chosen}
			if s.named() {
				g = generator{Matrix: &matrixGenerator{[]generator{{Git: git}, {List: &listGenerator{elements(s.places, revision)}}}}, Selector: chosen}
			}
			all = append(all, g)
		}
	}
	return all, nil
}

// values are what is computed from a component.yaml for its Application. The
// phase is padded, so that it is the text that a step selects, whether it is
// written 10, "10" or "010".
func (f *Fleet) values(part crds.Mode) map[string]string {
	phase := `{{ $phase := get . (hasKey . "rolloutPhase" | ternary "rolloutPhase" "wave") | toString }}`
	suffix, crdsMode := "", `{{ get . "crds" | toString | eq "split" | ternary "skip" "" }}`
	if part == crds.Only {
		phase = `{{ $phase := get . "crdsPhase" | toString }}`
		suffix, crdsMode = DefinitionsSuffix, "only"
	}
	values := map[string]string{
		"name":      `{{ get . "name" | default .path.basename }}`,
		"namespace": `{{ get . "namespace" | default "default" }}`,
		"phase":     phase + fmt.Sprintf(`{{ if regexMatch "^[0-9]+$" $phase }}{{ atoi $phase | printf "%%0%dd" }}{{ end }}`, f.Profile.Digits),
	}
	if f.split() {
		values["crds"], values["suffix"] = crdsMode, suffix
	}
	return values
}

func (f *Fleet) split() bool {
	return slices.ContainsFunc(f.Applications, func(a *Application) bool { return a.Part == crds.Only })
}

// chosen selects the components of a set that are deployed; nil if there are
// none. It selects by what the files say rather than exclude files, which Argo
// CD 2.14 does not know, and so that a component can be turned off by its file
// alone.
func (f *Fleet) chosen(s set, part crds.Mode) *selector {
	var listed []string
	found := s.rest && part != crds.Only
	for _, app := range f.Applications {
		if (app.Part == crds.Only) != (part == crds.Only) {
			continue
		}
		found = found || s.has(app) && app.On()
		if slices.Contains(s.listed, app) {
			listed = append(listed, app.Dir)
		}
	}
	if !found {
		return nil
	}
	made := &selector{MatchExpressions: []expression{{Key: "enabled", Operator: "NotIn", Values: []string{"false"}}}}
	switch {
	case s.rest && len(listed) > 0:
		made.MatchExpressions = append(made.MatchExpressions, expression{"path.path", "NotIn", listed})
	case !s.rest:
		made.MatchExpressions = append(made.MatchExpressions, expression{"path.path", "In", listed})
	}
	return made
}

// elements lists the places that a component goes to: all of a revision, or
// those of the environments that it names. They are under values, the only key but
// path that no component.yaml can set: the git generator writes its own over it, and
// whatever else the file holds wins over what is listed here.
func elements(places []place, revision string) string {
	var b strings.Builder
	b.WriteString("{{- $only := get . \"environments\" | default list }}\n")
	b.WriteString("{{- if not (kindIs \"slice\" $only) }}{{ $only = list $only }}{{ end }}\n")
	for _, p := range places {
		if p.Revision != revision {
			continue
		}
		conditions := []string{"empty $only"}
		for _, e := range p.In {
			conditions = append(conditions, fmt.Sprintf("has %q $only", e))
		}
		server := cmp.Or(p.Server, inCluster)
		fmt.Fprintf(&b, "{{- if or (%s) }}\n- values: {environment: %s, cluster: %s, namespaceSuffix: %s, revision: %s}\n{{- end }}\n",
			strings.Join(conditions, ") ("), strconv.Quote(p.Name), strconv.Quote(server), strconv.Quote(p.Suffix), strconv.Quote(p.Revision))
	}
	return b.String()
}

// steps are one for each phase in use, in their order, and a last one for what
// none of them selects, which Argo CD would never sync.
func (f *Fleet) steps(s set, allSteps bool) (steps []step, comments []string) {
	members := map[int][]string{}
	var rest []string
	for _, d := range f.deployments(s) {
		if d.Phase.Set {
			members[d.Phase.Number] = append(members[d.Phase.Number], d.Name)
		} else {
			rest = append(rest, d.Name)
		}
	}
	if allSteps {
		for _, p := range f.Profile.All() {
			members[p.Phase] = append(members[p.Phase], []string{}...)
		}
		for _, app := range f.Applications {
			if app.Phase.Set && app.Phase.Number >= 0 {
				members[app.Phase.Number] = append(members[app.Phase.Number], []string{}...)
			}
		}
	}
	var phases []string
	for _, number := range slices.Sorted(maps.Keys(members)) {
		place, _ := f.Profile.Place(number)
		phases = append(phases, f.Profile.Write(number))
		steps = append(steps, step{MatchExpressions: []expression{{f.Profile.Label, "In", []string{f.Profile.Write(number)}}}, MaxUpdate: atOnce(place)})
		comments = append(comments, f.stepComment(number, members[number]))
	}
	steps = append(steps, step{MatchExpressions: []expression{{f.Profile.Label, "NotIn", append([]string{}, phases...)}}})
	comments = append(comments, wrapped("What no step selects, and so would never be synced: "+listed(rest)+"."))
	return steps, comments
}

// stepComment says what a step is, and who is in it now.
func (f *Fleet) stepComment(phase int, members []string) string {
	text := f.Profile.Write(phase)
	place, known := f.Profile.Place(phase)
	band, banded := f.Profile.Band(phase)
	if banded {
		text += " " + band.Name
	}
	if known && place.Title != "" {
		text += ", " + place.Title
	}
	if place.Manual {
		text += ", which people sync one by one"
	}
	return wrapped(text + ": " + listed(members) + ".")
}

func listed(names []string) string {
	if len(names) == 0 {
		return "nothing now"
	}
	return strings.Join(names, ", ")
}

// wrapped breaks a comment into lines.
func wrapped(text string) string {
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

// template is what all Applications have in common.
func (f *Fleet) template(s set, opt SetOptions) template {
	t := template{
		Metadata: metadata{Name: `{{ .values.name }}`, Labels: map[string]string{f.Profile.Label: `{{ .values.phase }}`}, Finalizers: []string{cascade}},
		Spec: applicationSpec{
			Project:     f.projectTemplate(),
			Destination: cluster(s.places[0].Server, `{{ .values.namespace }}`),
			Source:      &source{RepoURL: cmp.Or(opt.RepoURL, f.Settings.RepoURL), TargetRevision: s.places[0].Revision, Path: `{{ .path.path }}`, Plugin: &pluginSource{Name: pluginName}},
			SyncPolicy:  syncPolicy{Automated: automated{Prune: true, SelfHeal: true}, Retry: patient},
		},
	}
	for _, p := range f.parameters(s) {
		t.Spec.Source.Plugin.Parameters = append(t.Spec.Source.Plugin.Parameters, pluginParameter{Name: p.Name, String: "{{ " + p.Expression + " }}"})
	}
	if opt.Preserve {
		t.Metadata.Finalizers = nil
	}
	if f.split() {
		t.Metadata.Name += `{{ .values.suffix }}`
	}
	if s.named() {
		if s.suffixed {
			t.Metadata.Name += `-{{ .values.environment }}`
		}
		if s.labelled() {
			t.Metadata.Labels["environment"] = `{{ .values.environment }}`
		}
		t.Spec.Source.TargetRevision = `{{ .values.revision }}`
		t.Spec.Destination = destination{Namespace: `{{ .values.namespace }}{{ .values.namespaceSuffix }}`}
		if url := cluster(s.places[0].Server, ""); url.Server != "" {
			t.Spec.Destination.Server = `{{ .values.cluster }}`
		} else {
			t.Spec.Destination.Name = `{{ .values.cluster }}`
		}
	}
	return t
}

// projectTemplate is the AppProject of every Application. Components choose theirs
// only among those that the platform allows.
func (f *Fleet) projectTemplate() string {
	if len(f.Projects) == 0 {
		return f.project()
	}
	allowed := make([]string, len(f.Projects))
	for i, name := range f.Projects {
		allowed[i] = strconv.Quote(name)
	}
	return fmt.Sprintf(`{{ $own := get . "project" }}{{ if has $own (list %s) }}{{ $own }}{{ else }}%s{{ end }}`, strings.Join(allowed, " "), f.project())
}

// templated is a parameter whose value is an expression of a template.
type templated struct{ Name, Expression string }

// parameters are those that every Application of a set needs: the release is
// called by the component, also where the Application is called by its
// environment, and what templates see as namespace is where it goes.
func (f *Fleet) parameters(s set) []templated {
	if !s.named() {
		return nil
	}
	all := []templated{{"name", ".values.name"}}
	if s.moved() {
		all = append(all, templated{"namespace", "print .values.namespace .values.namespaceSuffix"})
	}
	return all
}

//go:embed templatepatch.tmpl
var templatePatchText string

var templatePatch = texttemplate.Must(texttemplate.New("").Delims("[[", "]]").Funcs(texttemplate.FuncMap{"quote": strconv.Quote}).Parse(templatePatchText))

// templatePatch is what differs from one Application to the other. Argo CD
// fills it with the component.yaml of each.
func (f *Fleet) templatePatch(s set, opt SetOptions) string {
	type option struct{ Name, Value string }
	d := struct {
		LabelKey, ReservedKey string // regular expressions, quoted
		RepoURL               string
		Revision              string // an expression
		Options               []option
		Definitions, Large    []string
		Vendored              []string // whose charts from elsewhere lie beside them
		Addresses             []string // of charts from elsewhere
		Split                 bool
		Parameters            []templated
		Earlier               []*Application
		Retries               []retried
	}{LabelKey: strconv.Quote(labelKey.String()), ReservedKey: strconv.Quote(f.reservedLabel().String()), RepoURL: cmp.Or(opt.RepoURL, f.Settings.RepoURL),
		Revision: strconv.Quote(s.places[0].Revision), Definitions: f.definitionPhases(), Large: f.largeApplications(), Split: f.split(), Retries: f.retries()}
	common := f.commonOptions()
	for _, name := range slices.Sorted(maps.Keys(common)) {
		d.Options = append(d.Options, option{name, common[name]})
	}
	if s.named() {
		d.Revision = ".values.revision"
	}
	if d.Parameters = f.parameters(s); d.Parameters == nil {
		d.Parameters = []templated{{"name", ".values.name"}}
	}
	for _, app := range f.Applications {
		if len(app.Earlier) > 0 {
			d.Earlier = append(d.Earlier, app)
		}
	}
	for _, c := range f.Components {
		switch {
		case !c.Chart.Remote():
		case c.Vendored:
			d.Vendored = append(d.Vendored, c.Name)
		default:
			d.Addresses = append(d.Addresses, c.Chart.RepoURL)
		}
	}
	slices.Sort(d.Addresses)
	d.Addresses = slices.Compact(d.Addresses)
	var b bytes.Buffer
	if err := templatePatch.Execute(&b, d); err != nil {
		panic(err) // the template names fields of d only, and memory takes all
	}
	return b.String()
}

// Difference is where a committed manifest is not as it would be written now.
type Difference struct {
	// Line is that of the committed file; 0 if it lacks the entry.
	Line int
	// Path is the entry, such as "spec.strategy.rollingSync.steps[3]".
	Path    string
	Message string
}

// Differences compares manifests with the text of a file, apart from comments
// and layout.
func Differences(text string, now []Manifest) ([]Difference, error) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	byName := map[string]*yaml.Node{}
	var names []string
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if err != nil {
			if err.Error() == "EOF" {
				break
			}
			_, message := object.SyntaxError(err)
			return nil, errors.New(message)
		}
		if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
			continue
		}
		name := identity(doc.Content[0])
		byName[name], names = doc.Content[0], append(names, name)
	}
	var all []Difference
	for _, m := range now {
		name := identity(m.node)
		old, there := byName[name]
		if !there {
			all = append(all, Difference{Message: "there is no " + name})
			continue
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == name })
		differ("", old, m.node, &all)
	}
	for _, name := range names {
		all = append(all, Difference{Line: byName[name].Line, Message: name + " is no part of it any more"})
	}
	return all, nil
}

func identity(n *yaml.Node) string {
	m := Manifest{node: n}
	text := func(keys ...string) string {
		if at := m.at(keys...); at != nil {
			return at.Value
		}
		return ""
	}
	return text("kind") + " " + text("metadata", "namespace") + "/" + text("metadata", "name")
}

// added is what somebody wrote by hand. But for steps it is not quoted: it may be a
// variable with a password.
func added(path string, n *yaml.Node) string {
	if strings.HasPrefix(path, ".spec.strategy.") {
		return short(n)
	}
	return "there"
}

func differ(path string, old, now *yaml.Node, all *[]Difference) {
	for old.Kind == yaml.AliasNode {
		old = old.Alias
	}
	say := func(line int, at, message string) {
		*all = append(*all, Difference{line, strings.TrimPrefix(at, "."), message})
	}
	if old.Kind != now.Kind {
		say(old.Line, path, "it is "+short(old)+", and would be "+short(now))
		return
	}
	switch now.Kind {
	case yaml.ScalarNode:
		if old.Value != now.Value || old.ShortTag() != now.ShortTag() {
			say(old.Line, path, "it is "+short(old)+", and would be "+short(now))
		}
	case yaml.SequenceNode:
		for i := range max(len(old.Content), len(now.Content)) {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case i >= len(old.Content):
				say(0, at, "it is missing, and would be "+short(now.Content[i]))
			case i >= len(now.Content):
				say(old.Content[i].Line, at, "it is "+added(at, old.Content[i])+", and would be gone")
			default:
				differ(at, old.Content[i], now.Content[i], all)
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(now.Content); i += 2 {
			key := now.Content[i].Value
			if was := below(old, key); was != nil {
				differ(path+"."+key, was, now.Content[i+1], all)
			} else {
				say(0, path+"."+key, "it is missing, and would be "+short(now.Content[i+1]))
			}
		}
		for i := 0; i+1 < len(old.Content); i += 2 {
			if key := old.Content[i]; below(now, key.Value) == nil {
				say(key.Line, path+"."+key.Value, "it is "+added(path, old.Content[i+1])+", and would be gone")
			}
		}
	}
}

// below is what stands at a key of a mapping, or at an index of a list.
func below(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(key); err == nil && i < len(n.Content) {
			return n.Content[i]
		}
		return nil
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// short says a value in a few words.
func short(n *yaml.Node) string {
	text := n.Value
	if n.Kind != yaml.ScalarNode {
		text = flowText(n)
	} else if n.ShortTag() == "!!str" {
		text = strconv.Quote(text)
	}
	if runes := []rune(text); len(runes) > 80 {
		return string(runes[:79]) + "…"
	}
	return text
}

// flowText writes a list or mapping in one line.
func flowText(n *yaml.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.SequenceNode:
		for _, c := range n.Content {
			parts = append(parts, flowText(c))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, n.Content[i].Value+": "+flowText(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return n.Value
}
