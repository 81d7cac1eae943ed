package graph

import (
	"cmp"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Reference says what From needs of To. Both are indexes into Graph.Nodes.
//
// There are three answers: From needs To, may need it, or does not. Package wave reads
// nothing else: only what is needed can make a wait (see the table in wave/effects.go).
type Reference struct {
	From, To int
	// Field is the field of From with the reference, such as
	// "spec.template.spec.volumes[0].secret". It begins with the path of the Pod template
	// only if the reference is about the Pods, which may start later than From is applied.
	Field string
	Need  Need
	Until State
	Fails Fails
	Sign  Sign
	// Unless says when From works without To although Fails is Refused or Stops; empty if
	// it never does.
	Unless string
	// Why is the verb of a sentence: From, why, To.
	Why string
	// Because is a sentence with more details; empty if Why is sufficient.
	Because string
	// Source is where the fact can be looked up: a URL, which the rule or its record names.
	Source string
	// Product is the object that To writes at run time and From reads, if any.
	Product object.ID
}

// Need says whether From needs To.
type Need uint8

const (
	// Needs: From does not work as it should before To is in the state of Until.
	Needs Need = iota
	// MayNeed: the manifests point to To, and From may work without it.
	MayNeed
	// NeedsNot: From names To and certainly does not need it, such as a Certificate the
	// Secret that it writes.
	NeedsNot
)

func (n Need) String() string { return [...]string{"needs", "may need", "needs not"}[n] }

// State is the state of To that From needs.
type State uint8

const (
	// Exists: To must have been applied.
	Exists State = iota
	// Healthy: To must be healthy.
	Healthy
	// Together: To must be there while From starts; neither can be ready long before
	// the other.
	Together
)

func (s State) String() string { return [...]string{"exists", "healthy", "together"}[s] }

// Fails says what happens to From if To is not in the state of Until.
type Fails uint8

const (
	// Degrades: From tries again, and reports a failure until To is there if its kind can.
	Degrades Fails = iota
	// Waits: From waits, and reports no failure.
	Waits
	// Lacks: From works and can be healthy, and only lacks what To gives it.
	Lacks
	// ReportsFailure: From tries again after a while, and certainly reports a failure until then.
	ReportsFailure
	// WrongData: From works with data that is not ready.
	WrongData
	// Unchanged: the Pods of From start without the change that To makes to them, and nothing
	// replaces them.
	Unchanged
	// Stops: From, or its Pods, cannot start or exit, and do not recover by themselves.
	Stops
	// Refused: the API server refuses From.
	Refused
)

func (f Fails) String() string {
	return [...]string{"degrades", "waits", "lacks", "reports a failure", "wrong data", "unchanged", "stops", "refused"}[f]
}

// Sign says what shows a reference. Signs are sorted by authority: a later one says more
// about two objects than an earlier one. The zero value is no sign.
type Sign uint8

const (
	// HelmOrder: Helm applies To in an earlier step than From, both hooks or one of them. It
	// yields to whatever shows that From or To needs the other one (package hooks).
	HelmOrder Sign = iota + 1
	// Beside: To keeps data in the namespace of From, a program that may use it, although
	// nothing points to it.
	Beside
	// Word: a text that From reads contains the name of To.
	Word
	// Companion: To belongs to From, a controller, which may need it.
	Companion
	// Name: a variable, argument or script of From contains the name of To.
	Name
	// Configuration: a variable or argument of From is the name of To, which From
	// reconciles or changes.
	Configuration
	// Image: From runs the image of To, or uses what To prepares.
	Image
	// Field: a text in the spec of From, a custom resource, leads to To.
	Field
	// Address: likewise, in a field that holds addresses.
	Address
	// Class: a class names To, or a program like it, as its provider.
	Class
	// Permission: RBAC allows From to write, read or reconcile what leads to To.
	Permission
	// Call: variables, arguments or files of From lead to To.
	Call
	// Try: a container of From tries to reach To for a while, or seems to wait for it.
	Try
	// Registration: a webhook configuration that is applied between its backend and
	// the first object that it admits, so that connections reach the backend by
	// then.
	Registration
	// Convention: a field of From has a conventional key or structure, or a description,
	// that says what it names.
	Convention
	// Installation: To may install the kind of which From creates objects.
	Installation
	// Package: To installs a package that is known for what From needs.
	Package
	// Wait: a container of From does not go on before To responds.
	Wait
	// Record: a record, or a rule that is as certain, says what a field of From means.
	Record
	// Schema: the Kubernetes API itself demands it, for namespaces, CRDs and
	// conversions.
	Schema
	// Webhook: the rules of a webhook that To serves match From.
	Webhook
	// Annotation: a user ordered the two objects in an annotation (facts.Requests).
	Annotation
)

var signs = [...]string{"none", "helm-order", "beside", "word", "companion", "name", "configuration", "image", "field", "address",
	"class", "permission", "call", "try",
	"registration", "convention", "installation", "package", "wait", "record", "schema", "webhook", "annotation"}

func (s Sign) String() string { return signs[s] }

// IsInferred reports whether the sign is a convention or a hint, not a certain fact.
func (s Sign) IsInferred() bool { return s != 0 && s < Package }

// Inferred reports whether the reference is based on a convention or a hint, not on a
// certain fact.
func (r *Reference) Inferred() bool { return r.Sign.IsInferred() }

// Explicit reports whether a user wrote the reference, in an annotation.
func (r *Reference) Explicit() bool { return r.Sign == Annotation }

// IsHard reports whether From cannot be applied, or fails for good, without To itself.
// What To only makes at run time may also come from elsewhere.
func (r *Reference) IsHard() bool {
	switch {
	case r.Fails != Refused && r.Fails != Stops:
		return false
	case r.Until == Exists:
		return true
	}
	return !r.Inferred() && r.Sign != Package && r.Product.IsZero()
}

// IsCertain reports whether From is certainly refused, or certainly does not become healthy,
// before To is in the state of Until. Only what is certain makes an error: hints, what From
// can be healthy without, and what depends on the cluster do not.
func (r *Reference) IsCertain() bool {
	return r.Need == Needs && !r.Inferred() && r.Fails != Lacks && r.Unless == ""
}

// Fields of references to namespaces, kinds and webhooks, which all objects have.
const (
	kindField      = "kind"
	namespaceField = "metadata.namespace"
	webhooksField  = "webhooks"
)

// IsAboutKind reports whether To makes the kind of From available: its CRD, or its
// controller or operator.
func (r *Reference) IsAboutKind() bool { return r.Field == kindField }

// IsAboutNamespace reports whether To is or creates the namespace of From.
func (r *Reference) IsAboutNamespace() bool { return r.Field == namespaceField }

// IsAboutWebhook reports whether To is the backend of a webhook that admits From.
func (r *Reference) IsAboutWebhook() bool { return r.Field == webhooksField }

// Detail returns the text to append to the sentence of a reference, if any.
func (r Reference) Detail() string {
	if r.Because == "" {
		return ""
	}
	return ": " + r.Because
}

// compare orders references by their objects. It is a total order.
func (r *Reference) compare(o *Reference) int {
	if r.From != o.From || r.To != o.To { // most pairs have one reference
		return cmp.Or(cmp.Compare(r.From, o.From), cmp.Compare(r.To, o.To))
	}
	return cmp.Or(cmp.Compare(r.Need, o.Need), cmp.Compare(r.Until, o.Until), strings.Compare(r.Field, o.Field),
		strings.Compare(r.Why, o.Why), strings.Compare(r.Because, o.Because),
		cmp.Compare(r.Sign, o.Sign), cmp.Compare(r.Fails, o.Fails),
		strings.Compare(r.Unless, o.Unless), strings.Compare(r.Source, o.Source), facts.CompareIDs(r.Product, o.Product))
}

// ofRecord returns the reference that a record makes of a mention, without its target.
func ofRecord(m *facts.Mention) Reference {
	rec := m.Record
	r := Reference{From: m.From, Field: m.Field, Sign: Record, Why: rec.Why, Source: rec.Source}
	r.Need, r.Until = meaningOf(rec.Meaning)
	if m.Leads() {
		r.Need, r.Until = Needs, Exists // the Service only leads to the workload
	}
	switch {
	case rec.Hard && !m.Optional:
		r.Fails, r.Unless = Stops, rec.Unless
	default:
		r.Fails = failsSoftly(rec)
	}
	if m.Optional && r.Need == Needs {
		r.Need = MayNeed
	}
	if rec.Inferred {
		r.Sign = Convention
	}
	if r.Inferred() && r.Need == Needs && r.Until == Exists {
		r.Need = MayNeed
	}
	return r
}

// failsSoftly says what happens to an object that tries again.
func failsSoftly(rec *knowledge.Reference) Fails {
	switch {
	case rec.Soft:
		return Lacks
	case rec.StaysProgressing:
		return Waits
	case rec.Degrades:
		return ReportsFailure
	}
	return Degrades
}

// meaningOf translates the meaning of a record.
func meaningOf(m knowledge.Meaning) (Need, State) {
	switch m {
	case knowledge.Healthy:
		return Needs, Healthy
	case knowledge.With:
		return Needs, Together
	case knowledge.NoOrder:
		return MayNeed, Together
	case knowledge.Produces:
		return NeedsNot, Exists
	}
	return Needs, Exists
}

// inferred returns a reference that is not based on a record. From may need what only has
// to exist, unless a container waits for it.
func inferred(f *facts.Facts, from, to int, field string, sign Sign, until State, why string) Reference {
	r := Reference{From: from, To: to, Field: field, Until: until, Sign: sign, Why: why, Source: f.Base.NamesSource()}
	if until == Exists && sign != Try {
		r.Need = MayNeed
	}
	return r
}

// Answer is what From needs of To in a few words, such as "needs healthy".
func (r *Reference) Answer() string {
	if r.Need != Needs || r.Until == Exists {
		return r.Need.String()
	}
	return r.Need.String() + " " + r.Until.String()
}
