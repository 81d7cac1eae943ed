package cluster

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/object"
)

// ReadFiles reads what is on disk of an Argo CD: the files and directories among args, and
// values files, unless the chart that they belong to is among args. manifestsOf reads
// manifests, or renders a directory. stdin is what standard input, "-", contains.
func ReadFiles(args, values []string, stdin []byte, manifestsOf func(arg string) ([]object.Object, error)) (doctor.Input, error) {
	var e doctor.Input
	var faults []error
	for _, arg := range args {
		v, isValues, err := valuesAmong(arg, stdin)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if isValues {
			e.Values = append(e.Values, v)
			continue
		}
		objs, err := manifestsOf(arg)
		if finding.IsUsage(err) {
			return e, err
		}
		faults = append(faults, err)
		e.Objects = append(e.Objects, objs...)
	}
	if slices.ContainsFunc(args, IsChart) {
		values = nil // it was rendered with them
	}
	for _, file := range values {
		v, err := valuesOf(file)
		faults = append(faults, err)
		if err == nil {
			e.Values = append(e.Values, v)
		}
	}
	return e, errors.Join(faults...)
}

// valuesAmong reports whether an argument is a file with values for the argo-cd chart. The
// error is that it is neither that nor manifests.
func valuesAmong(arg string, stdin []byte) (v doctor.Values, is bool, err error) {
	if arg == "-" {
		v, is = doctor.ChartValues(finding.StandardInput, stdin)
		return v, is, nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return v, false, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: arg, Message: wholefile.Reason(err),
			Remedy: `pass manifests, a directory, values for the argo-cd chart, or "-" for standard input`}
	}
	if info.IsDir() {
		return v, false, nil
	}
	text, err := os.ReadFile(arg)
	if err != nil {
		return v, false, nil // which reading its manifests says, too
	}
	if v, is = doctor.ChartValues(arg, text); !is && doctor.IsOtherMapping(text) {
		return v, false, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: arg,
			Message: "this is neither a manifest nor values for the argo-cd chart",
			Remedy:  "pass manifests, with apiVersion and kind, or such values, with " + strings.Join(doctor.ChartKeys[:2], " or ")}
	}
	return v, is, nil
}
