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

// Annotate returns the objects in plan order, each with its wave and the sync
// options that the order requires. Hooks of other phases keep their weights, which
// a wave would replace.
func (p *Plan) Annotate() ([]object.Object, error) {
	objs := make([]object.Object, 0, len(p.Order))
	errs := p.errorsByObject()
	for _, i := range p.Order {
		o := p.Graph.Nodes[i].Object
		o, err := o.AnnotateAll(p.annotationsFor(i, errs[p.Graph.Nodes[i].Key.String()]))
		if err != nil {
			return nil, err
		}
		objs = append(objs, o)
	}
	return objs, nil
}

// errorsByObject returns the errors in the order, by the names of the objects that they are about:
// who deploys these sees their annotations, but not the log of the sidecar.
func (p *Plan) errorsByObject() map[string][]string {
	all := map[string][]string{}
	if p.opt.Explain != InAnnotations {
		return all
	}
	for _, f := range p.Findings {
		for _, name := range append(f.AlsoObjects(), f.Object) {
			if f.Severity == finding.Error && name != "" {
				all[name] = append(all[name], "error: "+finding.Finding{Field: f.Field, Message: f.Message, Remedy: f.Remedy,
					Question: f.Question}.Error())
			}
		}
	}
	return all
}

// annotationsFor returns the annotations that a plan adds to a node; reasons are the errors about it.
func (p *Plan) annotationsFor(i int, reasons []string) []object.Annotation {
	var all []object.Annotation
	n, place := p.Graph.Nodes[i], p.Places[i]
	if _, explained := p.Graph.Nodes[i].Annotation(object.Why); p.opt.Explain == InAnnotations && p.opt.Waves != Off &&
		p.Places[i].Computed && !p.singleWave && !(explained && p.Places[i].Author) {
		reasons = append([]string{p.why(i)}, reasons...)
	}
	if len(reasons) > 0 {
		all = append(all, object.Annotation{Key: object.Why, Value: strings.Join(reasons, "; ")})
	}
	if p.opt.Waves == Off {
		// Its CRD was removed on request, which requires this option in any order.
		list, _ := n.Annotation(object.SyncOptions)
		if list, changed := object.WithOptions(list, object.SkipDryRun); n.ExternalCRD && changed {
			all = append(all, object.Annotation{Key: object.SyncOptions, Value: list})
		}
		return all
	}
	// A single wave needs no annotation, unless Argo CD reads another wave from the
	// object.
	if read, _ := n.Wave(); place.Computed && !place.Kept && (!p.singleWave || read != place.Wave) {
		all = append(all, object.Annotation{Key: object.SyncWave, Value: strconv.Itoa(place.Wave)})
	}
	if text, changed := p.mergedOptions(i); changed {
		all = append(all, object.Annotation{Key: object.SyncOptions, Value: text})
	}
	if p.opt.Jobs == AsHooks && changesFail(&p.Graph.Nodes[i]) {
		all = append(all, object.Annotation{Key: object.Hook, Value: string(object.Sync)})
		if _, set := n.Annotation(object.HookDelete); !set {
			all = append(all, object.Annotation{Key: object.HookDelete, Value: "BeforeHookCreation"})
		}
	}
	return all
}

// mergedOptions adds the sync options that the order requires, and reports whether
// that changes them.
func (p *Plan) mergedOptions(i int) (string, bool) {
	n := p.Graph.Nodes[i]
	if !p.Places[i].Computed && len(n.Phases()) == 0 {
		return "", false // Argo CD never applies it
	}
	text, _ := n.Annotation(object.SyncOptions)
	var needs []string
	if n.CRDMissing || n.ExternalCRD {
		needs = append(needs, object.SkipDryRun)
	}
	if tooLong(n.Parts()) {
		needs = append(needs, object.ServerSideApply)
	}
	return object.WithOptions(text, needs...)
}

// annotationLimit is the maximum total size in bytes of an object's annotations
// (k8s.io/apimachinery pkg/api/validation, TotalAnnotationSizeLimitB). kubectl
// apply stores the whole object in one of them.
const annotationLimit = 262144

