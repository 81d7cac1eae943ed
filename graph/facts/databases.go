package facts

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/text"
)

// databasesOf returns the stores that the words of a workload name.
func (f *Facts) databasesOf(i int) []text.Database {
	if known, ok := f.databases[i]; ok {
		return known
	}
	var all []text.Database
	for _, w := range f.Words(i) {
		all = append(all, text.Databases(f.Base, w.Word)...)
	}
	if f.databases == nil {
		f.databases = map[int][]text.Database{}
	}
	f.databases[i] = all
	return all
}

// DifferentDatabases reports whether two workloads certainly use different databases of one
// server.
func (f *Facts) DifferentDatabases(x, y, server int) bool {
	of, other := f.databaseNames(x, server), f.databaseNames(y, server)
	return len(of) > 0 && len(other) > 0 && !slices.ContainsFunc(of, func(name string) bool { return slices.Contains(other, name) })
}

// databaseNames returns the databases of a server that a workload names; nothing if one of
// them is that of an administrator, who may create the others.
func (f *Facts) databaseNames(i, server int) []string {
	var at, alone []string
	for _, d := range f.databasesOf(i) {
		switch {
		case d.Name == "":
		case f.Base.IsAdministrative(d.Name):
			return nil
		case len(d.Hosts) == 0:
			alone = append(alone, d.Name)
		case slices.ContainsFunc(d.Hosts, func(host string) bool { return slices.Contains(f.serversAt(host, i), server) }):
			at = append(at, d.Name)
		}
	}
	if len(at) == 0 {
		return alone
	}
	return at
}

// serversAt returns the servers of the component at a host.
func (f *Facts) serversAt(host string, caller int) []int {
	service, ok := f.service(host, f.Nodes[caller].Key.Namespace, !strings.Contains(host, "."))
	if !ok {
		return nil
	}
	return f.Servers(service)
}

// DatabasesElsewhere returns the databases outside the components that a workload names, each
// as its servers and its name, and the servers alone, on which others may lie.
func (f *Facts) DatabasesElsewhere(i int) (all, servers []string) {
	for _, d := range f.databasesOf(i) {
		isHere := func(host string) bool { return len(f.serversAt(host, i)) > 0 }
		if len(d.Hosts) == 0 || slices.ContainsFunc(d.Hosts, isHere) {
			continue
		}
		hosts := strings.Join(d.Hosts, ",")
		servers = append(servers, hosts)
		for _, name := range f.namesFor(i, d) {
			all = append(all, hosts+"/"+name)
		}
	}
	return all, servers
}

// namesFor returns the name of a database, or else those that the workload names alone.
func (f *Facts) namesFor(i int, d text.Database) (names []string) {
	if d.Name != "" || d.IsURL {
		return []string{d.Name}
	}
	for _, other := range f.databasesOf(i) {
		if len(other.Hosts) == 0 {
			names = append(names, other.Name)
		}
	}
	return names
}
