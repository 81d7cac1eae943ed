package helm

import (
	"errors"

	"helm.sh/helm/v4/pkg/chart/common"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"fmt"
	"io/fs"
	"path"
	"strings"

	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/render/input"
)

// badIgnore is the error for a .helmignore that Helm cannot use.
type badIgnore struct{ error }

// loadFault names the file that makes a chart unreadable. Helm's errors have no types,
// so their texts decide.
func (s source) loadFault(dir string, err error) finding.Finding {
	text := err.Error()
	name := "Chart.yaml"
	for _, candidate := range []string{"values.yaml", "Chart.lock", "requirements.yaml", "requirements.lock"} {
		if strings.Contains(text, "cannot load "+candidate) {
			name = candidate
		}
	}
	if inner, rest, ok := strings.Cut(text, "error unpacking subchart "); ok && inner == "" {
		sub, _, _ := strings.Cut(rest, " ")
		name = path.Join("charts", sub, name)
		if strings.HasSuffix(sub, ".tgz") {
			name = path.Join("charts", sub)
		}
	}
	data, _ := fs.ReadFile(s.FS, path.Join(dir, name)) // unless it is in an archive
	generic := input.InvalidYAML(s.Show(path.Join(dir, name)), err)
	f := generic
	if path.Base(name) == "values.yaml" {
		f = input.InvalidValues(f.File, data, err)
	}
	f.Rule = finding.BadChart
	if f.Remedy == generic.Remedy {
		f.Remedy = "correct the syntax"
	}
	if f.Line > 0 {
		return f
	}
	f.Message = strings.TrimPrefix(f.Message, "not valid YAML: ")
	f.Remedy = "correct " + path.Base(f.File)
	if m := missingMetadata.FindStringSubmatch(f.Message); m != nil {
		f.Field, f.Message, f.Remedy = m[1], "missing value", fmt.Sprintf("add the key %q to Chart.yaml", m[1])
	}
	return input.Mistyped(f, err, data)
}

// missingMetadata is Helm's message about a missing key of Chart.yaml.
var missingMetadata = lazyregexp.New(`^validation: chart\.metadata\.(\w+) is required$`)

// checkChart reports why "helm template" would refuse a chart before rendering.
func (s source) checkChart(ch *chart.Chart, caps *common.Capabilities) error {
	var faults []error
	bad := func(field, message, remedy string) {
		f := s.Fault(finding.BadChart, "Chart.yaml", message, remedy)
		f.Field = field
		faults = append(faults, f)
	}
	switch ch.Metadata.Type {
	case "", "application":
	case "library":
		bad("type", "a library chart renders nothing by itself", "render a chart that depends on it")
	default:
		bad("type", "unknown chart type "+ch.Metadata.Type, "use application or library")
	}
	if f, invalid := InvalidRelease(s.opt.Name); invalid {
		faults = append(faults, f)
	}
	if want := ch.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, caps.KubeVersion.String()) {
		bad("kubeVersion",
			fmt.Sprintf("the chart requires Kubernetes %s, but the version is %s", want, caps.KubeVersion.Version),
			"set kube-version to the cluster's version, or use another version of the chart")
	}
	return errors.Join(faults...)
}
