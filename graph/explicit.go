package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/nearest"
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
	// deprecatedPrefix is the prefix that these annotations had first. It still works.
	deprecatedPrefix = "ladder/"
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

// referByAnnotation adds the references and roles that users wrote in annotations,
// which take precedence over others.
func (b *builder) referByAnnotation() {
	groups := map[string][]int{}
	for i, n := range b.Nodes {
		for _, f := range n.Get("metadata", "annotations").Fields() {
			if f.Key == kappGroup || strings.HasPrefix(f.Key, kappGroup+".") {
				groups[f.Value.Text()] = append(groups[f.Value.Text()], i)
			}
		}
	}
	for i, n := range b.Nodes {
		annotations := n.Get("metadata", "annotations")
		for _, f := range annotations.Fields() {
			name, text := currentName(f.Key), f.Value.Text()
			if current := annotations.Get(name); name != f.Key && current.Exists() {
				if current.Text() != text {
					b.badAnnotation(i, f.Key, name, "conflicts with the value of "+name, "delete "+f.Key)
				}
				continue
			}
			switch {
			case name == After:
				b.eachListed(i, f.Key, text, b.readAfter, b.orderAfter)
			case name == NotAfter:
				b.eachListed(i, f.Key, text, b.readAfter, b.addNotAfter)
			case name == OnRung:
				b.putOnRung(i, f.Key, text)
			case name == dependsOn:
				b.eachListed(i, f.Key, text, b.readDependsOn, b.orderAfter)
			case name == kappRule || strings.HasPrefix(name, kappRule+"."):
				b.applyKappRule(i, f.Key, text, groups)
			case strings.HasPrefix(name, nelmDependency):
				b.applyNelm(i, f.Key, text)
			case strings.HasPrefix(name, object.Prefix) && f.Key != object.Why:
				b.faults = append(b.faults, b.annotationFault(i, f.Key, name, "unknown annotation", "use "+After+", "+NotAfter+" or "+OnRung).Asking(nearest.Suggest(name, []string{After, NotAfter, OnRung})))
			}
		}
	}
	b.reportDeprecatedPrefix()
}

// currentName returns the name of an annotation with the current prefix.
func currentName(key string) string {
	if name, old := strings.CutPrefix(key, deprecatedPrefix); old {
		return object.Prefix + name
	}
	return key
}

// reportDeprecatedPrefix warns once per component: whoever renames one annotation will
// search for the others.
func (b *builder) reportDeprecatedPrefix() {
	first, count := map[int]finding.Finding{}, map[int]int{} // by component
	for _, n := range b.Nodes {
		fields := n.Get("metadata", "annotations").Fields()
		k := slices.IndexFunc(fields, func(f object.Field) bool { return strings.HasPrefix(f.Key, deprecatedPrefix) })
		if k < 0 {
			continue
		}
		if count[n.Part]++; count[n.Part] == 1 {
			first[n.Part] = finding.Finding{Severity: finding.Warning, Rule: "deprecated", File: n.File, Line: n.Line, Object: n.Key.String(),
				Field: annotationField(fields[k].Key), Message: "the prefix " + deprecatedPrefix + " is deprecated", Remedy: "use the prefix " + object.Prefix}
		}
	}
	for part, f := range first {
		if others := count[part] - 1; others > 0 {
			f.Message = fmt.Sprintf("the prefix %s is deprecated, here and in %s", deprecatedPrefix, finding.Counted(others, "other object"))
		}
		b.Findings = append(b.Findings, f)
	}
}

// order makes one node depend on another because the user said so.
func (b *builder) order(from, to int, key string, meaning knowledge.Meaning) {
	b.refer(Reference{From: from, To: to, Field: annotationField(key), Meaning: meaning, Explicit: true,
		Why: "has the " + key + " annotation, so it must come after"})
}

// orderAfter makes one node wait until another is healthy.
func (b *builder) orderAfter(from, to int, key string) { b.order(from, to, key, knowledge.Healthy) }

// addNotAfter records that one node need not wait for another, because the user said
// so.
func (b *builder) addNotAfter(from, to int, key string) {
	b.notAfter[[2]int{from, to}] = key
}

// applyNotAfter relaxes the references of pairs that the user excepted, so that the
// two may share a wave.
func (b *builder) applyNotAfter() {
	for i := range b.References {
		r := &b.References[i]
		if key := b.notAfter[[2]int{r.From, r.To}]; key != "" && !r.Explicit && r.Meaning == knowledge.Healthy {
			r.Meaning, r.Hard, r.Refused, r.Data = knowledge.Exists, false, false, false
			r.Because = "no wait, because of annotation " + key
		}
	}
}

