package cluster

import (
	"os"
	"path/filepath"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/object"
)

// valuesOf reads a values file of the argo-cd chart.
func valuesOf(file string) (doctor.Values, error) {
	text, err := wholefile.Read(file, "pass values for the argo-cd chart")
	if err != nil {
		return doctor.Values{}, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		line, message := object.SyntaxError(err)
		return doctor.Values{}, finding.Finding{Severity: finding.Error, Rule: "invalid-yaml", File: file, Line: line,
			Message: message, Remedy: "correct the YAML"}
	}
	v, ok := doctor.NamedValues(file, text)
	if !ok {
		return v, finding.Finding{Severity: finding.Error, Rule: finding.BadValues, File: file,
			Message: "it has no values for the argo-cd chart", Remedy: "pass such a file, or manifests without --values"}
	}
	return v, nil
}

// CheckOne refuses values files together with a rendered repo-server, since
// findings could not be attributed.
func CheckOne(e doctor.Input, live bool) error {
	if len(e.Values) == 0 {
		return nil
	}
	where := ""
	if live {
		where = "the cluster"
	}
	for _, o := range e.Objects {
		if doctor.IsRepoServer(o) && where == "" {
			where = o.File
		}
	}
	if where == "" {
		return nil
	}
	return finding.Usagef("%s already contains a repo-server, so the values of %s are not applied to it; "+
		"pass them with -f together with the directory of the chart, or check only one of the two", where, e.Values[0].File)
}

func IsChart(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "Chart.yaml"))
	return err == nil
}

// Described lists what was checked.
func Described(e doctor.Input) string {
	var parts []string
	if len(e.Objects) > 0 || len(e.Values) == 0 {
		parts = append(parts, finding.Counted(len(e.Objects), "object"))
	}
	if len(e.Values) > 0 {
		parts = append(parts, finding.Counted(len(e.Values), "values file")+"; the chart was not rendered")
	}
	return strings.Join(parts, " and ")
}
