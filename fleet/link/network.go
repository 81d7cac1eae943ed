package link

import (
	"cmp"
	_ "embed"
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/settings"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// A new cluster has no Pod network. Without it, the kubelet starts only Pods on the host network
// that tolerate a node that is not ready.

//go:embed network.yaml
var networkText []byte

var network = settings.Embedded[struct {
	Paths []string `yaml:"paths"`
	Kinds []struct {
		Kind   string `yaml:"kind"`
		Source string `yaml:"source"`
	} `yaml:"kinds"`
	Taint  string `yaml:"taint"`
	Source string `yaml:"source"`
}](networkText)

// PodSpecs returns the Pod specs in an object.
func PodSpecs(n *graph.Node) []object.Value {
	var all []object.Value
	for _, found := range n.Kind.Pod.Find(n.Root()) {
		all = append(all, found.Value.Get("spec"))
	}
	return all
}

// IsNetwork reports whether Pods have a network once an object is ready.
func IsNetwork(n *graph.Node) bool {
	for _, record := range network.Kinds {
		if n.Key.GroupKind() == record.Kind {
			return true
		}
	}
	if n.Key.GroupKind() != "DaemonSet.apps" {
		return false
	}
	return slices.ContainsFunc(PodSpecs(n), func(spec object.Value) bool {
		return spec.Get("hostNetwork").True() && slices.ContainsFunc(spec.Get("volumes").Items(), func(v object.Value) bool {
			dir := strings.TrimSuffix(v.Get("hostPath", "path").Text(), "/")
			return slices.ContainsFunc(network.Paths, func(end string) bool { return strings.HasSuffix(dir, end) })
		})
	})
}

// NeedsNetwork reports whether an object has Pods that start only with a Pod network.
func NeedsNetwork(n *graph.Node) bool {
	return slices.ContainsFunc(PodSpecs(n), func(spec object.Value) bool {
		return !spec.Get("hostNetwork").True() || !slices.ContainsFunc(spec.Get("tolerations").Items(), func(t object.Value) bool {
			key, effect := t.Get("key").Text(), t.Get("effect").Text()
			return (key == "" && t.Get("operator").Text() == "Exists" || key == network.Taint) && (effect == "" || effect == "NoSchedule")
		})
	})
}

// Networks says which Applications provide the Pod network, and which have Pods that need it.
type Networks struct {
	// Providers and Users have the object that shows it, or a reason that names the chart.
	Providers, Users map[int]Reason
}

// NetworksOf finds the Pod network in Applications and in the records of their charts. The Part of
// a node is the index of its Application. From is the object of a user; of a provider, To is.
func NetworksOf(g *graph.Graph, apps []Contents) Networks {
	all := Networks{map[int]Reason{}, map[int]Reason{}}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		_, known := all.Users[n.Part]
		switch {
		case IsNetwork(n):
			all.Providers[n.Part] = Reason{To: n.Key}
		case n.InSync() && !known && NeedsNetwork(n):
			all.Users[n.Part] = Reason{From: n.Key, File: n.File, Line: n.Line}
		}
	}
	for i, app := range apps {
		for _, c := range app.Charts {
			_, provides := all.Providers[i]
			_, uses := all.Users[i]
			switch {
			case c.Network && !provides:
				all.Providers[i] = Reason{Why: " the " + c.Name + " chart"}
			case !c.Network && !uses && slices.Contains([]string{"workloads", knowledge.Controllers}, c.Rung):
				all.Users[i] = Reason{Why: "the " + c.Name + " chart ", Source: c.Source}
			}
		}
	}
	return all
}

// reason returns the reason for which one Application needs the network of another.
func (n Networks) reason(user, provider int, strength Strength) Reason {
	r, by := n.Users[user], n.Providers[provider]
	r.Strength, r.To, r.Why = strength, by.To, r.Why+"needs the Pod network of"+by.Why
	return r
}

// Links returns the dependencies on the Pod network of all Applications that have Pods on it. They
// are not among those of Find: where Argo CD runs in the same cluster, its own Pods show that there
// is a network. They say what comes first where nothing else decides it.
func (n Networks) Links() []Link {
	var all []Link
	for _, user := range slices.Sorted(maps.Keys(n.Users)) {
		for _, provider := range slices.Sorted(maps.Keys(n.Providers)) {
			if _, also := n.Providers[user]; !also {
				r := n.reason(user, provider, Exists)
				r.Inferred = true
				all = append(all, Link{From: user, To: provider, Reasons: []Reason{r}})
			}
		}
	}
	return all
}

// WithNetwork adds the dependencies of Applications on the Pod network that the network must not
// wait for: where the network contains objects that nothing else uses, such as dashboards, of a
// kind that another Application defines, that Application needs the network for its Pods. So the
// network comes first, and the objects have to move.
func WithNetwork(g *graph.Graph, all Networks, links []Link) []Link {
	if len(all.Providers) == 0 {
		return links
	}
	used := Used{}
	used.Add(g)
	for _, l := range slices.Clone(links) {
		_, network := all.Providers[l.From]
		_, workload := all.Users[l.To]
		_, toNetwork := all.Providers[l.To]
		if network && workload && !toNetwork && l.Strength() >= Healthy && used.HoldsForNothing(l) {
			links = withReason(links, l.To, l.From, all.reason(l.To, l.From, Healthy))
		}
	}
	return links
}

// withReason adds a reason to the link between two Applications.
func withReason(links []Link, from, to int, r Reason) []Link {
	at, known := slices.BinarySearchFunc(links, Link{From: from, To: to}, func(x, y Link) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To))
	})
	if !known {
		links = slices.Insert(links, at, Link{From: from, To: to})
	}
	links[at].Reasons = append(links[at].Reasons, r)
	SortReasons(links[at].Reasons)
	return links
}
