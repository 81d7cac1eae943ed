package live

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	argo "github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// products are facts about the status of custom resources that no convention says.
//
//go:embed products.yaml
var productsText []byte

// product is what is particular about the status of a kind.
type product struct {
	// Kind is the kind in kubectl's form; "*.group" are all kinds of a group.
	Kind string `yaml:"kind"`
	// Owns are kinds that such an object makes to do its work, by owner reference.
	Owns []owned `yaml:"owns"`
	// States are values of a field that mean something.
	States []state `yaml:"states"`
	// Leads are objects that the status names.
	Leads  []lead `yaml:"leads"`
	Source string `yaml:"source"`
}

// owned is a kind to list in the namespace of its owner: in kubectl's form.
type owned struct{ Group, Kind string }

func (k *owned) UnmarshalYAML(node *yaml.Node) error {
	k.Kind, k.Group, _ = strings.Cut(node.Value, ".")
	return nil
}

// lead is an object that another one names.
type lead struct {
	At string `yaml:"at"` // the path of a name, or of a mapping with a name
	To string `yaml:"to"` // the kind in kubectl's form
}

func (l lead) of(o object.Object) object.ID {
	v := at(o.Root(), l.At)
	kind, group, _ := strings.Cut(l.To, ".")
	id := object.ID{Group: group, Kind: kind, Namespace: o.ID.Namespace, Name: cmp.Or(v.Get("name").Text(), v.Text())}
	if strings.HasSuffix(kind, "Class") || kind == "PersistentVolume" {
		id.Namespace = ""
	}
	return id
}

// state says what a value of a field, or a reason of a condition, means.
type state struct {
	At     string   `yaml:"at"`
	Reason []string `yaml:"reason"`
	Is     []string `yaml:"is"`
	Detail string   `yaml:"detail"`
	Rule   string   `yaml:"rule"`
	Text   string   `yaml:"text"`
	Fix    string   `yaml:"fix"`
	// Evidence is Condition if it says nothing else.
	Evidence *Evidence `yaml:"evidence"`
	// Because is the object behind it, with fields of this one.
	Because reference `yaml:"because"`
	// Command is what to type; by default kubectl describe.
	Command string `yaml:"command"`
	// Lasts is how many seconds the state is normal for.
	Lasts int64 `yaml:"lasts"`
}

var products = read[[]product](productsText)

// leads returns the objects that the status of an object names.
func leads(o object.Object) (all []object.ID) {
	for _, p := range productsOf(o.ID) {
		for _, l := range p.Leads {
			if id := l.of(o); id.Name != "" && !strings.HasPrefix(l.At, "spec.") { // the graph has those of the spec
				all = append(all, id)
			}
		}
	}
	return all
}

