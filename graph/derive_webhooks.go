package graph

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/digraph"
)

// webhookOrder is what the derivation about webhooks reads.
type webhookOrder struct {
	*facts.Facts
	roles  Roles
	set    Set
	exempt func() exemptions // built on demand, since it looks at all objects
	groups map[int][]string  // what groupsOf found
}

// webhooks makes an object that a fail-closed webhook of the component must admit, or whose
// Pods a webhook must change, wait for the workload behind the webhook, unless it is exempt.
func webhooks(f *facts.Facts, roles Roles, s Set) (_ []Claim, refs []Reference) {
	o := webhookOrder{f, roles, s, sync.OnceValue(func() exemptions { return newExemptions(f, roles, s) }), map[int][]string{}}
	refs = o.converters()
	for w := range f.Nodes {
		hooks := f.WebhooksOf(w)
		if len(hooks) == 0 {
			continue
		}
		// Once, since it looks at all webhooks.
		c := configuration{canRegisterAfterBackend: sync.OnceValue(func() bool { return o.canRegisterAfterBackend(w) })}
		c.writers, c.late = o.caWriters(w)
		c.dependencies = digraph.Reachable(c.writers, s.DependenciesOf)
		for at := range hooks {
			h := &hooks[at]
			if len(h.Servers) == 0 {
				continue
			}
			refs = append(refs, o.changed(h, c.writers)...)
			if !h.FailsOpen {
				refs = append(refs, o.admitted(h, c)...)
			}
		}
	}
	return nil, refs
}

// configuration is what the objects that a webhook configuration admits depend on.
type configuration struct {
	// writers are the Jobs that write its CA; if late, only after its phase.
	writers []int
	late    bool
	// dependencies are what the writers themselves need.
	dependencies            map[int]bool
	canRegisterAfterBackend func() bool
}

// admitted makes the objects that a webhook must admit wait for its servers and for what
// writes its CA.
func (o *webhookOrder) admitted(h *facts.Webhook, c configuration) (refs []Reference) {
	config := &o.Nodes[h.Config]
	for _, kind := range o.Kinds() {
		covers := h.Covers(kind)
		for i := kind.From; i < kind.To && (covers || h.IsForPods()); i++ {
			n := &o.Nodes[i]
			if i == h.Config || !n.InSync() || o.exempt().isExempt(i, config.Part, h.Servers) {
				continue
			}
			if !covers || !o.Selects(h, i) {
				if _, changed := o.mustChange(h, i); !changed && n.Serves() && o.AdmitsPods(h, i) {
					refs = append(refs, o.podsAdmitted(h, i)...)
				}
				continue
			}
			if c.late && n.Part == config.Part {
				refs = append(refs, o.admittedBefore(h, i)...)
			} else {
				refs = append(refs, o.admittedBy(h, i, c)...)
			}
			for _, j := range c.writers {
				if !c.dependencies[i] {
					refs = append(refs, o.trusted(h, i, j))
				}
			}
		}
	}
	return refs
}

// admittedBy makes an object wait for the servers of a webhook, and for its configuration where
// that can be registered after them.
func (o *webhookOrder) admittedBy(h *facts.Webhook, i int, c configuration) (refs []Reference) {
	for _, server := range h.Servers {
		refs = append(refs, Reference{From: i, To: server, Field: webhooksField, Until: Healthy, Fails: Refused,
			Unless: o.MayPass(h, i), Sign: Webhook,
			Why: "must be admitted by webhook " + h.Name + " of", Source: o.Nodes[h.Config].Kind.Source})
		if o.Nodes[i].Part == o.Nodes[h.Config].Part && c.canRegisterAfterBackend() {
			refs = append(refs, o.registeredAfter(h.Config, server)...)
			refs = append(refs, inferred(o.Facts, i, h.Config, webhooksField, Registration, Healthy, "is admitted by"))
		}
	}
	return refs
}

// admittedBefore places an object that a webhook without a CA would refuse beside its
// configuration, as Argo CD does: it applies objects of most kinds before webhook
// configurations, and nothing can be admitted before a later phase writes the CA.
func (o *webhookOrder) admittedBefore(h *facts.Webhook, i int) (refs []Reference) {
	const why = "has no CA before a later phase, and until then would refuse"
	refs = append(refs, inferred(o.Facts, h.Config, i, webhooksField, Registration, Exists, why))
	for _, server := range h.Servers {
		refs = append(refs, inferred(o.Facts, i, server, webhooksField, Registration, Exists, "is admitted later by"))
	}
	return refs
}

