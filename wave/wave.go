// Package wave decides when each object of a component is applied.
//
// Argo CD applies an Application wave by wave and waits for each wave to be
// healthy before the next. Every wait can hang on something that no manifest
// shows, and Kubernetes converges by itself, so a wave must earn its place: it
// ends where a later object, its customer, needs something in it healthy (see
// Need). What nobody waits for comes with the last wave, of which Argo CD waits
// for nothing; without any customer there is one wave, as Argo CD has it by
// itself. What an object is for, its rung, orders what is awaited and names the
// waves.
//
// Objects without health of their own (ServiceAccounts, configuration, RBAC,
// Services) cost nothing to apply early. They are there when the first program
// that is awaited starts, which may look them up by names in its code.
//
// The result depends on the set of objects only: not on the order in which
// they come, nor on the cluster. Argo CD asks again in the middle of a sync,
// and another answer would tear it apart.
package wave

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Placement is the place of an object in the order, and why it is there.
type Placement struct {
	// Computed is false for objects outside of the Sync phase: hooks of other
	// phases keep their weights, and what Argo CD never applies has no wave.
	Computed bool
	// Wave is the sync wave, or for hooks of other phases the weight that
	// Argo CD reads off them.
	Wave int
	// Rung is what the object is for.
	Rung knowledge.Rung
	// Because is what decided the wave.
	Because Reason
	// Author is true when the wave follows an order that its author wrote, and
	// Kept when it is the very wave that is there, so that nothing is written.
	Author, Kept bool
}

// Cause is the kind of thing that decided a wave.
type Cause string

const (
	// ByRung: the floor of the rung.
	ByRung Cause = "rung"
	// ByReference: an object it refers to.
	ByReference Cause = "reference"
	// ByConsumer: an object that refers to it and is the first to need it.
	ByConsumer Cause = "consumer"
	// ByCompany: objects that refer to each other stand together.
	ByCompany Cause = "company"
	// ByController: the controllers of the component may look for it.
	ByController Cause = "controller"
	// ByDoubt: its health may never come, so nothing may wait for it.
	ByDoubt Cause = "doubt"
	// ByPhase: it is a hook of another phase, or never applied.
	ByPhase Cause = "phase"
)

// Reason is what decided a wave. Reference is set for ByReference, where it
// starts at the object, and for ByConsumer, where it ends there. Other is the
// other object, if there is one.
type Reason struct {
	Cause     Cause
	Reference graph.Reference
	Other     int
}

// Plan is a component in order.
type Plan struct {
	Graph *graph.Graph
	// Order lists the nodes in the order in which Argo CD applies them, without
	// those that another Application applies.
	Order []int
	// Findings are faults of the input that leave an order possible.
	Findings []finding.Finding

	opt Options
	ordering
}

// Customers are the objects that come only when a node is healthy, and why. A node
// without customers is awaited for the sake of another one, or not at all.
func (p *Plan) Customers(node int) []Customer { return p.customers[node] }

// Waves is the number of waves of the Sync phase.
func (p *Plan) Waves() int {
	seen := map[int]bool{}
	for i, place := range p.Places {
		if place.Computed && !p.Graph.Nodes[i].Elsewhere {
			seen[place.Wave] = true
		}
	}
	return len(seen)
}

// AuthorPolicy says what becomes of sync waves that are already there.
type AuthorPolicy string

const (
	// Refine keeps the author's order, and splits only those of its waves that
	// would fail. The default.
	Refine AuthorPolicy = "refine"
	// Keep leaves every wave that an author wrote, and computes the others.
	Keep AuthorPolicy = "keep"
	// Override computes every wave.
	Override AuthorPolicy = "override"
)

// Style says how many waves there are.
type Style string

const (
	// Rungs also gates what reads what another object makes, and names the waves
	// by what their objects are for. The default.
	Rungs Style = "rungs"
	// Compact gates only what would fail otherwise, and counts the waves from 0.
	Compact Style = "compact"
	// Off writes no waves; what is there is only checked.
	Off Style = "off"
)

// Jobs says what becomes of plain Jobs that configure or validate what runs.
type Jobs string

const (
	// AsTheyAre leaves them, and reports that a change of them fails. The
	// default.
	AsTheyAre Jobs = "keep"
	// AsHooks makes them Sync hooks that are deleted before they run again.
	AsHooks Jobs = "hook"
)

// Explain says where the reasons of waves are written besides the reports.
type Explain string

const (
	// InReports leaves the manifests without them. The default.
	InReports Explain = "off"
	// InAnnotations also writes them on the objects, where Argo CD's UI shows them.
	InAnnotations Explain = "annotations"
)

// Options say how to order. The zero value means Refine, Rungs, AsTheyAre and InReports.
type Options struct {
	Author  AuthorPolicy
	Waves   Style
	Jobs    Jobs
	Explain Explain
}

// Assign computes the wave of every object. The error joins a finding for each
// wave that cannot be read and each cycle that cannot be broken.
func Assign(g *graph.Graph, base *knowledge.Base, opt Options) (*Plan, error) {
	if opt.Waves == Off { // nothing is written
		opt.Author, opt.Jobs = Keep, AsTheyAre
	}
	if err := checkAnnotations(g); err != nil {
		return nil, err
	}
	in := input{graph: g, base: base, opt: opt, rungs: rungsOf(g, base)}
	o, err := in.order()
	if err != nil {
		return nil, err
	}
	p := &Plan{Graph: g, opt: opt, ordering: o}
	p.Order = slices.DeleteFunc(applyOrder(p, base), func(i int) bool { return g.Nodes[i].Elsewhere })
	p.Findings = slices.Concat(g.Findings, o.warnings, p.Check(base), p.jobFindings())
	finding.Sort(p.Findings)
	return p, nil
}

// farthest is how far from 0 an author's wave may be, so that it can be
// multiplied and compared: Argo CD compares waves by subtracting them.
const farthest = 1_000_000_000

// checkAnnotations reports waves that Argo CD would silently read as 0.
func checkAnnotations(g *graph.Graph) error {
	var faults []finding.Finding
	for _, n := range g.Nodes {
		if text, ok := n.Annotation(object.SyncWave); ok {
			if wave, err := strconv.Atoi(text); err == nil && (wave > farthest || wave < -farthest) {
				faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "bad-wave", File: n.File, Line: n.Line, Object: n.Key.String(),
					Field:   "metadata.annotations[" + object.SyncWave + "]",
					Message: strings.Trim(n.ShownNumber(text), `"`) + " is out of range: Ladder cannot order objects around it",
					Remedy:  fmt.Sprintf("use a number between -%d and %d", farthest, farthest)})
			} else if err != nil {
				faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "bad-wave", File: n.File, Line: n.Line, Object: n.Key.String(),
					Field:   "metadata.annotations[" + object.SyncWave + "]",
					Message: n.ShownNumber(text) + " is not an integer, so Argo CD ignores the wave",
					Remedy:  "use a number such as \"5\", or remove the annotation"})
			}
		}
	}
	finding.Sort(faults)
	return finding.Err(faults)
}
