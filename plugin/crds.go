package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/input"
)

// How to treat Jobs that write CRDs.
const (
	upgradersKeep = "keep"
	upgradersOff  = "off"
)

// selection selects a part of a component: with CRDs, without, or both.
type selection struct {
	mode      crds.Mode
	prune     bool
	upgraders string
	// dir is the directory of the component as shown to users.
	dir string
}

// selectObjects returns the selected objects of a component. With crds: skip it also returns
// the CRDs, which affect the order of the others.
func (s selection) selectObjects(objs []object.Object) ([]object.Object, error) {
	if s.mode == crds.Include || s.mode == "" {
		return objs, nil
	}
	objs, err := crds.Unique(objs)
	if err != nil || s.mode == crds.Skip {
		return objs, err
	}
	crdObjects, _ := crds.Split(objs)
	if len(crdObjects) == 0 {
		return nil, s.missingCRDs(nil)
	}
	return crds.CleanAll(crdObjects, s.prune)
}

// isExternal reports which objects another Application applies.
func (s selection) isExternal() func(object.Object) bool {
	if s.mode == crds.Skip {
		return crds.Is
	}
	return nil
}

func (s selection) fault(rule finding.Rule, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: rule, File: s.dir, Field: "crds: " + string(s.mode),
		Message: message, Remedy: remedy}
}

// errOnlyCRDs returns the error about a component that contains nothing but the CRDs that
// crds: skip omits.
func (s selection) errOnlyCRDs() error {
	return s.fault(render.Empty, "the component contains only CRDs, which crds: skip omits; "+
		"a manual sync with pruning, or an automated one with allowEmpty, would delete everything that the Application deployed",
		"set crds: only or include")
}

// missingCRDs reports that there are no CRDs to extract. withheld are findings about values
// that disable CRDs; the error quotes them.
func (s selection) missingCRDs(withheld []finding.Finding) error {
	var hints []string
	for _, f := range withheld {
		hint := f.Message
		if f.Field != "" {
			hint += " (" + f.Field + ")"
		}
		hints = append(hints, hint)
	}
	message := "no CRD was rendered; a manual sync with pruning, or an automated one with allowEmpty, " +
		"would delete everything that the Application deployed without Prune=false"
	if hints != nil {
		message += "; " + strings.Join(hints, "; ")
	}
	return s.fault(NoCRDs, message,
		"set crds: include, set the values that enable CRDs, or, if a kustomization renders the chart, set includeCRDs: true there")
}

// allCRDs are all CRDs that a component can install.
type allCRDs struct {
	objects []object.Object
	// rendered is the rendering with the component's values, and findings about its CRDs.
	rendered render.Result
	// survey lists the CRDs of a chart; nil for other kinds of components.
	survey *crds.Survey
}

// renderCRDs renders all CRDs of a component: a chart again with those values turned on that
// disable some of the CRDs. Unknown switches are kept only if they add nothing but CRDs.
func (req Request) renderCRDs(ctx context.Context, opt options, base *knowledge.Base) (allCRDs, error) {
	opt.render.AllCRDs = true
	rendered, err := req.renderDir(ctx, opt.render)
	if isOnlyEmpty(err) {
		// The values of a CRD chart may disable all of its CRDs.
		opt.render.AllowEmpty = true
		rendered, err = req.renderDir(ctx, opt.render)
	}
	if err != nil {
		return allCRDs{rendered: rendered}, err
	}
	objs, _ := crds.Split(rendered.Objects)
	if rendered.Chart == nil {
		return allCRDs{objects: objs, rendered: rendered}, nil
	}
	survey := crds.Examine(rendered.Chart, rendered.Values, base)
	on, refused := req.turnOn(ctx, opt, rendered, survey.DisabledSwitches(rendered.Objects))
	more, _ := crds.Split(on.Objects)
	objs = crds.Add(objs, more)
	withheld := survey.CRDsOfFeatures(objs)
	silent := survey.IneffectiveSwitches(objs)
	rendered.Findings = slices.Concat(rendered.Findings, refused, withheld)
	if len(objs) == 0 {
		return allCRDs{objs, rendered, survey}, errors.Join(append([]error{opt.crds.missingCRDs(withheld)}, asErrors(silent)...)...)
	}
	rendered.Findings = append(rendered.Findings, silent...)
	return allCRDs{objs, rendered, survey}, nil
}

