package main

import (
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

// checkChanged checks the components that contain some files, with the waves that the plugin
// would compute.
func checkChanged(in *inputs.Component, files []string) (verdict.Verdict, error) {
	dirs, left := locate.Touched(files)
	r, err := checkAll(in, dirs)
	r.Findings = slices.DeleteFunc(r.Findings, func(f finding.Finding) bool { return f.Rule == plugin.NotDeployed }) // nobody named these
	r.Findings = append(r.Findings, left...)
	finding.Sort(r.Findings)
	return r, err
}

// checkAll checks several components one after the other.
func checkAll(in *inputs.Component, dirs []string, defaults ...plugin.Settings) (verdict.Verdict, error) {
	r := verdict.Verdict{Scope: finding.Counted(len(dirs), "component"), Waves: checkedWaves(in, defaults...)}
	for _, dir := range dirs {
		if !manifests.IsDir(dir) {
			return r, usage.Errorf("%s is not a directory; check files one at a time, or use --changed for the components that contain them", dir)
		}
		res, err := in.Generate(dir, defaults...)
		if usage.Is(err) {
			return r, err
		}
		r.Findings = slices.Concat(r.Findings, res.Findings, res.RenewalFindings(), res.LookupFindings(), finding.Of(err))
	}
	finding.Sort(r.Findings)
	return r, nil
}

// checkedWaves says which waves a check is about, by its defaults and the flag.
func checkedWaves(in *inputs.Component, defaults ...plugin.Settings) verdict.Waves {
	settings, err := in.Settings()
	if waves := settings.Order.Waves; err == nil && waves != "" && waves != wave.Off || err == nil && waves == "" && len(defaults) == 0 {
		return verdict.Computed
	}
	return verdict.Written
}