// trusted makes an object that a webhook must admit need the Job that writes the CA of the
// webhook.
func (o *webhookOrder) trusted(h *facts.Webhook, i, j int) Reference {
	r := inferred(o.Facts, i, j, webhooksField, Permission, Healthy, "must be admitted by webhook "+h.Name+", which is not available before")
	r.Fails, r.Unless = Refused, o.MayPass(h, i)
	if _, source, is := o.WritesCA(j, h.Config); is && source != "" && lacksTrust(h, &o.Nodes[h.Config]) {
		r.Sign, r.Source = Record, source
	}
	return r
}

// podsAdmitted makes a workload whose Pods a webhook must admit wait for its servers. The
// API server refuses a bare Pod; others are created again.
func (o *webhookOrder) podsAdmitted(h *facts.Webhook, i int) (refs []Reference) {
	for _, server := range h.Servers {
		r := Reference{From: i, To: server, Field: webhooksField, Until: Healthy, Unless: o.MayPass(h, i), Sign: Webhook,
			Why: "has Pods that must be admitted by webhook " + h.Name + " of", Source: o.Nodes[h.Config].Kind.Source}
		if o.Nodes[i].Kind.Pod.String() == "." {
			r.Fails = Refused
		}
		refs = append(refs, r)
	}
	return refs
}

// registeredAfter makes a configuration follow a server with which it would otherwise
// share a wave.
func (o *webhookOrder) registeredAfter(config, server int) (refs []Reference) {
	for r := range o.set.Between(config, server) {
		if r.Need == Needs && r.Until == Together {
			after := *r
			after.Until, after.Sign, after.Why = Healthy, Registration, "is registered after its backend"
			refs = append(refs, after)
		}
	}
	return refs
}

// converters makes a custom resource that is not in the storage version of its kind wait
// for the conversion webhook: the API server refuses it until the webhook responds.
func (o *webhookOrder) converters() (refs []Reference) {
	if !o.HasConversions() {
		return nil
	}
	for i := range o.Nodes {
		if !o.Nodes[i].InSync() {
			continue
		}
		for _, converter := range o.Converters(i) {
			if !o.exempt().isExempt(i, o.Nodes[converter].Part, []int{converter}) {
				refs = append(refs, Reference{From: i, To: converter, Field: kindField, Until: Healthy, Fails: Refused,
					Sign: Schema, Why: "is converted by",
					Source: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/" +
						"custom-resource-definition-versioning/#webhook-conversion"})
			}
		}
	}
	return refs
}

// canRegisterAfterBackend reports whether a webhook configuration can be applied after its
// backend, in a wave before the first object that the webhook admits. A Deployment
// is available up to a second before kube-proxy routes connections to its Pods, and
// Argo CD applies the next wave at once, so the first such object would be refused.
// A wave in between adds two seconds. It returns false if anything else may depend on
// the configuration:
//   - A backend that modifies its own configuration, or waits for it, is not ready
//     without it. So the component must show all permissions of the workloads in
//     its wave, and none to read configurations.
//   - A Job that changes the configuration must run between the two.
//   - The CA must be in the configuration, or come from cert-manager's cainjector,
//     which is already running. Other injectors are unknown, and may need the time
//     while the backend starts.
//   - Pods that it admits start together with the backend, and need it then.
func (o *webhookOrder) canRegisterAfterBackend(config int) bool {
	c := &o.Nodes[config]
	if len(o.set.Referrers(config)) > 0 {
		return false
	}
	hooks := o.WebhooksOf(config)
	for at := range hooks {
		h := &hooks[at]
		if !c.IsInjected() && h.Get("clientConfig", "caBundle").Text() == "" {
			return false
		}
		if slices.ContainsFunc(h.Servers, func(server int) bool { return o.Nodes[server].Part != c.Part || !o.ShowsPermissions(server) }) {
			return false
		}
	}
	for i := range o.Nodes {
		if n := &o.Nodes[i]; n.Part != c.Part || n.Kind.Pod.IsZero() {
			continue
		}
		if o.maySeeWebhooks(i) {
			return false
		}
		for at := range hooks {
			if o.AdmitsPods(&hooks[at], i) {
				return false
			}
		}
	}
	return true
}

// maySeeWebhooks reports whether the Pods of a workload may read webhook
// configurations. For a controller and its companions, the component must show that
// they may not.
func (o *webhookOrder) maySeeWebhooks(workload int) bool {
	if o.roles.IsController(workload) && !o.ShowsPermissions(workload) {
		return true
	}
	return slices.ContainsFunc(o.RulesOfNode(workload), func(r facts.Rule) bool {
		return slices.ContainsFunc(facts.Registrars, func(reg facts.Registrar) bool {
			return reg.Group == facts.Admission && r.Allows(reg.Group, reg.Resource, "get", "list", "watch", "create", "update", "patch")
		})
	})
}

// caWriters returns the Jobs that write the backend's CA into a webhook configuration: those
// that run no later than the configuration is applied or in its phase or, if a CA is missing
// and nothing else writes it, those of a later phase.
func (o *webhookOrder) caWriters(config int) (jobs []int, late bool) {
	var later []int
	for r := range o.set.To(config) {
		j := &o.Nodes[r.From]
		if r.Until != Healthy || j.Kind.Runs != "once" || !j.IsApplied() {
			continue
		}
		if j.IsAfter(&o.Nodes[config]) {
			later = append(later, r.From)
		} else {
			jobs = append(jobs, r.From)
		}
	}
	hooks := o.WebhooksOf(config)
	if len(jobs) > 0 || !slices.ContainsFunc(hooks, func(h facts.Webhook) bool {
		return lacksTrust(&h, &o.Nodes[config]) && !o.trustsItself(&h)
	}) {
		return jobs, false
	}
	return later, len(later) > 0
}

// lacksTrust reports whether a webhook has no CA by which the API server trusts its backend,
// and nothing that is already running writes it.
func lacksTrust(h *facts.Webhook, config *facts.Node) bool {
	bundle, _ := base64.StdEncoding.DecodeString(h.Get("clientConfig", "caBundle").Text())
	return !config.IsInjected() && !strings.Contains(string(bundle), "-----BEGIN")
}

// trustsItself reports whether a server of a webhook may write the CA itself when it starts.
func (o *webhookOrder) trustsItself(h *facts.Webhook) bool {
	return slices.ContainsFunc(h.Servers, func(server int) bool { return o.MayUpdate(server, h.Config) })
}

// exemptions are the objects that do not wait for a webhook although it must admit
// them.
type exemptions struct {
	*facts.Facts
	roles Roles
	set   Set
	// byPart are the objects that Argo CD applies before the webhook configurations of a
	// component.
	byPart map[int]map[int]bool
	// byServer maps a workload that serves webhooks to its dependencies, through
	// references and through the webhooks that must admit them.
	byServer map[int]map[int]bool
}

func newExemptions(f *facts.Facts, roles Roles, s Set) exemptions {
	e := exemptions{Facts: f, roles: roles, set: s, byPart: map[int]map[int]bool{}}
	relevant := roles.Controllers() // of a fleet, few components have webhooks
	for _, served := range f.Served() {
		relevant = append(relevant, served.By, served.Workload)
	}
	for _, i := range relevant {
		if part := f.Nodes[i].Part; e.byPart[part] == nil {
			e.byPart[part] = e.appliedBefore(part)
		}
	}
	e.byServer = e.dependenciesOfServers()
	return e
}

// isExempt reports whether an object is exempt from the webhooks that a component
// registers for some servers:
//   - The lowest rung: objects that must exist before Pods start, such as a quota,
//     have no effect later.
//   - Controllers, and those of their dependencies that Argo CD applies before a
//     webhook configuration in the same wave.
//   - Dependencies of the servers, also through another webhook: two webhooks whose
//     servers need objects that the other one admits would wait for each other.
func (e exemptions) isExempt(i, part int, servers []int) bool {
	n := &e.Nodes[i]
	if n.Kind.Rung == e.Base.Rungs()[0].Name || n.Part == part && e.roles.IsController(i) || e.isAppliedBefore(i, part) {
		return true
	}
	return slices.ContainsFunc(servers, func(s int) bool { return e.byServer[s][i] })
}

// isAppliedBefore reports whether Argo CD applies an object before the webhook
// configurations of a component, which its controllers may need: it is of a built-in
// kind, and a dependency of a controller, its Service, or a CRD. The backend of a
// webhook for all kinds may not start without the CRDs of its own kinds.
func (e exemptions) isAppliedBefore(i, part int) bool {
	// Kinds without an order are mixed with webhook configurations, by name.
	return e.Base.KindOrder(e.Nodes[i].Key.Kind) != 0 && e.byPart[part][i]
}

func (e exemptions) appliedBefore(part int) map[int]bool {
	isController := func(i int) bool { return e.Nodes[i].Part == part && e.roles.IsController(i) }
	exempt := digraph.Reachable(slices.DeleteFunc(e.roles.Controllers(), func(i int) bool { return !isController(i) }), e.set.DependenciesOf)
	for s := range e.Nodes {
		if slices.ContainsFunc(e.Backends(s), isController) {
			exempt[s] = true
		}
	}
	for _, def := range e.Definitions() {
		if e.Nodes[def].Key.Group == facts.Extensions {
			exempt[def] = true
		}
	}
	return exempt
}

// dependenciesOfServers returns the dependencies of all controllers and of all servers of
// webhooks.
func (e exemptions) dependenciesOfServers() map[int]map[int]bool {
	admitted := e.findAdmitted()
	all := map[int]map[int]bool{}
	add := func(server int) {
		if all[server] == nil {
			all[server] = digraph.Reachable([]int{server}, func(n int) []int { return append(e.set.DependenciesOf(n), admitted[n]...) })
		}
	}
	for i := range e.Nodes {
		if e.roles.IsController(i) {
			add(i)
		}
		for _, server := range admitted[i] {
			add(server)
		}
	}
	return all
}

// findAdmitted returns, by node, the workloads without which the API server refuses it:
// those that convert it, and the servers of fail-closed webhooks that must admit it.
func (e exemptions) findAdmitted() [][]int {
	admitted := make([][]int, len(e.Nodes))
	add := func(i, part int, servers []int) {
		if n := &e.Nodes[i]; n.InSync() && (n.Part != part || !e.roles.IsController(i)) && !e.isAppliedBefore(i, part) {
			admitted[i] = append(admitted[i], servers...)
		}
	}
	for i := range e.Nodes {
		for _, converter := range e.Converters(i) {
			add(i, e.Nodes[converter].Part, []int{converter})
		}
	}
	hooks := e.Webhooks()
	for at := range hooks {
		h := &hooks[at]
		if h.FailsOpen || len(h.Servers) == 0 {
			continue
		}
		for _, kind := range e.Kinds() {
			if !h.Covers(kind) {
				continue
			}
			for i := kind.From; i < kind.To; i++ {
				if i != h.Config && e.Selects(h, i) {
					add(i, e.Nodes[h.Config].Part, h.Servers)
				}
			}
		}
	}
	return admitted
}

// laterCAs makes an object with a CA bundle that contains no certificate need the Job of a
// later phase that writes its CA. The Job is never applied, because Argo CD waits before it
// until the API server trusts what the object registers.
func laterCAs(f *facts.Facts, _ Roles, s Set) (_ []Claim, refs []Reference) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Kind.CA.IsZero() || !n.HasHealth || !lacksCA(n) || n.IsInjected() {
			continue
		}
		names := append(secretsOfServers(f, s, i), n.Key.Name)
		for _, j := range f.JobsOf(n.Part) {
			if isLaterWriter(f, j, i, names) && !hasEarlierWriter(f, i) {
				r := inferred(f, i, j, n.Kind.CA.String(), Permission, Healthy, "is available only after")
				r.Because = "its " + n.Kind.CA.String() + " contains no certificate"
				refs = append(refs, r)
			}
		}
	}
	return nil, refs
}

// lacksCA reports whether the CA bundle of an object is a placeholder.
func lacksCA(n *facts.Node) bool {
	text, err := base64.StdEncoding.DecodeString(n.Kind.CA.Text(n.Root()))
	return err == nil && len(text) > 0 && !strings.Contains(string(text), "-----BEGIN")
}

// secretsOfServers returns the names of the Secrets that the backends of an object read,
// among them that of their certificate.
func secretsOfServers(f *facts.Facts, s Set, i int) []string {
	var names []string
	for r := range s.Of(i) {
		for _, m := range f.Reads() {
			if m.From == r.To && f.Nodes[r.To].Serves() && m.Record.Starts && m.ID.GroupKind() == "Secret" {
				names = append(names, m.ID.Name)
			}
		}
	}
	return names
}

// isLaterWriter reports whether a Job of a later phase may write an object, and contains one
// of some names.
func isLaterWriter(f *facts.Facts, j, i int, names []string) bool {
	return f.Nodes[j].IsAfter(&f.Nodes[i]) && f.MayUpdate(j, i) &&
		slices.ContainsFunc(names, func(name string) bool { return f.Tokens(j)[name] })
}

// hasEarlierWriter reports whether a workload that runs no later than in the phase of an
// object may write it, and names it.
func hasEarlierWriter(f *facts.Facts, i int) bool {
	return slices.ContainsFunc(f.PodsOf(f.Nodes[i].Part), func(w int) bool {
		return f.Nodes[w].IsApplied() && !f.Nodes[w].IsAfter(&f.Nodes[i]) && f.MayUpdate(w, i) && f.Tokens(w)[f.Nodes[i].Key.Name]
	})
}
