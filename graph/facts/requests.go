package facts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Annotations by which users order objects. Those of other tools keep their
// meaning.
const (
	// After lists objects that must be healthy first, as Kind/name or
	// Kind/namespace/name, with the group after the kind if needed.
	After = object.Prefix + "after"
	// NotAfter lists objects that need not be healthy first, regardless of the
	// manifests; same format as After.
	NotAfter = object.Prefix + "not-after"
	// OnRung assigns an object to a rung.
	OnRung = object.Prefix + "rung"
	// Expects lists what the object finds outside of the component; see ReadExpected.
	Expects = object.Prefix + "expects"
	// dependsOn is an annotation of kustomize and cli-utils (sigs.k8s.io/cli-utils
	// pkg/object/dependson).
	dependsOn = "config.kubernetes.io/depends-on"
	// kapp's groups and rules may have a suffix (carvel kapp pkg/kapp/diffgraph).
	kappGroup = "kapp.k14s.io/change-group"
	kappRule  = "kapp.k14s.io/change-rule"
	// nelmDependency is a prefix, followed by an arbitrary name (werf/nelm,
	// werf.io/docs).
	nelmDependency = "werf.io/deploy-dependency-"
)

// Requests is what users ask for in annotations.
type Requests struct {
	// Orders are pairs of which the first comes after the second.
	Orders []Order
	// Exceptions map pairs of which the first need not wait for the second to the
	// annotation that says so.
	Exceptions map[[2]int]string
	// Rungs are the rungs that users assigned.
	Rungs []RequestedRung
	// Expected are the entries of Expects, by node.
	Expected map[int][]Expected
	// Faults are invalid annotations.
	Faults []finding.Finding
}

// Order says that From comes after To.
type Order struct {
	From, To int
	// Key is the annotation.
	Key string
	// Exists means that To need only exist; otherwise it must be healthy.
	Exists bool
}

// RequestedRung is the rung that an annotation assigns to a node.
type RequestedRung struct {
	Node      int
	Rung, Key string
}

type requestFacts struct{ requested memo[Requests] }

// Requests returns what users ask for in annotations.
func (f *Facts) Requests() *Requests {
	if !f.requested.known {
		r := requestReader{Facts: f, Requests: Requests{Exceptions: map[[2]int]string{}, Expected: map[int][]Expected{}}}
		r.readAll()
		f.requested.get(func() Requests { return r.Requests })
	}
	return &f.requested.value
}

// requestReader reads the annotations.
type requestReader struct {
	*Facts
	Requests
}

func (r *requestReader) readAll() {
	groups := map[string][]int{}
	for i, n := range r.Nodes {
		for _, field := range n.Get("metadata", "annotations").Fields() {
			if field.Key == kappGroup || strings.HasPrefix(field.Key, kappGroup+".") {
				groups[field.Value.Text()] = append(groups[field.Value.Text()], i)
			}
		}
	}
	for i, n := range r.Nodes {
		annotations := n.Get("metadata", "annotations")
		for _, field := range annotations.Fields() {
			name, text := field.Key, field.Value.Text()
			switch {
			case name == After:
				r.eachListed(i, field.Key, text, r.readAfter, r.addOrder)
			case name == NotAfter:
				r.eachListed(i, field.Key, text, r.readAfter, r.addException)
			case name == Expects:
				r.addExpected(i, field.Key, text)
			case name == OnRung:
				r.addRung(i, field.Key, text)
			case name == dependsOn:
				r.eachListed(i, field.Key, text, r.readDependsOn, r.addOrder)
			case name == kappRule || strings.HasPrefix(name, kappRule+"."):
				r.addKappRule(i, field.Key, text, groups)
			case strings.HasPrefix(name, nelmDependency):
				r.addNelm(i, field.Key, text)
			case strings.HasPrefix(name, object.Prefix) && name != object.Why:
				r.Faults = append(r.Faults, r.fault(i, field.Key, name, "unknown annotation",
					"use "+After+", "+NotAfter+", "+Expects+" or "+OnRung).Asking(finding.Suggest(name, []string{After, NotAfter, Expects, OnRung})))
			}
		}
	}
}

// addOrder makes one node wait until another is healthy.
func (r *requestReader) addOrder(from, to int, key string) {
	r.Orders = append(r.Orders, Order{From: from, To: to, Key: key})
}

// addException records that one node need not wait for another.
func (r *requestReader) addException(from, to int, key string) {
	r.Exceptions[[2]int{from, to}] = key
}

