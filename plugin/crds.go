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
	upgradersLeft = "keep"
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

// wanted returns the selected objects of a component, and those that affect their
// order.
func (l selection) wanted(objs []object.Object) ([]object.Object, error) {
	if l.mode == crds.Include || l.mode == "" {
		return objs, nil
	}
	objs, err := crds.Unique(objs)
	if err != nil || l.mode == crds.Skip {
		return objs, err
	}
	definitions, _ := crds.Split(objs)
	if len(definitions) == 0 {
		return nil, l.missingCRDs(nil)
	}
	return crds.CleanAll(definitions, l.prune)
}

// isExternal reports which objects another Application applies.
func (l selection) isExternal() func(object.Object) bool {
	if l.mode == crds.Skip {
		return crds.Is
	}
	return nil
}

func (l selection) fault(rule, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: rule, File: l.dir, Field: "crds: " + string(l.mode), Message: message, Remedy: remedy}
}

func (l selection) nothingLeft() error {
	return l.fault(render.Empty, "the component contains only CRDs, which crds: skip omits; a manual sync with pruning, or an automated one with allowEmpty, would delete everything that the Application deployed",
		"set crds: only or include")
}

// missingCRDs reports that there are no CRDs to extract. withheld may say where
// they are.
func (l selection) missingCRDs(withheld []finding.Finding) error {
	var hints []string
	for _, f := range withheld {
		hints = append(hints, f.Message+inParentheses(f.Field))
	}
	message := "no CRD was rendered; a manual sync with pruning, or an automated one with allowEmpty, would delete everything that the Application deployed"
	if hints != nil {
		message += "; " + strings.Join(hints, "; ")
	}
	return l.fault(NoCRDs, message, "set crds: include, or the values that enable CRDs, or includeCRDs of a chart in a kustomization")
}

