package main

import (
	"io"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

// unexpanded says that the ApplicationSets of a file are not expanded.
func unexpanded(objs []object.Object) []finding.Finding {
	var all []finding.Finding
	for _, o := range objs {
		if o.ID.GroupKind() == "ApplicationSet.argoproj.io" {
			all = append(all, finding.Finding{Severity: finding.Note, Rule: "not-expanded", File: o.File, Line: o.Line, Object: o.ID.String(),
				Message: "an ApplicationSet in a file is not expanded, so its Applications are not checked", Remedy: "name the directory of the file in its repository"})
		}
	}
	return all
}

// isFile reports whether an argument is a file of manifests or standard input.
func isFile(arg string) bool { return !manifests.IsDir(arg) }

// checkOne checks a component or manifests. Its error is about the command line.
func checkOne(in *inputs.Component, stdin io.Reader, arg string, defaults plugin.Settings) (verdict.Verdict, error) {
	var res plugin.Result
	var err error
	if manifests.IsDir(arg) {
		res, err = in.Generate(arg, defaults)
	} else {
		res, err = in.Annotate(stdin, arg, defaults)
	}
	if usage.Is(err) {
		return verdict.Verdict{}, err
	}
	if err != nil { // what cannot be ordered at all is the gravest finding
		return verdict.Verdict{Findings: finding.Of(err)}, nil
	}
	if !manifests.IsDir(arg) {
		res.Findings = append(res.Findings, unexpanded(res.Objects)...)
	}
	waves := checkedWaves(in, defaults)
	if waves == verdict.Computed && slices.ContainsFunc(res.Plan.Places, func(p wave.Placement) bool { return p.Author }) {
		waves = verdict.Following
	}
	return verdict.Verdict{Findings: slices.Concat(res.Findings, res.RenewalFindings(), res.LookupFindings()), Plan: res.Plan, Gates: res.Plan.Audit(res.Base), Waves: waves}, nil
}