// tooLong reports whether an object may exceed the limit when kubectl stores it as
// JSON in an annotation. The size is an upper bound: each line without its
// indentation, unless that belongs to a block scalar, plus JSON's punctuation and a
// tenth of the limit for other annotations. Using server-side apply unnecessarily
// is harmless.
func tooLong(comment, text string) bool {
	const limit = annotationLimit * 9 / 10
	size := escapes(comment) + len(comment) + 3*strings.Count(comment, "\n") + escapes(text)
	if len(text)+3*strings.Count(text, "\n")+size <= limit {
		return false
	}
	block := -1 // the indentation of the current block scalar
	for line := range strings.Lines(text) {
		if size > limit {
			return true
		}
		indent := 0
		for indent < len(line) && line[indent] == ' ' {
			indent++
		}
		blank := indent >= len(line)-1
		if block >= 0 && !blank && indent < block {
			block = -1
		}
		if block < 0 && startsText(line) {
			block = indent + 1
		}
		size += len(line) - min(indent, max(block, 0))
		if block < 0 {
			size += 3 - indent
		}
	}
	return size > limit
}

// startsText reports whether the lines after this one may belong to a block scalar.
func startsText(line string) bool {
	for i := len(line) - 1; i >= 0; i-- {
		switch c := line[i]; {
		case c == '|' || c == '>':
			return true
		case c == '+' || c == '-' || c == ' ' || c == '\r' || c == '\n' || '0' <= c && c <= '9':
			// What remains are the indicators of a block scalar, and a comment.
		default:
			return false
		}
	}
	return false
}

// escapes returns the bytes that JSON escapes add to a text in Go's encoding: \"
// for a quote, \u003c for an angle bracket.
func escapes(text string) int {
	n := 0
	for _, c := range []string{`"`, `\`, "\t"} {
		n += strings.Count(text, c)
	}
	for _, c := range []string{"<", ">", "&"} {
		n += 5 * strings.Count(text, c)
	}
	return n
}

// changesFail reports whether a node is a plain Job that configures or validates
// workloads. The API server refuses a change of its template.
func changesFail(n *graph.Node) bool {
	return isImmutable(n) && slices.Contains([]string{knowledge.Bootstraps, knowledge.Smokes}, n.Role)
}

// isImmutable reports whether the API server refuses a change of an object's
// template.
func isImmutable(n *graph.Node) bool {
	return !n.IsHook() && n.Kind.Immutable && !n.Generated
}

// jobFindings reports what will happen to Jobs that are left as they are.
func (p *Plan) jobFindings() []finding.Finding {
	var found []finding.Finding
	for i, n := range p.Graph.Nodes {
		report := func(severity finding.Severity, message, remedy string) {
			found = append(found, finding.Finding{Severity: severity, Rule: "plain-job", File: n.File, Line: n.Line, Object: n.Key.String(),
				Message: message, Remedy: remedy})
		}
		fails := changesFail(&p.Graph.Nodes[i])
		if fails && p.opt.Jobs == AsHooks {
			continue
		}
		expires := n.Kind.Expires.Find(n.Root())
		for _, ttl := range expires {
			if !n.IsHook() {
				report(finding.Warning,
					fmt.Sprintf("Kubernetes deletes it %s s after it finishes; Argo CD then sees it as missing and runs it again at every sync",
						ttl.Value.Text()),
					fmt.Sprintf("remove %s, or make the Job a hook (%s: Sync)", ttl.Field, object.Hook))
			}
		}
		switch {
		case fails:
			report(finding.Note, "the Pod template of a Job is immutable, so a sync fails when the template changes",
				fmt.Sprintf("set jobs: hook, which makes the Job a Sync hook that is deleted before each run, or annotate the Job with %s: Sync",
					object.Hook))
		case isImmutable(&n) && len(expires) == 0 && n.InSync() && !n.External:
			report(finding.Note, "the Pod template of a Job is immutable, so a sync fails when the template changes",
				fmt.Sprintf("annotate the Job with %s: Sync and %s: BeforeHookCreation, or give it a name that changes with the template",
					object.Hook, object.HookDelete))
		}
	}
	return found
}

// ConvertTests turns Helm's tests, which Argo CD never applies, and their dependencies
// into Sync hooks on the smokes rung.
func ConvertTests(objs []object.Object) ([]object.Object, error) {
	out := slices.Clone(objs)
	for i, o := range objs {
		if !o.IsTest() || len(o.Phases()) > 0 {
			continue
		}
		annotations := []object.Annotation{{Key: object.Hook, Value: string(object.Sync)}}
		_, argo := o.Annotation(object.HookDelete)
		_, helm := o.Annotation(object.HelmHookDelete)
		if !argo && !helm {
			annotations = append(annotations, object.Annotation{Key: object.HookDelete, Value: "BeforeHookCreation"})
		}
		var err error
		if out[i], err = o.AnnotateAll(annotations); err != nil {
			return nil, err
		}
	}
	return out, nil
}