// CRDSurvey lists the CRDs that a component can install.
type CRDSurvey struct {
	// CRDs describes the CRDs, sorted by name.
	CRDs []crds.Description
	// Objects are the CRDs, and the other objects that the component renders with its
	// own values.
	Objects  []object.Object
	Findings []finding.Finding
}

// FindCRDs finds the CRDs that the component of a request can install, and which of its
// objects use them. There may be none.
func FindCRDs(ctx context.Context, req Request, base *knowledge.Base) (CRDSurvey, error) {
	req, opt, base, err := req.prepare(ctx, base)
	if err != nil {
		return CRDSurvey{}, err
	}
	opt.crds.mode = crds.Only
	all, err := req.renderCRDs(ctx, opt, base)
	if err != nil && !lacksOnlyCRDs(err) {
		return CRDSurvey{}, err
	}
	crdObjects, err := crds.Unique(all.objects)
	if err != nil {
		return CRDSurvey{}, err
	}
	_, rest := crds.Split(all.rendered.Objects)
	objs := append(crdObjects, rest...)
	return CRDSurvey{CRDs: crds.List(objs, all.survey), Objects: objs, Findings: append(all.rendered.Findings, opt.fetchFindings()...)}, nil
}

// NoCRDs is the rule for components that render no CRD with crds: only.
const NoCRDs finding.Rule = "no-crds"

// lacksOnlyCRDs reports whether missing CRDs are the only problem.
func lacksOnlyCRDs(err error) bool {
	all := finding.Of(err)
	return len(all) == 1 && all[0].Rule == NoCRDs
}

// isOnlyEmpty reports whether the only problem of a rendering is that it is empty.
func isOnlyEmpty(err error) bool {
	all := finding.Of(err)
	return len(all) == 1 && all[0].Rule == render.Empty
}

// turnOn renders a component with switches turned on, all at once or, if one of them adds
// other objects, one after the other. It also returns why it refused some.
func (req Request) turnOn(ctx context.Context, opt options, rendered render.Result, off []crds.Switch) (on render.Result,
	refused []finding.Finding) {
	if len(off) == 0 {
		return rendered, nil
	}
	if all, err := req.with(ctx, opt, "true", paths(off)); err == nil && len(addedObjects(off, rendered, all)) == 0 {
		return all, nil
	}
	on = rendered
	var kept []crds.Path
	for _, sw := range off {
		one, err := req.with(ctx, opt, "true", append(slices.Clone(kept), sw.Path))
		more := addedObjects([]crds.Switch{sw}, rendered, one)
		if err != nil || len(more) > 0 {
			refused = append(refused, switchRefused(sw, err, more))
			continue
		}
		on, kept = one, append(kept, sw.Path)
	}
	return on, refused
}

func asErrors(all []finding.Finding) []error {
	var errs []error
	for _, f := range all {
		f.Severity = finding.Error
		errs = append(errs, f)
	}
	return errs
}

// addedObjects returns the objects other than CRDs that switches add. Known switches may
// add objects.
func addedObjects(on []crds.Switch, without, with render.Result) []string {
	if !slices.ContainsFunc(on, func(s crds.Switch) bool { return !s.Known }) {
		return nil
	}
	before := map[object.ID]bool{}
	for _, o := range without.Objects {
		before[o.ID] = true
	}
	var more []string
	for _, o := range with.Objects {
		if !before[o.ID] && !crds.Is(o) {
			more = append(more, o.ID.String())
		}
	}
	return more
}

