package link

import (
	"bytes"
	"cmp"
	_ "embed"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/object"
)

// A new cluster has no Pod network. Without it, the kubelet starts only Pods on the host network
// that tolerate a node that is not ready.

//go:embed network.yaml
var networkText []byte

var network = func() (signs struct {
	Paths  []string `yaml:"paths"`
	Taint  string   `yaml:"taint"`
	Source string   `yaml:"source"`
}) {
	dec := yaml.NewDecoder(bytes.NewReader(networkText))
	dec.KnownFields(true)
	if err := dec.Decode(&signs); err != nil {
		panic(err) // no input reaches it, and every test of the package reads it
	}
	return signs
}()

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
	if n.Key.GroupKind() != "DaemonSet.apps" {
		return false
	}
	return slices.ContainsFunc(PodSpecs(n), func(spec object.Value) bool {
		return spec.Get("hostNetwork").True() && slices.ContainsFunc(spec.Get("volumes").Items(), func(v object.Value) bool {
			return slices.Contains(network.Paths, strings.TrimSuffix(v.Get("hostPath", "path").Text(), "/"))
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

// WithNetwork adds the dependencies of Applications on the Pod network that the network must not
// wait for: where the network contains objects that nothing else uses, such as dashboards, of a
// kind that another Application defines, that Application needs the network for its Pods. So the
// network comes first, and the objects have to move.
func WithNetwork(g *graph.Graph, links []Link) []Link {
	networks, pods := map[int]*graph.Node{}, map[int]*graph.Node{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		switch {
		case IsNetwork(n):
			networks[n.Part] = n
		case n.InSync() && NeedsNetwork(n) && pods[n.Part] == nil:
			pods[n.Part] = n
		}
	}
	if len(networks) == 0 {
		return links
	}
	used := Used{}
	used.Add(g)
	for _, l := range slices.Clone(links) {
		daemon, workload := networks[l.From], pods[l.To]
		if daemon == nil || workload == nil || networks[l.To] != nil || l.Strength() < Healthy || !used.HoldsForNothing(l) {
			continue
		}
		r := Reason{Strength: Healthy, From: workload.Key, To: daemon.Key, File: workload.File, Line: workload.Line, Why: "needs the Pod network of"}
		links = withReason(links, l.To, l.From, r)
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
