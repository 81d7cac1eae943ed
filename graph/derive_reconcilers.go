package graph

import (
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/graph/facts"
)

// reconcilers makes a custom resource wait for its controller only if the API server refuses
// it before (see mustAdmit), or if the kind comes with the controller. Otherwise it is
// reconciled whenever the controller starts. If they are in different components, the custom
// resource always waits for the controller. If the workload names the resource as its own
// configuration, can only read its kind, or creates a default unless it finds the resource,
// the workload needs the resource.
func reconcilers(f *facts.Facts, roles Roles, s Set) (_ []Claim, refs []Reference) {
	type candidate struct {
		controller int
		rules      map[string][]facts.Rule
		kind       facts.KindRange
	}
	var all []candidate
	named := map[[2]int]bool{}
	for _, c := range roles.Controllers() {
		rules := facts.ByGroup(rulesOfAccounts(f, c))
		names := f.ConfigurationNames(c)
		for _, kind := range f.Kinds() {
			if f.Base.Builtin(kind.Group) || !reconciles(f, rules, kind, f.Nodes[c].Part) {
				continue
			}
			all = append(all, candidate{c, rules, kind})
			for i := kind.From; i < kind.To; i++ {
				if field, ok := names[f.Nodes[i].ID.Name]; ok && f.Nodes[i].InSync() {
					refs = append(refs, Reference{From: c, To: i, Field: field, Fails: Stops, Sign: Configuration, Why: "is configured by"})
					named[[2]int{c, i}] = true
				}
			}
		}
	}
	// The references above count for what the servers of webhooks need.
	configured := s.With(refs)
	exempt := sync.OnceValue(func() exemptions { return newExemptions(f, roles, configured) })
	for _, in := range all {
		for i := in.kind.From; i < in.kind.To; i++ {
			if !f.Nodes[i].InSync() || named[[2]int{in.controller, i}] {
				continue
			}
			r := Reference{From: i, To: in.controller, Field: kindField, Need: MayNeed, Until: Together, Sign: Permission, Why: "is reconciled by"}
			if n := &f.Nodes[i]; n.HasHealth || n.Kind.Status != nil {
				r.Need = Needs // it does not become healthy before, and waits
			}
			admitted, comesWith := mustAdmit(f, in.controller, i, in.kind), f.Nodes[i].CRDMissing && mayDefine(in.rules)
			switch {
			case (admitted || comesWith) && exempt().isExempt(i, f.Nodes[in.controller].Part, []int{in.controller}):
			case comesWith && !admitted: // with what admits it, the object has a reference of its own
				r.Need, r.Until, r.Fails = Needs, Healthy, Refused
			case f.Nodes[i].Part != f.Nodes[in.controller].Part:
				// A component is healthy when its custom resources are, so it
				// follows the component that reconciles them.
				r.Need, r.Until = Needs, Healthy
			case !admitted && f.Statusless(i) && !writes(in.rules, in.kind):
				refs = append(refs, Reference{From: in.controller, To: i, Field: kindField, Sign: Permission, Why: "reads",
					Source: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#status-subresource"})
			case !admitted && f.Nodes[i].Kind.IsDefault(f.Nodes[i].ID.Name):
				refs = append(refs, Reference{From: in.controller, To: i, Field: kindField, Need: MayNeed, Sign: Record,
					Why:    "creates a default unless it finds",
					Source: f.Nodes[i].Kind.Source})
			}
			refs = append(refs, r)
		}
	}
	return nil, refs
}

// rulesOfAccounts returns the permissions of a workload, without those of hooks.
func rulesOfAccounts(f *facts.Facts, workload int) (rules []facts.Rule) {
	for _, serviceAccount := range f.ServiceAccounts(workload) {
		if rules == nil {
			rules = f.GrantedTo(serviceAccount) // without room for more, and most workloads have one account
			continue
		}
		rules = append(rules, f.GrantedTo(serviceAccount)...)
	}
	return rules
}

// mustAdmit reports whether the API server refuses a custom resource while a controller of
// its kind does not respond: the controller serves a fail-closed webhook with rules for it, or
// converts it. Rules that a controller writes at run time refuse nothing before it runs.
func mustAdmit(f *facts.Facts, controller, i int, kind facts.KindRange) bool {
	hooks := f.WebhooksServedBy(controller)
	for at := range hooks {
		if h := &hooks[at]; h.Covers(kind) && f.Selects(h, i) {
			return true
		}
	}
	return slices.Contains(f.Converters(i), controller)
}

// mayDefine reports whether rules allow creating CRDs, as for operators that
// install their own at startup.
func mayDefine(rules map[string][]facts.Rule) bool {
	return slices.ContainsFunc(rules[facts.Extensions], func(r facts.Rule) bool {
		return r.Allows(facts.Extensions, "customresourcedefinitions", "create")
	})
}

// writes reports whether rules allow writing objects of a kind.
func writes(rules map[string][]facts.Rule, kind facts.KindRange) bool {
	allows := func(r facts.Rule) bool {
		return slices.ContainsFunc([]string{kind.Plural, kind.Plural + "/status", kind.Plural + "/finalizers"}, func(resource string) bool {
			return r.Allows(kind.Group, resource, "create", "update", "patch", "delete")
		})
	}
	return slices.ContainsFunc(rules[kind.Group], allows) || slices.ContainsFunc(rules["*"], allows)
}

// reconciledGroups returns the groups for which a workload may watch kinds and write
// their status.
func reconciledGroups(f *facts.Facts, workload int) []string {
	rules := rulesOfAccounts(f, workload)
	var all []string
	for _, r := range rules {
		for _, group := range r.Groups {
			if group == "*" || f.Base.Builtin(group) || slices.Contains(all, group) {
				continue
			}
			if slices.ContainsFunc(r.Resources, func(resource string) bool {
				kind, part, _ := strings.Cut(resource, "/")
				return (resource == "*" || part == "status") && facts.HasAny(r.Verbs, "*", "update", "patch") && watches(rules, group, kind)
			}) {
				all = append(all, group)
			}
		}
	}
	return all
}

// reconciles reports whether rules of a workload in a component allow watching a
// kind and writing it or its status. Permissions for every group count for kinds
// that the component defines itself.
func reconciles(f *facts.Facts, rules map[string][]facts.Rule, kind facts.KindRange, part int) bool {
	def, own := f.Defined(f.KindOf(kind))
	own = own && f.Nodes[def.Node].Part == part
	return mayReconcile(rules, kind.Group, kind.Plural, own)
}

// mayReconcile reports whether rules allow watching a kind and writing its status; for
// its own kind, watching is sufficient.
func mayReconcile(rules map[string][]facts.Rule, group, resource string, own bool) bool {
	watch, write := false, own
	collect := func(rules []facts.Rule) {
		for _, r := range rules {
			watch = watch || r.Allows(group, resource, "watch", "list")
			write = write || r.Allows(group, resource+"/status", "update", "patch")
		}
	}
	collect(rules[group])
	if own {
		collect(rules["*"])
	}
	return watch && write
}