// eachListed reads an annotation with a comma-separated list of objects and calls a
// function for each.
func (b *builder) eachListed(i int, key, text string, read func(i int, name string) (object.ID, bool), do func(from, to int, key string)) {
	for _, name := range strings.Split(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		id, ok := read(i, name)
		if !ok {
			b.badAnnotation(i, key, name, object.QuoteName(name)+" is not the name of an object", "use Kind/name or Kind/namespace/name, such as Deployment/web")
			continue
		}
		nodes := b.match(id)
		if len(nodes) == 0 {
			b.badAnnotation(i, key, name, fmt.Sprintf("%s not found in the component", name), "correct or remove the name")
		}
		if slices.Equal(nodes, []int{i}) {
			b.badAnnotation(i, key, name, fmt.Sprintf("%s is the object itself", name), "name another object, or remove it")
		}
		for _, to := range nodes {
			do(i, to, key)
		}
	}
}

// match finds objects by an identity whose group and namespace may be "*".
func (b *builder) match(id object.ID) []int {
	var all []int
	for _, i := range b.byKindName[kindName(id)] {
		k := b.Nodes[i].Key
		if (id.Group == "*" || k.Group == id.Group) && (id.Namespace == "*" || k.Namespace == id.Namespace || k.Namespace == "") {
			all = append(all, i)
		}
	}
	return all
}

func kindName(id object.ID) string { return strings.ToLower(id.Kind) + "/" + id.Name }

// readAfter reads Kind/name, Kind/namespace/name or Kind.group/name.
func (b *builder) readAfter(i int, name string) (object.ID, bool) {
	parts := strings.Split(name, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return object.ID{}, false
	}
	id := object.ID{Group: "*", Namespace: b.Nodes[i].Key.Namespace, Kind: parts[0], Name: parts[len(parts)-1]}
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
func (b *builder) readDependsOn(_ int, name string) (object.ID, bool) {
	parts := strings.Split(name, "/")
	switch {
	case len(parts) == 5 && parts[1] == "namespaces":
		return object.ID{Group: parts[0], Namespace: parts[2], Kind: parts[3], Name: parts[4]}, true
	case len(parts) == 3:
		return object.ID{Group: parts[0], Namespace: "*", Kind: parts[1], Name: parts[2]}, true
	}
	return object.ID{}, false
}

// applyKappRule applies "upsert after upserting GROUP" and "upsert before upserting
// GROUP". Rules about deletion do not affect a sync.
func (b *builder) applyKappRule(i int, key, text string, groups map[string][]int) {
	words := strings.Fields(text)
	if len(words) != 4 || words[0] != "upsert" || words[2] != "upserting" {
		return
	}
	for _, other := range groups[words[3]] {
		switch words[1] {
		case "after":
			b.order(i, other, key, knowledge.Healthy)
		case "before":
			b.order(other, i, key, knowledge.Healthy)
		}
	}
}

// applyNelm applies "state=ready,kind=Deployment,name=web,namespace=shop". Targets outside
// the component are ignored.
func (b *builder) applyNelm(i int, key, text string) {
	id := object.ID{Group: "*", Namespace: b.Nodes[i].Key.Namespace}
	meaning := knowledge.Healthy
	for _, part := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "state":
			if value == "present" {
				meaning = knowledge.Exists
			}
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
	for _, to := range b.match(id) {
		b.order(i, to, key, meaning)
	}
}

func (b *builder) putOnRung(i int, key, rung string) {
	if _, ok := b.base.Rung(rung); !ok {
		var names []string
		for _, r := range b.base.Rungs() {
			names = append(names, r.Name)
		}
		b.faults = append(b.faults, b.annotationFault(i, key, rung, "unknown rung "+object.QuoteName(rung), "use a rung of docs/waves.md#rungs").Asking(nearest.Suggest(rung, names)))
		return
	}
	b.Nodes[i].Role, b.Nodes[i].RoleWhy = rung, "is placed on this rung by the "+key+" annotation"
}

func (b *builder) badAnnotation(i int, key, about, message, remedy string) {
	b.faults = append(b.faults, b.annotationFault(i, key, about, message, remedy))
}

func (b *builder) annotationFault(i int, key, about, message, remedy string) finding.Finding {
	n := b.Nodes[i]
	return finding.Finding{Severity: finding.Error, Rule: "bad-annotation", File: n.File, Line: n.Line, Object: n.Key.String(),
		Field: annotationField(key), About: about, Message: message, Remedy: remedy}
}

func annotationField(key string) string { return "metadata.annotations[" + key + "]" }