// eachListed reads an annotation with a comma-separated list of objects and calls a
// function for each.
func (r *requestReader) eachListed(i int, key, text string, read func(i int, name string) (object.ID, bool),
	do func(from, to int, key string)) {
	for _, name := range object.SplitList(text) {
		id, ok := read(i, name)
		if !ok {
			r.reject(i, key, name, object.QuoteName(name)+" is not the name of an object",
				"use Kind/name or Kind/namespace/name, such as Deployment/web")
			continue
		}
		nodes := r.Match(id)
		if len(nodes) == 0 {
			r.reject(i, key, name, fmt.Sprintf("%s not found in the component", name), "correct or remove the name")
		}
		if slices.Equal(nodes, []int{i}) {
			r.reject(i, key, name, fmt.Sprintf("%s is the object itself", name), "name another object, or remove it")
		}
		for _, to := range nodes {
			do(i, to, key)
		}
	}
}

// readAfter reads Kind/name, Kind/namespace/name or Kind.group/name.
func (r *requestReader) readAfter(i int, name string) (object.ID, bool) {
	parts := strings.Split(name, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return object.ID{}, false
	}
	id := object.ID{Group: "*", Namespace: r.Nodes[i].Key.Namespace, Kind: parts[0], Name: parts[len(parts)-1]}
	if kind, group, ok := strings.Cut(parts[0], "."); ok {
		id.Kind, id.Group = kind, group
	}
	id.Kind = knowledge.FullKind(id.Kind)
	if id.Namespace == "" {
		id.Namespace = "*"
	}
	if len(parts) == 3 {
		id.Namespace = parts[1]
	}
	return id, true
}

// readDependsOn reads group/namespaces/namespace/Kind/name or group/Kind/name.
func (r *requestReader) readDependsOn(_ int, name string) (object.ID, bool) {
	parts := strings.Split(name, "/")
	switch {
	case len(parts) == 5 && parts[1] == "namespaces":
		return object.ID{Group: parts[0], Namespace: parts[2], Kind: parts[3], Name: parts[4]}, true
	case len(parts) == 3:
		return object.ID{Group: parts[0], Namespace: "*", Kind: parts[1], Name: parts[2]}, true
	}
	return object.ID{}, false
}

// addKappRule reads "upsert after upserting GROUP" and "upsert before upserting
// GROUP". Rules about deletion do not affect a sync.
func (r *requestReader) addKappRule(i int, key, text string, groups map[string][]int) {
	words := strings.Fields(text)
	if len(words) != 4 || words[0] != "upsert" || words[2] != "upserting" {
		return
	}
	for _, other := range groups[words[3]] {
		switch words[1] {
		case "after":
			r.addOrder(i, other, key)
		case "before":
			r.addOrder(other, i, key)
		}
	}
}

// addNelm reads "state=ready,kind=Deployment,name=web,namespace=shop". Targets outside
// the component are ignored.
func (r *requestReader) addNelm(i int, key, text string) {
	id := object.ID{Group: "*", Namespace: r.Nodes[i].Key.Namespace}
	exists := false
	for _, part := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "state":
			exists = exists || value == "present"
		case "kind":
			id.Kind = value
		case "name":
			id.Name = value
		case "group":
			id.Group = value
		case "namespace":
			id.Namespace = value
		}
	}
	for _, to := range r.Match(id) {
		r.Orders = append(r.Orders, Order{From: i, To: to, Key: key, Exists: exists})
	}
}

func (r *requestReader) addExpected(i int, key, text string) {
	for _, entry := range object.SplitList(text) {
		e, ok := ReadExpected(entry)
		if !ok {
			r.reject(i, key, entry, object.QuoteName(entry)+" is neither an object nor an API group", HowToExpect)
			continue
		}
		r.Requests.Expected[i] = append(r.Requests.Expected[i], e)
	}
}

func (r *requestReader) addRung(i int, key, rung string) {
	if _, ok := r.Base.Rung(rung); !ok {
		var names []string
		for _, known := range r.Base.Rungs() {
			names = append(names, known.Name)
		}
		r.Faults = append(r.Faults, r.fault(i, key, rung, "unknown rung "+object.QuoteName(rung),
			"use a rung of docs/waves.md#rungs").Asking(finding.Suggest(rung, names)))
		return
	}
	r.Rungs = append(r.Rungs, RequestedRung{i, rung, key})
}

func (r *requestReader) reject(i int, key, about, message, remedy string) {
	r.Faults = append(r.Faults, r.fault(i, key, about, message, remedy))
}

func (r *requestReader) fault(i int, key, about, message, remedy string) finding.Finding {
	n := r.Nodes[i]
	return finding.Finding{Severity: finding.Error, Rule: "bad-annotation", File: n.File, Line: n.Line, Object: n.Key.String(),
		Field: AnnotationField(key), About: about, Message: message, Remedy: remedy}
}

// AnnotationField returns the field of an annotation.
func AnnotationField(key string) string { return "metadata.annotations[" + key + "]" }
