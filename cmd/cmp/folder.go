package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/plugin"
)

// checkTouched judges the components that files are in, in the order that the
// plugin makes.
func (in *inputs) checkTouched(cmd *cobra.Command, s streams, files []string, format string) error {
	var r verdict.Verdict
	dirs := locate.Touched(files)
	for _, dir := range dirs {
		res, err := in.generate(cmd, dir)
		if usage.Is(err) {
			return err
		}
		r.Findings = slices.Concat(r.Findings, res.Findings, res.RenewalFindings(), res.LookupFindings(), finding.Of(err))
	}
	finding.Sort(r.Findings)
	r.Of = finding.Counted(len(dirs), "component")
	return writeVerdict(s, r, format, false)
}

// notOne says why something could not be rendered. If that is because it is a
// folder of components, each of its files is at fault, and no remedy for any of
// them helps.
func (in *inputs) notOne(cmd *cobra.Command, req plugin.Request, err error) error {
	if err == nil || in.flags.Changed("renderer") {
		return err
	}
	return locate.NotComponent(cmd.Name(), req, err)
}
