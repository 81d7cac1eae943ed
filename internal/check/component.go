// Package check checks components, fleets, manifests and the installation of an Argo CD as the
// flags of a command select them, and returns verdicts. It returns an error only if the command line is
// invalid or the check could not run; faults of the input are findings.
package check

import (
	"context"
	"io"
	"slices"

	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/graph/hooks"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

// withoutOrdering keeps the waves in the manifests, unless a flag says otherwise.
var withoutOrdering = plugin.Settings{Order: wave.Options{Waves: wave.Off}}

// Named checks the arguments: several components, or one of a component, a file of manifests and
// standard input.
func Named(ctx context.Context, opt inputs.Options, stdin io.Reader, args []string) (verdict.Verdict, error) {
	if len(args) > 1 {
		return all(ctx, opt, args, withoutOrdering)
	}
	return one(ctx, opt, stdin, args[0], withoutOrdering)
}

// Changed checks the components that contain some files, with the waves that the plugin
// would compute.
func Changed(ctx context.Context, opt inputs.Options, files []string) (verdict.Verdict, error) {
	dirs, skipped := locate.Touched(files)
	r, err := all(ctx, opt, dirs)
	r.Findings = slices.DeleteFunc(r.Findings, func(f finding.Finding) bool { return f.Rule == plugin.NotDeployed }) // the user did not name these components
	r.Findings = append(r.Findings, skipped...)
	finding.Sort(r.Findings)
	return r, err
}

// one checks a component or manifests.
func one(ctx context.Context, opt inputs.Options, stdin io.Reader, arg string, defaults plugin.Settings) (verdict.Verdict, error) {
	var res plugin.Result
	var err error
	var found []finding.Finding
	waves := checkedWaves(opt, defaults)
	if checkout.IsDir(arg) {
		res, found, waves, err = component(ctx, opt, arg, defaults)
	} else {
		res, err = opt.Annotate(stdin, arg, defaultsFor(opt, defaults)...)
		found = append(res.AllFindings(), notExpandedNotes(res.Objects)...)
	}
	if usage.Is(err) {
		return verdict.Verdict{}, err
	}
	if err != nil { // report that the manifests cannot be ordered as a finding, not as an error of the command
		return verdict.Verdict{Findings: append(finding.Of(err), found...)}, nil
	}
	if waves == verdict.Computed && slices.ContainsFunc(res.Plan.Places, func(p wave.Placement) bool { return p.Author }) {
		waves = verdict.Following
	}
	return verdict.Verdict{Findings: found, Plan: res.Plan, Gates: res.Plan.Audit(res.Base), Waves: waves}, nil
}

// all checks several components one after the other.
func all(ctx context.Context, opt inputs.Options, dirs []string, defaults ...plugin.Settings) (verdict.Verdict, error) {
	r := verdict.Verdict{Scope: finding.Counted(len(dirs), "component"), Waves: checkedWaves(opt, defaults...)}
	for _, dir := range dirs {
		if !checkout.IsDir(dir) {
			return r, usage.Errorf("%s is not a directory; check files one at a time, or use --changed for the components that contain them", dir)
		}
		_, found, waves, err := component(ctx, opt, dir, defaults...)
		if usage.Is(err) {
			return r, err
		}
		if waves != r.Waves {
			r.Waves = verdict.Mixed
		}
		r.Findings = slices.Concat(r.Findings, found, finding.Of(err))
	}
	finding.Sort(r.Findings)
	return r, nil
}

// defaultsFor returns the defaults of the command, unless flags take hooks into the order: then it
// is that order that the user asks about.
func defaultsFor(opt inputs.Options, defaults ...plugin.Settings) []plugin.Settings {
	if opt.Settings.Hooks == hooks.Order {
		return nil
	}
	return defaults
}

// checkedWaves returns which waves are checked, from the defaults of the command and its flags.
func checkedWaves(opt inputs.Options, defaults ...plugin.Settings) verdict.Waves {
	if waves := opt.Settings.Order.Waves; waves != "" && waves != wave.Off || waves == "" && len(defaultsFor(opt, defaults...)) == 0 {
		return verdict.Computed
	}
	return verdict.Written
}

// notExpandedNotes returns a note for each ApplicationSet of a file, because it is not expanded.
func notExpandedNotes(objs []object.Object) []finding.Finding {
	var all []finding.Finding
	for _, o := range objs {
		if appset.Is(o) {
			all = append(all, finding.Finding{Severity: finding.Note, Rule: "not-expanded", File: o.File, Line: o.Line, Object: o.ID.String(),
				Message: "an ApplicationSet in a file is not expanded, so its Applications are not checked", Remedy: "name the directory of the file in its repository"})
		}
	}
	return all
}