func inParentheses(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// splitComponent is a component split into CRDs and other objects.
type splitComponent struct {
	// rendered is the rendering with the component's values, and findings about its
	// CRDs.
	rendered render.Result
	// definitions are all CRDs that the component can ship, and switches the values
	// that had to be turned on for them.
	definitions []object.Object
	switches    []crds.Path
	survey      *crds.Survey
}

// split renders a component. If all its CRDs are wanted, it renders again with the
// switches turned on that withhold some.
func (req Request) split(ctx context.Context, opt options, base *knowledge.Base) (splitComponent, error) {
	opt.render.Ship = true
	rendered, err := req.renderDir(ctx, opt.render)
	if opt.crds.mode == crds.Only && isOnlyEmpty(err) {
		// A CRD chart may withhold all of its CRDs.
		opt.render.Empty = true
		rendered, err = req.renderDir(ctx, opt.render)
	}
	if err != nil {
		return splitComponent{}, err
	}
	all := splitComponent{rendered: rendered}
	if rendered.Chart == nil {
		all.definitions, _ = crds.Split(rendered.Objects)
		if opt.crds.mode != crds.Only {
			all.reportUpgraders(opt, crds.Upgraders(rendered.Objects, base))
		}
		return all, nil
	}
	all.survey = crds.Examine(rendered.Chart, rendered.Values, base)
	if opt.crds.mode == crds.Only {
		return all, all.turnOn(ctx, req, opt)
	}
	return all, all.turnOff(ctx, req, opt)
}

// Shipment is the content of a component.
type Shipment struct {
	// Definitions describes all CRDs that it can ship, sorted by name.
	Definitions []crds.Definition
	// Objects are the CRDs, and the other objects that its values render.
	Objects []object.Object
	// EnabledValues are the values that were turned on for the CRDs.
	EnabledValues []crds.Path
	Findings      []finding.Finding
}

// Ship finds the CRDs that the component of a request can ship, and which of its
// objects use them. There may be none.
func Ship(ctx context.Context, req Request, base *knowledge.Base) (Shipment, error) {
	req, opt, base, err := req.prepare(ctx, base)
	if err != nil {
		return Shipment{}, err
	}
	opt.crds.mode = crds.Only
	all, err := req.split(ctx, opt, base)
	if err != nil && !lacksOnlyCRDs(err) {
		return Shipment{}, err
	}
	definitions, err := crds.Unique(all.definitions)
	if err != nil {
		return Shipment{}, err
	}
	_, rest := crds.Split(all.rendered.Objects)
	objs := append(definitions, rest...)
	return Shipment{Definitions: crds.List(objs, all.survey), Objects: objs, EnabledValues: all.switches, Findings: append(all.rendered.Findings, opt.fetchFindings()...)}, nil
}

// NoCRDs is the rule for components without the CRDs they should have.
const NoCRDs = "no-crds"

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

// turnOn finds all CRDs of a chart. Unknown switches are kept only if they add
// nothing but CRDs.
func (l *splitComponent) turnOn(ctx context.Context, req Request, opt options) error {
	on := l.try(ctx, req, opt, l.survey.DisabledSwitches(l.rendered.Objects))
	definitions, _ := crds.Split(l.rendered.Objects)
	more, _ := crds.Split(on.Objects)
	l.definitions = crds.Add(definitions, more)
	withheld := l.survey.WithheldCRDs(l.definitions)
	silent := l.survey.IneffectiveSwitches(l.definitions)
	l.rendered.Findings = append(append(l.rendered.Findings, withheld...), silent...)
	if len(l.definitions) == 0 {
		return errors.Join(append([]error{opt.crds.missingCRDs(withheld)}, asErrors(silent)...)...)
	}
	return nil
}

// try turns switches on, all at once or, if one of them adds other objects, one
// after the other. It returns the rendering with those that are kept.
func (l *splitComponent) try(ctx context.Context, req Request, opt options, off []crds.Switch) render.Result {
	if len(off) == 0 {
		return l.rendered
	}
	if all, err := req.with(ctx, opt, "true", paths(off)); err == nil && len(l.addedObjects(off, all)) == 0 {
		l.switches = paths(off)
		return all
	}
	on := l.rendered
	for _, s := range off {
		one, err := req.with(ctx, opt, "true", append(slices.Clone(l.switches), s.Path))
		more := l.addedObjects([]crds.Switch{s}, one)
		if err != nil || len(more) > 0 {
			l.rendered.Findings = append(l.rendered.Findings, switchRefused(s, err, more))
			continue
		}
		on = one
		l.switches = append(l.switches, s.Path)
	}
	return on
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
func (l *splitComponent) addedObjects(on []crds.Switch, rendered render.Result) []string {
	if !slices.ContainsFunc(on, func(s crds.Switch) bool { return !s.Known }) {
		return nil
	}
	before := map[object.ID]bool{}
	for _, o := range l.rendered.Objects {
		before[o.ID] = true
	}
	var more []string
	for _, o := range rendered.Objects {
		if !before[o.ID] && !crds.Is(o) {
			more = append(more, o.ID.String())
		}
	}
	return more
}

// switchRefused says why a value was not turned on.
func switchRefused(s crds.Switch, err error, more []string) finding.Finding {
	f := finding.Finding{Severity: finding.Note, Rule: "crd-switch-refused", Field: s.Path.String(),
		Remedy: "set it in both Applications if you want these objects"}
	if err != nil {
		cause := finding.Of(err)[0]
		cause.Remedy = "" // the finding has its own remedy
		f.Message = "it enables CRDs, but the chart does not render with it: " + cause.Error()
		f.Remedy = "if you need these CRDs, set it in both Applications, with the other values that the chart then requires"
		return f
	}
	f.Message = fmt.Sprintf("it enables CRDs, but also other objects: %s", strings.Join(more[:min(len(more), 5)], ", "))
	if len(more) > 5 {
		f.Message += fmt.Sprintf(" and %d others", len(more)-5)
	}
	return f
}

// turnOff finds the Jobs that write CRDs, and turns them off if requested: by the
// chart's values where those are known, otherwise by removing the Job.
func (l *splitComponent) turnOff(ctx context.Context, req Request, opt options) error {
	upgraders := l.survey.Upgraders(l.rendered.Objects)
	if opt.crds.upgraders != upgradersOff {
		l.reportUpgraders(opt, upgraders)
		return nil
	}
	var off []crds.Path
	for _, u := range upgraders {
		if u.DisabledBy != nil && !slices.ContainsFunc(off, func(p crds.Path) bool { return slices.Equal(p, u.DisabledBy) }) {
			off = append(off, u.DisabledBy)
		}
	}
	if off != nil {
		without, err := req.with(ctx, opt, "false", off)
		if err != nil {
			return err
		}
		without.Findings = l.rendered.Findings
		before, _ := crds.Split(l.rendered.Objects)
		after, _ := crds.Split(without.Objects)
		if len(after) == len(before) {
			l.rendered = without
			upgraders = l.survey.Upgraders(without.Objects)
		}
	}
	l.reportUpgraders(opt, upgraders)
	return nil
}

// reportUpgraders reports each Job that writes CRDs, because it conflicts with the
// Application that contains them, or removes it.
func (l *splitComponent) reportUpgraders(opt options, all []crds.Upgrader) {
	for _, u := range all {
		if opt.crds.upgraders == upgradersOff {
			l.rendered.Objects = slices.DeleteFunc(l.rendered.Objects, func(o object.Object) bool { return o.ID == u.ID })
			continue
		}
		l.rendered.Findings = append(l.rendered.Findings, u.Conflict())
	}
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
	o.Ship = false
	return req.renderDir(ctx, o)
}

// checkRelease makes sure that CRDs that contain the name of the operator's release
// were rendered with that name. The Application of the CRDs has a name of its own.
func (req Request) checkRelease(opt options, definitions []object.Object) error {
	isSet := slices.ContainsFunc(req.Settings, func(s Settings) bool { return s.Name != "" })
	if isSet || req.App.Name == "" {
		return nil
	}
	var faults []error
	for _, o := range definitions {
		if fields := crds.NamesRelease(o, opt.render.Name); fields != nil {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "crd-release", File: o.File, Line: o.Line, Object: o.ID.String(), Field: fields[0],
				Message: fmt.Sprintf("it refers to the operator by the name of its release, but %s is the name of this Application", opt.render.Name),
				Remedy:  "set the parameter name to the name of the Application that runs the operator, here and there"})
		}
	}
	return errors.Join(faults...)
}
