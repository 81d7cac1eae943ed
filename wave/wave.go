// Package wave decides when each object of a component is applied.
//
// Argo CD applies an Application wave by wave and waits for each wave to be healthy
// before the next. Kubernetes converges by itself, and every wait can hang on something
// that no manifest shows. So a new wave starts only if a later object, the dependent,
// needs an object in an earlier wave to be healthy (see [WaitReason]). Objects that nothing
// waits for are in the last wave, for which Argo CD does not wait. Without a dependent
// there is one wave, which is Argo CD's default. The rung of an object is its class,
// such as workloads; rungs order the awaited objects and determine wave numbers.
//
// Objects without health of their own (ServiceAccounts, configuration, RBAC,
// Services) cost nothing to apply early. They exist when the first awaited program
// starts, which may look them up by names in its code.
//
// The result depends only on the set of objects, not on their order in the input or
// on the cluster. Argo CD renders again during a sync, and a different result would
// break that sync.
package wave

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Placement is the wave of an object with the reason for it.
type Placement struct {
	// Computed is false for objects outside the Sync phase: hooks of other phases
	// keep their weights, and objects that Argo CD never applies have no wave.
	Computed bool
	// Wave is the sync wave or, for hooks of other phases, the weight that Argo CD
	// reads from their annotations.
	Wave int
	// Rung is the class of the object.
	Rung knowledge.Rung
	// Because says what decided the wave.
	Because Reason
	// Author means that the wave follows an author's order. Kept means that the
	// existing annotation is right, so none is written.
	Author, Kept bool
}

// Cause is the category of a Reason.
type Cause string

const (
	// ByRung: the wave of the rung.
	ByRung Cause = "rung"
	// ByReference: an object it refers to.
	ByReference Cause = "reference"
	// ByConsumer: the first object that needs it.
	ByConsumer Cause = "consumer"
	// ByCompanion: objects that refer to each other share a wave.
	ByCompanion Cause = "company"
	// ByController: the component's controllers may look it up.
	ByController Cause = "controller"
	// ByDoubt: it may never become healthy, so nothing may wait for it.
	ByDoubt Cause = "doubt"
	// ByPhase: it is a hook of another phase, or is never applied.
	ByPhase Cause = "phase"
)

// Reason says what decided a wave. Reference is set for ByReference, where it
// starts at the object, and for ByConsumer, where it ends there. Other is the other
// object, if there is one.
type Reason struct {
	Cause     Cause
	Reference graph.Reference
	Other     int
}

// Decider returns the other object that decides the wave of an object, if any.
func (p *Plan) Decider(i int) (other int, ok bool) {
	because := p.Places[i].Because
	decides := []Cause{ByReference, ByConsumer, ByCompanion, ByController, ByDoubt}
	return because.Other, because.Other != i && slices.Contains(decides, because.Cause)
}

// Plan is an ordered component.
type Plan struct {
	Graph *graph.Graph
	// Order lists the nodes in apply order, without those that another Application
	// applies.
	Order []int
	// Findings are problems of the input that do not prevent an order.
	Findings []finding.Finding

	base      *knowledge.Base
	opt       Options
	doubts    []doubt
	positions []moment // by node, as users see them
	ordering
}

// Computes reports whether the waves are computed, and not those of the manifests.
func (p *Plan) Computes() bool { return p.opt.Waves != Off }

// Dependents returns the objects that wait until a node is healthy, with the
// reasons. If a node has none, Argo CD waits for it because of another one in its
// wave, or not at all.
func (p *Plan) Dependents(node int) []Dependent { return p.dependents[node] }

// Waves returns the number of waves of the Sync phase.
func (p *Plan) Waves() int {
	seen := map[int]bool{}
	for i, place := range p.Places {
		if place.Computed && !p.Graph.Nodes[i].External {
			seen[place.Wave] = true
		}
	}
	return len(seen)
}

// WavesOfPhases returns the number of waves that a sync applies one after the other, in all
// its phases.
func (p *Plan) WavesOfPhases() int { return Waves(p.WaveGroups(func(int) bool { return true })) }

// NeedsNoWaves reports whether waves were computed and all objects share wave 0, which is
// Argo CD's own order.
func (p *Plan) NeedsNoWaves() bool {
	computed := false
	for i, place := range p.Places {
		if p.Graph.Nodes[i].External || !place.Computed {
			continue
		}
		if place.Wave != 0 || place.Author {
			return false
		}
		computed = true
	}
	return computed && p.opt.Waves != Off
}

// OmitsGates reports whether gates were left out, because the objects may never be healthy.
func (p *Plan) OmitsGates() bool { return len(p.omitted) > 0 }