// Groups returns the groups of custom resources that are listed, sorted. deploy/why/clusterrole.yaml
// grants them, which a test of live/cluster compares.
func Groups() (all []string) {
	for _, p := range products() {
		kind, group, _ := strings.Cut(p.Kind, ".")
		if _, builtin := KindOf(group, kind); !builtin && kind != "*" && group != "" {
			all = append(all, group)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// productsOf returns what is particular about a kind.
func productsOf(id object.ID) (all []product) {
	for _, p := range products() {
		suffix, wild := strings.CutPrefix(p.Kind, "*.")
		if p.Kind == id.GroupKind() || wild && (id.Group == suffix || strings.HasSuffix(id.Group, "."+suffix)) {
			all = append(all, p)
		}
	}
	return all
}

// isCustom reports whether an object is a custom resource of an operator.
func (s *scene) isCustom(id object.ID) bool {
	return id.Group != "" && !s.base.Builtin(id.Group) && id.Group != argo.Group ||
		id.Group == argo.Group && !strings.HasPrefix(id.Kind, "App")
}

func at(v object.Value, path string) object.Value { return v.Get(strings.Split(path, ".")...) }

// customResource reads the status of a custom resource: what products.yaml says of it, else its
// conditions, as all operators write them.
func customResource(s *scene, o object.Object) []Cause {
	for _, p := range productsOf(o.ID) {
		for _, st := range p.States {
			if cause, ok := s.inState(o, st); ok {
				return []Cause{s.withEvent(o, cause)}
			}
		}
	}
	if !s.isCustom(o.ID) {
		return nil
	}
	generation := number(o.Get("metadata", "generation"), 0)
	for _, c := range conditionsOf(o) {
		bad := (c.status == "False" || c.status == "Unknown") &&
			slices.Contains([]string{"Ready", "Synced", "Available", "Established", "Healthy", "Accepted", "Programmed",
				"Reconciled", "ResolvedRefs", "ReconcileSuccess", "QuotaReserved", "Admitted", "Scheduled"}, c.kind) ||
			c.status == "True" && slices.Contains([]string{"Stalled", "Degraded", "Failed", "Error", "ReconcileError"}, c.kind)
		bad = bad || c.status == "False" && strings.HasSuffix(c.kind, "Ready") && conditionOf(o, "Ready").status == "False"
		if !bad || c.reason == "" && c.message == "" || c.reason == "RolloutHealthy" { // that of a Rollout is False while it goes on
			continue
		}
		patience := int64(aWhile)
		if c.status == "Unknown" { // its controller is at work, or there is none
			patience *= 2
		}
		what := c.reason
		if c.message != "" {
			what = c.message
		}
		cause := Cause{Rule: "condition", Text: "is not ready: " + what,
			Proof: said("condition "+c.kind+":", c.reason, c.message), Evidence: Condition,
			IsYoung: s.lasted(o, c) < patience && !soundsFinal(c.reason+" "+c.message) ||
				number(o.Get("status", "observedGeneration"), generation) < generation,
			Fix: "repair what the message names; its controller tries again by itself", Command: kubectl("describe", o.ID)}
		return []Cause{s.withEvent(o, s.blame(cause, c.message, o))}
	}
	phase, message := o.Get("status", "phase").Text(), oneLine(o.Get("status", "message").Text())
	if message == "" || !slices.Contains([]string{"Pending", "Waiting", "Blocked", "Failed", "Error"}, phase) {
		return nil
	}
	return []Cause{{Rule: "phase", Text: "is " + phase + ": " + message, Proof: said("status.phase:", phase, message),
		Evidence: Condition, IsYoung: s.created(o) < aWhile && !soundsFinal(phase),
		Fix: "see in this message what it waits for", Command: kubectl("describe", o.ID)}}
}

// withEvent adds to a cause what the controller says in its last Event, which often has the error
// that the condition only mentions.
func (s *scene) withEvent(o object.Object, c Cause) Cause {
	const most = 300
	if !s.isCustom(o.ID) || !c.Because.IsZero() {
		return c
	}
	for _, e := range s.eventsOf(o.ID) {
		if e.kind == "Warning" && s.Now-e.last < longWhile && !strings.Contains(c.Text+c.Proof, e.message) &&
			!strings.Contains(e.message, "deletionTimestamp") {
			c.Text, c.Proof = c.Text+": "+finding.CutMiddle(e.message, most), said(o.ID.String()+":", e.reason, e.message)
			return s.blame(c, e.message, o)
		}
	}
	return c
}

// lasted returns how long a condition has been as it is, at most as long as its object exists.
func (s *scene) lasted(o object.Object, c condition) int64 {
	if since := s.age(c.since); since > 0 {
		return min(since, s.created(o))
	}
	return s.created(o)
}

// blame adds to a cause the object that a message is about, and says so if it does not exist.
func (s *scene) blame(c Cause, message string, o object.Object) Cause {
	isGone := false
	if c.Because, _ = missingIn(message, o.ID.Namespace); c.Because.IsZero() {
		c.Because, isGone = s.namedIn(message, o)
	}
	if c.Because.IsZero() {
		c.Because = cmp.Or(s.unreadyReference(o), s.downIn(message))
	}
	if isGone || s.isAbsent(c.Because) {
		if !strings.Contains(c.Text, "not found") && !strings.Contains(c.Text, "not exist") {
			c.Text += ": " + c.Because.String() + " does not exist"
		}
		c.Rule, c.Fix = "missing-object", "create "+c.Because.String()+", or correct the name in the manifest"
	}
	return c
}

// unreadyReference returns the managed resource of Crossplane that another one refers to in
// spec.forProvider, and that is not synced: the name of the field ends in that of the kind, and Ref.
func (s *scene) unreadyReference(o object.Object) object.ID {
	for _, f := range o.Get("spec", "forProvider").Fields() {
		kind, ok := strings.CutSuffix(strings.ToLower(f.Key), "ref")
		kind = strings.TrimSuffix(strings.TrimSuffix(kind, "name"), "id")
		for _, id := range s.sorted {
			if ok && id != o.ID && id.Name == f.Value.Get("name").Text() && s.isCustom(id) &&
				strings.HasSuffix(kind, strings.ToLower(id.Kind)) && conditionOf(s.objects[id], "Synced").status == "False" {
				return id
			}
		}
	}
	return object.ID{}
}

// soundsFinal reports whether a message is about an error, not about progress.
func soundsFinal(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"error", "fail", "not found", "invalid", "denied", "forbidden", "could not", "cannot",
		"unauthorized", "missing"}, func(w string) bool { return strings.Contains(text, w) })
}

// maxDetail limits what an object says of itself in a line.
const maxDetail = 300

// inState compares an object with a state of its product.
func (s *scene) inState(o object.Object, st state) (cause Cause, ok bool) {
	var proof, since string
	detail := oneLine(at(o.Root(), st.Detail).Text())
	if kind, is := strings.CutPrefix(st.At, "condition "); is {
		c := conditionOf(o, kind)
		if !slices.Contains(st.Is, c.status) || len(st.Reason) > 0 && !slices.Contains(st.Reason, c.reason) {
			return cause, false
		}
		proof, since, detail = said("condition "+kind+":", c.reason, c.message), c.since, c.message
	} else if reason, is := strings.CutPrefix(st.At, "event "); is {
		events := s.eventsOf(o.ID, reason)
		if len(events) == 0 || len(conditionsOf(o)) > 0 {
			return cause, false
		}
		proof, detail = said(o.ID.String()+":", reason, events[0].message), events[0].message
	} else {
		value := at(o.Root(), st.At)
		if list := value.Items(); len(list) > 0 {
			value = list[0].Get("reason")
		}
		if !slices.ContainsFunc(st.Is, func(is string) bool { return is == value.Text() || is == "*" && value.Text() != "" }) {
			return cause, false
		}
		if st.Rule == "suspended" && isTimed(o) {
			return cause, false
		}
		proof = said(st.At+":", value.Text(), detail)
		detail = cmp.Or(detail, value.Text())
	}
	text := strings.TrimSuffix(filled(strings.ReplaceAll(st.Text, "{detail}", finding.CutMiddle(detail, maxDetail)), o), ": ")
	cause = Cause{Rule: st.Rule, Text: text, Proof: proof, Evidence: Condition, Fix: st.Fix,
		Command: cmp.Or(filled(st.Command, o), kubectl("describe", o.ID)),
		IsYoung: st.Lasts > 0 && cmp.Or(s.age(since), s.created(o)) < st.Lasts}
	if st.Evidence != nil {
		cause.Evidence = *st.Evidence
	}
	if cause.Because = st.Because.of(o, func(template string) string { return filled(template, o) }); !cause.Because.IsZero() {
		return cause, true
	}
	cause = s.blame(cause, proof, o)
	if cause.Because.IsZero() && detail != "" && strings.HasPrefix(st.At, "condition ") && s.isCustom(o.ID) &&
		!strings.Contains(st.Text, "{detail}") {
		cause.Text += ": " + finding.CutMiddle(detail, maxDetail)
	}
	return cause, true
}

// withoutController finds custom resources that nobody has looked at: their operator does not
// run. Which workload it is, the graph says.
func withoutController(s *scene, o object.Object) []Cause {
	if !s.isCustom(o.ID) || s.created(o) < 2*briefly || isTerminating(o) {
		return nil
	}
	kind, _ := s.base.Kind(o.ID.Group, o.ID.Kind)
	status := o.Get("status")
	if len(kind.Health) == 0 && kind.Status == nil && !status.Exists() && len(productsOf(o.ID)) == 0 {
		return nil // it may have no status at all
	}
	observed := number(status.Get("observedGeneration"), -1) // -1: none, or a hash
	stale := observed >= 0 && observed < number(o.Get("metadata", "generation"), 0)
	if !stale && (len(status.Fields()) > 0 || len(s.eventsOf(o.ID)) > 0) { // Events are its operator's
		return nil
	}
	proof := o.ID.String() + " has no status"
	if stale {
		proof = o.ID.String() + ": status.observedGeneration is older than metadata.generation"
	}
	cause := Cause{Rule: "operator-absent", Text: "is not looked at by its operator", Proof: proof, Evidence: Appearance,
		Fix: "install the operator of " + o.ID.GroupKind() + ", or start it", Command: kubectl("describe", o.ID)}
	by, found := s.operatorOf(o)
	switch {
	case found:
		cause.Because = by
		cause.Text = "is not looked at by its operator, " + by.String()
		if text, ok := s.shortOf(by); ok {
			cause.Text = "is not looked at, because its operator does not run: " + by.String() + " " + text
			cause.Evidence, cause.Fix, cause.Command = Missing, "repair the operator", kubectl("describe", by)
		}
	case s.listedOperators():
		if _, from := s.base.Origin(o.ID.Group, o.ID.Kind); len(from) > 0 {
			cause.Fix = "install the operator, such as with the package " + packageNames(from)
		}
	}
	return []Cause{cause}
}

func packageNames(from []knowledge.Package) string {
	var names []string
	for _, p := range from[:min(len(from), 2)] {
		names = append(names, p.Name)
	}
	return strings.Join(names, " or ")
}

// isTimed reports whether the canary pauses for a while, not until somebody promotes it.
func isTimed(o object.Object) bool {
	steps, i := o.Get("spec", "strategy", "canary", "steps").Items(), number(o.Get("status", "currentStepIndex"), -1)
	return number(o.Get("spec", "strategy", "blueGreen", "autoPromotionSeconds"), 0) > 0 || i >= 0 && i < len(steps) &&
		steps[i].Get("pause", "duration").Exists()
}

// claimsHealthy finds objects that say they are ready while Argo CD goes on waiting.
func claimsHealthy(s *scene, o object.Object) []Cause {
	if s.awaitedFor(o.ID) < aWhile {
		return nil
	}
	if o.ID.GroupKind() == "Deployment.apps" {
		return s.staleCache(o)
	}
	if !s.isCustom(o.ID) {
		return nil
	}
	ready := conditionOf(o, "Ready")
	if ready.status != "True" || s.age(ready.since) < aWhile ||
		slices.ContainsFunc(conditionsOf(o), func(c condition) bool { return c.status == "False" && c.kind != ready.kind }) {
		return nil
	}
	return []Cause{{Rule: "health-check", Text: "says that it is ready, but Argo CD's health check does not say Healthy",
		Proof: said("condition Ready:", "True", ready.message), Evidence: Condition,
		Fix: "correct resource.customizations.health." + o.ID.Group + "_" + o.ID.Kind +
			" in argocd-cm; if it has none, refresh the Application, whose cache is stale", Command: argocd("get", s.Application, "--hard-refresh")}}
}

// staleCache finds a Deployment that is complete while Argo CD goes on waiting: its controller has
// missed the change.
func (s *scene) staleCache(o object.Object) []Cause {
	want, status, available := number(o.Get("spec", "replicas"), 1), o.Get("status"), conditionOf(o, "Available")
	for _, count := range []string{"readyReplicas", "updatedReplicas", "availableReplicas"} {
		if number(status.Get(count), 0) < want {
			return nil
		}
	}
	if available.status != "True" || s.age(available.since) < aWhile || number(status.Get("replicas"), 0) > want ||
		o.Get("spec", "paused").True() {
		return nil
	}
	return []Cause{{Rule: "stale-cache", Text: "is complete, but Argo CD has not noticed",
		Proof: said("condition Available:", available.reason, "since "+available.since), Evidence: Condition,
		Fix:     "refresh the Application; if that does not help, restart the application controller",
		Command: argocd("get", s.Application, "--hard-refresh")}}
}
