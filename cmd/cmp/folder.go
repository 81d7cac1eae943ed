package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/plugin"
)

// checkChanged judges the components that files are in, in the order that the
// plugin makes.
func (in *inputs) checkChanged(cmd *cobra.Command, files []string) (verdict.Verdict, error) {
	return in.checkAll(cmd, locate.Touched(files))
}

// checkAll judges several components, one after the other.
func (in *inputs) checkAll(cmd *cobra.Command, dirs []string, defaults ...plugin.Settings) (verdict.Verdict, error) {
	r := verdict.Verdict{Of: finding.Counted(len(dirs), "component")}
	for _, dir := range dirs {
		if !manifests.IsDir(dir) {
			return r, usage.Errorf("%s is not a directory; check files one at a time, or use --changed for the components that contain them", dir)
		}
		res, err := in.generate(cmd, dir, defaults...)
		if usage.Is(err) {
			return r, err
		}
		r.Findings = slices.Concat(r.Findings, res.Findings, res.RenewalFindings(), res.LookupFindings(), finding.Of(err))
	}
	finding.Sort(r.Findings)
	if len(defaults) > 0 && !cmd.Flags().Changed("waves") {
		r.Of += ", with the waves in their manifests; --waves rungs checks those that Ladder computes"
	}
	return r, nil
}

// componentsIn lists the components in a directory of them.
func (in *inputs) componentsIn(dir string) []string {
	req, _, done, err := in.request(dir)
	if err != nil {
		return nil
	}
	defer done()
	var all []string
	for _, of := range locate.Components(req) {
		all = append(all, req.Show(of))
	}
	return all
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