// RefersToAwaited reports whether an object that takes time to become ready refers to another
// one, so that one of them may have to wait for the other.
func (p *Plan) RefersToAwaited() bool {
	takesTime := func(n *graph.Node) bool {
		return n.InSync() && !n.External && (n.HasHealth || !n.Kind.Pod.IsZero() || !p.base.Builtin(n.ID.Group))
	}
	return slices.ContainsFunc(p.Graph.References, func(r graph.Reference) bool {
		return r.Need != graph.NeedsNot && r.Sign != graph.Beside && !r.IsAboutKind() && takesTime(&p.Graph.Nodes[r.From]) &&
			takesTime(&p.Graph.Nodes[r.To])
	})
}

// AuthorPolicy says how existing sync waves are treated.
type AuthorPolicy string

const (
	// Refine keeps the author's order and splits only waves that would fail. It is
	// the default.
	Refine AuthorPolicy = "refine"
	// Keep leaves every existing wave and computes the others.
	Keep AuthorPolicy = "keep"
	// Override computes every wave.
	Override AuthorPolicy = "override"
)

// Style says how many waves to use.
type Style string

const (
	// Rungs adds gates for objects that read what another object creates, and
	// numbers waves by rung. It is the default.
	Rungs Style = "rungs"
	// Compact gates only what would fail otherwise, and counts waves from 0.
	Compact Style = "compact"
	// Off writes no waves; existing ones are only checked.
	Off Style = "off"
)

// Jobs says how to treat plain Jobs that configure or validate workloads.
type Jobs string

const (
	// KeepJobs leaves them, and reports that changing them will fail. It is the
	// default.
	KeepJobs Jobs = "keep"
	// AsHooks makes them Sync hooks that are deleted before they run again.
	AsHooks Jobs = "hook"
)

// Explain says where the reasons of waves are written, in addition to reports.
type Explain string

const (
	// ExplainOff writes them only in reports. It is the default.
	ExplainOff Explain = "off"
	// InAnnotations also writes them on the objects, where Argo CD's UI shows them.
	InAnnotations Explain = "annotations"
)

// Options configure Assign. The zero value means Refine, Rungs, KeepJobs and
// ExplainOff.
type Options struct {
	Author  AuthorPolicy
	Waves   Style
	Jobs    Jobs
	Explain Explain
}

// Assign computes the wave of every object. The error joins a finding for each
// unreadable wave and each cycle that cannot be resolved.
func Assign(g *graph.Graph, base *knowledge.Base, opt Options) (*Plan, error) {
	if opt.Waves == Off { // nothing is written
		opt.Author, opt.Jobs = Keep, KeepJobs
	}
	if err := checkAnnotations(g); err != nil {
		return nil, err
	}
	in := input{graph: g, base: base, opt: opt, rungs: rungsOf(g, base), doubts: doubtsOf(g)}
	s, err := in.plan()
	if err != nil {
		return nil, err
	}
	p := s.Plan
	p.positions = p.positionsOf()
	p.Order = slices.DeleteFunc(applyOrder(p, base), func(i int) bool { return g.Nodes[i].External })
	p.Findings = slices.Concat(g.Findings, p.warnings, s.check(), p.omittedGates(), p.jobFindings())
	finding.Sort(p.Findings)
	return p, nil
}

// maxWave is the largest absolute value allowed for an author's wave, so that it
// can be multiplied and compared: Argo CD compares waves by subtraction.
const maxWave = 1_000_000_000

// checkAnnotations reports waves that Argo CD would silently read as 0, and waves that
// are too large to calculate with.
func checkAnnotations(g *graph.Graph) error {
	var faults []finding.Finding
	for _, n := range g.Nodes {
		if text, ok := n.Annotation(object.SyncWave); ok {
			if wave, err := strconv.Atoi(text); (err == nil || errors.Is(err, strconv.ErrRange)) && (wave > maxWave || wave < -maxWave) {
				faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "bad-annotation", File: n.File, Line: n.Line,
					Object: n.Key.String(), Field: "metadata.annotations[" + object.SyncWave + "]",
					Message: strings.Trim(n.QuoteNumber(text), `"`) + " is out of range: Ladder cannot order objects around it",
					Remedy:  fmt.Sprintf("use a number between -%d and %d", maxWave, maxWave)})
			} else if err != nil {
				faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "bad-annotation", File: n.File, Line: n.Line,
					Object: n.Key.String(), Field: "metadata.annotations[" + object.SyncWave + "]",
					Message: n.QuoteNumber(text) + " is not an integer, so Argo CD ignores the wave",
					Remedy:  "use an integer such as \"5\", or remove the annotation"})
			}
		}
	}
	finding.Sort(faults)
	return finding.Err(faults)
}
