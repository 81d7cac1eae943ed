package render

import (
	"text/template"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/kustomize"
	"github.com/ladder-cmp/ladder/render/random"
)

// DefaultKubeVersion is the Kubernetes version that templates see if neither Argo
// CD nor a flag sets one. It is set here because the default of the libraries
// changes with their releases (Helm 3 says v1.20.0).
const DefaultKubeVersion = "1.36.0"

// Options are the inputs of a rendering, apart from the files of the component. The
// zero value uses defaults.
type Options struct {
	// Kind is the kind of the component; empty means to detect it (see Detect).
	Kind Kind
	// Name is the Helm release name, which is the Application's name.
	Name string
	// Namespace is the destination namespace.
	Namespace string
	// Revision is the rendered commit; templated YAML may print it.
	Revision string
	// Values override the values of the component; later ones take precedence.
	Values []input.Values
	// KubeVersion is the version of the cluster, such as "1.34.2"; empty
	// means DefaultKubeVersion.
	KubeVersion string
	// APIVersions are API versions of the cluster besides Helm's default ones, as
	// "group/version" or "group/version/Kind".
	APIVersions []string
	// Pinned means that the component only sees APIVersions, whatever a cluster
	// supports.
	Pinned bool
	// SkipTests excludes the test hooks of a chart, SkipHooks all hooks, and
	// SkipCRDs the files of its crds/. SkipSchema disables validation of its values
	// against its schema.
	SkipTests, SkipHooks, SkipCRDs, SkipSchema bool
	// IgnoreMissing ignores values files that do not exist.
	IgnoreMissing bool
	// Directory selects the files of plain YAML.
	Directory Directory
	// Edits are applied to a kustomization before it is built.
	Edits kustomize.Edits
	// Unrestricted allows a kustomization to read any file of the repository.
	Unrestricted bool
	// AllCRDs requests everything that the chart can ship (see Result.Chart), and
	// findings about the files of crds/.
	AllCRDs bool
	// AllowEmpty allows an empty result.
	AllowEmpty bool
	// Memory caches data between renderings; it may be nil.
	Memory *input.Memory
	// Probe receives the templates of each chart before they run, and returns
	// functions that replace Helm's; nil replaces none. Package vary
	// uses it to find out what a rendering depends on.
	Probe func([]helm.TemplateText) template.FuncMap
	// Random provides the functions with random or time-dependent results; the zero
	// value means Helm's own.
	Random random.Source
	// Remote fetches sources that are not in the repository; nil disables fetching.
	Remote remote.Fetcher
	// Show converts a path in the repository to the path for messages and objects;
	// nil leaves it unchanged.
	Show func(path string) string
}

// Result is the rendering of a component.
type Result struct {
	Kind    Kind
	Objects []object.Object
	// Findings are problems that did not stop the rendering.
	Findings []finding.Finding
	// Chart and Values are the chart with all subcharts and the effective values,
	// if Options.AllCRDs is set and there is a chart.
	Chart  *crds.Chart
	Values crds.Values
	// Revision reports whether Options.Revision may have affected the result.
	Revision bool
	// Edited reports whether a kustomization was built, to which Edits apply.
	Edited bool
	// Inflated reports whether charts of kustomizations were rendered; their
	// templates see Options.KubeVersion and Options.APIVersions.
	Inflated bool
	// Derived reports whether Options.Random.Key affected the result. Renewals are
	// the derived certificates, sorted by renewal.
	Derived  bool
	Renewals []random.Renewal
	// Lookups are the calls of lookup in templates. Each returned nothing.
	Lookups []random.Lookup
	// Drawn are the templates with random values that no seed determines.
	Drawn []string
}