// switchRefused says why a value was not turned on.
func switchRefused(s crds.Switch, err error, more []string) finding.Finding {
	f := finding.Finding{Severity: finding.Note, Rule: "crd-switch", Field: s.Path.String(),
		Remedy: "if you want these objects, set it in the Application of the CRDs and in that of the other objects"}
	if err != nil {
		cause := finding.Of(err)[0]
		cause.Remedy = "" // the finding has its own remedy
		f.Message = "it enables CRDs, but the chart does not render with it: " + cause.Error()
		f.Remedy = "set it, and the values that it requires, in the Application of the CRDs and in that of the other objects"
		return f
	}
	f.Message = fmt.Sprintf("it enables CRDs, but also other objects: %s", strings.Join(more[:min(len(more), 5)], ", "))
	if len(more) > 5 {
		f.Message += fmt.Sprintf(" and %d others", len(more)-5)
	}
	return f
}

// renderOthers renders a component without the Jobs that write CRDs if crds-upgraders is off:
// the chart's values turn them off where those are known, otherwise the Job is removed.
func (req Request) renderOthers(ctx context.Context, opt options, base *knowledge.Base) (render.Result, error) {
	opt.render.AllCRDs = true
	rendered, err := req.renderDir(ctx, opt.render)
	if err != nil {
		return rendered, err
	}
	if rendered.Chart == nil {
		return opt.crds.withoutUpgraders(rendered, crds.Upgraders(rendered.Objects, base)), nil
	}
	survey := crds.Examine(rendered.Chart, rendered.Values, base)
	upgraders := survey.Upgraders(rendered.Objects)
	var off []crds.Path
	for _, u := range upgraders {
		if u.DisabledBy != nil && !slices.ContainsFunc(off, func(p crds.Path) bool { return slices.Equal(p, u.DisabledBy) }) {
			off = append(off, u.DisabledBy)
		}
	}
	if off != nil && opt.crds.upgraders == upgradersOff {
		without, err := req.with(ctx, opt, "false", off)
		if err != nil {
			return render.Result{}, err
		}
		without.Findings = rendered.Findings
		before, _ := crds.Split(rendered.Objects)
		after, _ := crds.Split(without.Objects)
		if len(after) == len(before) {
			rendered, upgraders = without, survey.Upgraders(without.Objects)
		}
	}
	return opt.crds.withoutUpgraders(rendered, upgraders), nil
}

// withoutUpgraders removes each Job that writes CRDs if crds-upgraders is off; otherwise it
// reports the Job, because both the Job and the Application of the CRDs write them.
func (s selection) withoutUpgraders(rendered render.Result, all []crds.Upgrader) render.Result {
	for _, u := range all {
		if s.upgraders == upgradersOff {
			rendered.Objects = slices.DeleteFunc(rendered.Objects, func(o object.Object) bool { return o.ID == u.ID })
		} else {
			rendered.Findings = append(rendered.Findings, u.Conflict())
		}
	}
	return rendered
}

func paths(switches []crds.Switch) []crds.Path {
	var all []crds.Path
	for _, s := range switches {
		all = append(all, s.Path)
	}
	return all
}

// with renders a component with some values that override all others.
func (req Request) with(ctx context.Context, opt options, value string, set []crds.Path) (render.Result, error) {
	var v input.Values
	for _, p := range set {
		v.Set = append(v.Set, p.Expression()+"="+value)
	}
	o := opt.render
	o.Values = append(slices.Clone(o.Values), v)
	o.AllCRDs = false
	return req.renderDir(ctx, o)
}

// checkRelease makes sure that CRDs that contain the name of the operator's release
// were rendered with that name. The Application of the CRDs has a name of its own.
func (req Request) checkRelease(opt options, crdObjects []object.Object) error {
	isSet := slices.ContainsFunc(req.Settings, func(s Settings) bool { return s.Name != "" })
	if isSet || req.App.Name == "" {
		return nil
	}
	var faults []error
	for _, o := range crdObjects {
		if fields := crds.NamesRelease(o, opt.render.Name); fields != nil {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "crd-release", File: o.File, Line: o.Line,
				Object: o.ID.String(), Field: fields[0],
				Message: fmt.Sprintf("the CRD contains the name of the operator's Helm release, "+
					"but the release name here is that of this Application, %s", opt.render.Name),
				Remedy: `in both Applications, set the "name" parameter to the name of the Application that runs the operator`})
		}
	}
	return errors.Join(faults...)
}
