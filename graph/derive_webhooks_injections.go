package graph

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/digraph"
)

// changed makes a workload whose Pods a mutating webhook must change wait for the webhook's
// configuration, its servers, and what writes its CA: Pods that start earlier stay as they are.
// Servers that may need a program which never becomes healthy are not awaited.
func (o *webhookOrder) changed(h *facts.Webhook, writers []int) (refs []Reference) {
	if !h.Mutates || !h.IsForPods() {
		return nil
	}
	called := digraph.Reachable(h.Servers, o.callees)
	for i := range called {
		if n := &o.Nodes[i]; !n.Kind.Pod.IsZero() && n.Health.Never != "" {
			return nil
		}
	}
	config := &o.Nodes[h.Config]
	for i := range o.Nodes {
		sign, found := o.mustChange(h, i)
		if !found || sign.IsInferred() && called[i] || o.exempt().isExempt(i, config.Part, h.Servers) {
			continue
		}
		reference := func(to int, until State) Reference {
			return Reference{From: i, To: to, Field: webhooksField, Until: until, Fails: Unchanged, Sign: sign,
				Why: "has Pods that must be changed by webhook " + h.Name + " of", Source: config.Kind.Source}
		}
		refs = append(refs, reference(h.Config, Exists))
		for _, to := range slices.Concat(h.Servers, writers) {
			refs = append(refs, reference(to, Healthy))
		}
	}
	return refs
}

// callees returns what a node needs, or may need according to more than a name.
func (o *webhookOrder) callees(node int) (all []int) {
	for r := range o.set.Of(node) {
		if r.Need != NeedsNot && r.Sign >= Call {
			all = append(all, r.To)
		}
	}
	return all
}

// mustChange reports whether a webhook must change the Pods of an object, and the sign that
// shows it: it is certain only if no container could run otherwise.
func (o *webhookOrder) mustChange(h *facts.Webhook, i int) (sign Sign, found bool) {
	n := &o.Nodes[i]
	if !h.Mutates || n.Kind.Pod.IsZero() || n.Kind.Runs == "later" || !n.InSync() || !o.AdmitsPods(h, i) {
		return 0, false
	}
	if slices.ContainsFunc(o.Images(i), o.Base.IsPlaceholder) {
		return Webhook, true
	}
	return Convention, h.IsAsked() || o.asks(h, i)
}

// asks reports whether a label or annotation of a workload's Pods, or of their namespace, asks a
// webhook for a change: its key is in the domain of the webhook, or in that of a kind that the
// servers reconcile.
func (o *webhookOrder) asks(h *facts.Webhook, i int) bool {
	var groups []string
	for _, server := range h.Servers {
		groups = append(groups, o.groupsOf(server)...)
	}
	asks := false
	for key, value := range o.MarksOfPods(i) {
		domain, name, _ := strings.Cut(key, "/")
		if isIn(h.Name, domain) || slices.ContainsFunc(groups, func(group string) bool { return isIn(domain, group) }) {
			asked, refused := o.Base.AsksForInjection(name, value)
			if refused {
				return false
			}
			asks = asks || asked
		}
	}
	return asks
}

// groupsOf returns the groups that a server reconciles. Every workload asks for those of the same few.
func (o *webhookOrder) groupsOf(server int) []string {
	groups, known := o.groups[server]
	if !known {
		groups = reconciledGroups(o.Facts, server)
		o.groups[server] = groups
	}
	return groups
}

// isIn reports whether a domain name is another one, or below it.
func isIn(name, domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }
