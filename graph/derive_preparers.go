package graph

import (
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// preparers makes a Job that others wait for may need the other Jobs that connect to its store
// and to nothing else: one of them may create the database, the role or the bucket that it uses.
// What uses the result of a migration itself, or loads data into it, prepares nothing for others.
func preparers(f *facts.Facts, roles Roles, s Set) (refs []Reference) {
	p := preparation{f, s, map[string]bool{}, targetsByName(f)}
	users := p.usersByStore(roles)
	reached := map[int]map[int]bool{} // by Job that may prepare something
	for to, all := range users {
		if len(all) > mostNearby {
			continue
		}
		for _, j := range all {
			if !p.mayPrepare(j) {
				continue
			}
			if reached[j] == nil {
				reached[j] = digraph.Reachable([]int{j}, p.needs)
			}
			if p.usesMigration(j, reached[j]) {
				continue
			}
			for _, i := range all {
				if i != j && f.Nodes[i].Part == f.Nodes[j].Part && !reached[j][i] && p.mayLeaveBehind(i, j) && !p.areApart(i, j, to) {
					refs = append(refs, possible(f, i, j, "spec.template", Image, mayPrepareFor))
				}
			}
		}
	}
	return refs
}

// mayPrepare reports whether a Job may prepare its store for others. One that names a program may
// need that, unless it shows what it does in the store.
func (p preparation) mayPrepare(j int) bool {
	if onlyStores, _ := callsStores(p.Facts, p.set, j); !onlyStores || p.IsGuard(j) || p.WaitsForMigration(j) || p.LoadsData(j) {
		return false
	}
	if p.Nodes[j].Get("spec", "backoffLimit").Text() == "0" && !p.CreatesDatabase(j) {
		return false // it does not try again if it needs what the others make
	}
	return p.RunsClient(j) || p.CreatesDatabase(j) || !p.namesProgram(j)
}

// namesProgram reports whether what a Job reads names a program other than a store, outside of what
// it sends to a store.
func (p preparation) namesProgram(j int) bool {
	n := &p.Nodes[j]
	return slices.ContainsFunc(slices.Concat(p.Words(j), p.Hints(j)), func(w facts.Word) bool {
		return slices.ContainsFunc(p.named.in(p.Facts, p.OutsideStores(j, w), n), func(to int) bool {
			return p.Nodes[to].Serves() && !p.MayBeStore(to)
		})
	})
}

// usesMigration reports whether a migration is among the nodes that a Job needs.
func (p preparation) usesMigration(j int, reached map[int]bool) bool {
	for m := range reached {
		if m != j && p.Nodes[m].Kind.Runs == "once" && p.MigrationWord(m) != "" {
			return true
		}
	}
	return false
}

// mayLeaveBehind reports whether something waits for a Job while another one may be in a later
// wave: nothing waits for that, or it needs more.
func (p preparation) mayLeaveBehind(i, j int) bool {
	if p.MigrationWord(i) == "" && !p.isAwaited(i) {
		return false
	}
	for r := range p.set.Of(j) {
		if r.Need == Needs && r.Until == Healthy && !doesNeed(p.set, i, r.To) {
			return true
		}
	}
	return !p.isAwaited(j)
}

// isAwaited reports whether something waits for a Job.
func (p preparation) isAwaited(j int) bool {
	for r := range p.set.To(j) {
		if r.Need == Needs && r.Until == Healthy {
			return true
		}
	}
	return false
}

// areApart reports whether two Jobs are migrations of different databases, each of which creates
// nothing for the other.
func (p preparation) areApart(i, j int, at connection) bool {
	return at.isNode && p.MigrationWord(i) != "" && p.MigrationWord(j) != "" && p.DifferentDatabases(i, j, at.store)
}

const mayPrepareFor = "may use what is prepared by"

// preparation is what preparers reads.
type preparation struct {
	*facts.Facts
	set Set
	// servers are those outside the components on which Jobs use databases.
	servers map[string]bool
	named   targets
}

// connection is a store to which Jobs connect: a node, a server outside the components, or
// the key of a Secret that has the address.
type connection struct {
	store     int
	isNode    bool
	server    string
	namespace string
	secret    facts.SecretKey
}

// jobs returns the Jobs of the Sync phase, except smoke tests.
func (p preparation) jobs(roles Roles) (all []int) {
	for j := range p.Nodes {
		if n := &p.Nodes[j]; n.Kind.Runs == "once" && !n.Kind.Pod.IsZero() && n.InSync() && !n.Idle && roles.Of(j) != knowledge.Smokes &&
			!p.Incompletion(j).NeverEnds {
			all = append(all, j)
		}
	}
	return all
}

// usersByStore returns the Jobs that connect to each store.
func (p preparation) usersByStore(roles Roles) map[connection][]int {
	jobs, users := p.jobs(roles), map[connection][]int{}
	for _, j := range jobs {
		maps.Copy(p.servers, serversElsewhere(p.Facts, j))
	}
	for _, j := range jobs {
		for _, to := range p.connections(j) {
			users[to] = append(users[to], j)
		}
	}
	return users
}

// connections returns the stores to which a Job connects.
func (p preparation) connections(j int) []connection {
	all := map[connection]bool{}
	for r := range p.set.Of(j) {
		if r.Need == Needs && r.Sign >= Call && p.IsStore(r.To) {
			all[connection{store: r.To, isNode: true}] = true
		}
	}
	for _, w := range p.Words(j) {
		for at, end := range text.Hosts(w.Value) {
			host := w.Value[at:end]
			if p.servers[host] && text.IsAddress(p.Base, w.Word, at, end, func(_, _ string) bool { return false }) {
				all[connection{server: host}] = true
			}
		}
	}
	for server := range serversElsewhere(p.Facts, j) {
		all[connection{server: server}] = true
	}
	for _, key := range p.SecretKeys(j) {
		if key.Key != "" { // all programs may read the whole Secret
			all[connection{namespace: p.Nodes[j].Key.Namespace, secret: key}] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}

// serversElsewhere returns the servers outside the components on which a Job uses databases.
func serversElsewhere(f *facts.Facts, j int) map[string]bool {
	all := map[string]bool{}
	_, servers := f.DatabasesElsewhere(j)
	for _, some := range servers {
		for server := range strings.SplitSeq(some, ",") {
			all[server] = true
		}
	}
	return all
}

// needs returns what a node needs, and what it calls although nothing shows whether it waits.
func (p preparation) needs(i int) (all []int) {
	for r := range p.set.Of(i) {
		if r.Need == Needs || r.Need == MayNeed && r.Sign >= Call && r.Because != "" {
			all = append(all, r.To)
		}
	}
	return all
}
