package plugin

import (
	"errors"
	"slices"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/graph/hooks"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/wave"
)

// The kinds of components that parameters affect.
var (
	charts    = []render.Kind{render.Helm}
	templated = []render.Kind{render.Helm, render.Template}
)

var ofRendering = []Parameter{
	{
		Name: "name", Visible: true, Kinds: templated, Title: "Release name", Item: "string", Collection: "string",
		Tooltip: "Name of the Helm release, and .Release.Name in templates. The Application's name if empty.",
		Flag:    "Name of the Helm release, and .Release.Name in templates (default: name in component.yaml, or the name of the directory)",
		set:     one(func(s *Settings) *string { return &s.Name }),
	},
	{
		Name: "namespace", Visible: true, Short: "n", Title: "Namespace", Item: "string", Collection: "string",
		Tooltip: "Namespace that templates see, and that Ladder assumes for objects without one. The Application's destination if empty.",
		Flag: `Namespace that templates see, and that Ladder assumes for objects without one (default: namespace in component.yaml, or "` +
			defaultNamespace + `")`,
		set: checked(namespaceFault, one(func(s *Settings) *string { return &s.Namespace })),
	},
	{
		Name: "environment", Visible: true, Title: "Environment", Item: "string", Collection: "string",
		Tooltip: "Environment of the fleet, whose values from component.yaml and ladder.yaml are used.",
		set:     one(func(s *Settings) *string { return &s.Environment }),
	},
	{
		Name: "renderer", Visible: true, Title: "Renderer", Item: "string", Collection: "string", Default: "detected",
		Tooltip: "How to render the directory: helm, kustomize, helm-kustomize, template, plain or tree (the charts and kustomizations below " +
			"the directory, and the other manifests as plain YAML). Detected from its files if empty; tree is never detected.",
		Flag: "Renderer: helm, kustomize, helm-kustomize, template or plain; " +
			"or tree, which is never detected: it renders the charts and kustomizations below the directory, and the other manifests as plain YAML",
		Choices: words(render.Kinds()...),
		set:     checked(rendererFault, text(func(o *options) *render.Kind { return &o.render.Kind })),
	},
	{
		Name: "values", Visible: true, Short: "f", Title: "Values files", Item: "string", Collection: "array",
		Tooltip: "Values files; later ones override earlier ones. Relative to the component's directory; /path is relative to the repository.",
		Flag:    "Values files; later ones override earlier ones",
		set:     list(func(s *Settings) *[]string { return &s.Values.Files }),
	},
	{
		Name: "set", Visible: true, Title: "Values", Item: "string", Collection: "map",
		Tooltip: "Single values by their path, such as image.tag: v2. They override values files.",
		Flag:    "Set values, such as image.tag=v2; overrides values files",
		set:     list(func(s *Settings) *[]string { return &s.Values.Set }),
	},
	{
		Name: "set-string", Visible: true, Title: "Text values", Item: "string", Collection: "map",
		Tooltip: "Like set, but the value is always text, even if it looks like a number.",
		Flag:    "Set text values, even if they look like numbers",
		set:     list(func(s *Settings) *[]string { return &s.Values.SetString }),
	},
	{
		Name: "set-file", Visible: true, Title: "Values from files", Item: "string", Collection: "map",
		Tooltip: "Like set, but the value is the content of the named file.",
		Flag:    "Set values to the content of files",
		set:     list(func(s *Settings) *[]string { return &s.Values.SetFile }),
	},
	{
		Name: "kube-version", Visible: true, Kinds: templated, Title: "Kubernetes version", Item: "string", Collection: "string",
		Default: "in Argo CD, the version of the destination cluster; otherwise " + render.DefaultKubeVersion,
		Tooltip: "Kubernetes version for .Capabilities in templates, such as 1.34.2. The cluster's if empty.",
		Flag:    "Kubernetes version for .Capabilities in templates, such as 1.34.2",
		set:     checked(kubeVersionFault, one(func(s *Settings) *string { return &s.KubeVersion })),
	},
	{
		Name: "api-versions", Visible: true, Kinds: templated, Short: "a", Title: "API versions", Item: "string", Collection: "array",
		Tooltip: "API versions for .Capabilities in templates, in addition to the cluster's, such as monitoring.coreos.com/v1; " +
			"capabilities: pinned omits the cluster's.",
		Flag: "API versions for .Capabilities in templates, such as monitoring.coreos.com/v1",
		set:  checked(apiVersionFault, list(func(s *Settings) *[]string { return &s.APIVersions })),
	},
	{
		Name: "capabilities", Title: "Capabilities", Item: "string", Collection: "string", Default: capabilitiesOfCluster, Kinds: templated,
		Tooltip: "API versions in .Capabilities besides the built-in ones. cluster: those of the cluster and of api-versions; " +
			"pinned: only those of api-versions; fleet: like pinned, and fleet commands add the CRDs that components of earlier steps install.",
		Choices: words(capabilitiesOfCluster, capabilitiesPinned, capabilitiesOfFleet),
		set:     text(func(o *options) *string { return &o.capabilities }),
	},
	{
		Name: "skip-tests", Kinds: charts, Title: "Skip tests", Item: "boolean", Collection: "string", Default: "false",
		Tooltip: "Omit the test hooks of charts. Argo CD never applies them either way.",
		set:     boolean(func(o *options) *bool { return &o.render.SkipTests }),
	},
	{
		Name: "random", Title: "Random values", Item: "string", Collection: "string", Default: randomDerived + " where there is a seed",
		Tooltip: "What random functions of charts return. derived: the same values on every render for the same Application and seed; " +
			"drawn: new values on every render, as in Helm.",
		Choices: words(randomDerived, randomDrawn),
		set:     text(func(o *options) *string { return &o.random }),
	},
}

var ofOrder = []Parameter{
	{
		Name: "waves", Visible: true, Title: "Waves", Item: "string", Collection: "string", Default: string(wave.Rungs),
		Tooltip: "How many waves to create. rungs: one wherever Argo CD has to wait for an object; " +
			"compact: only where an object would otherwise fail or use the wrong data; off: none.",
		Choices: words(wave.Rungs, wave.Compact, wave.Off),
		set:     one(func(s *Settings) *wave.Style { return &s.Waves }),
	},
	{
		Name: "author-waves", Visible: true, Title: "Waves in the manifests", Item: "string", Collection: "string", Default: string(wave.Refine),
		Tooltip: "How to treat existing sync waves. refine: split a wave only if an object in it would fail otherwise; " +
			"keep: do not change them; override: replace them.",
		Choices: words(wave.Refine, wave.Keep, wave.Override),
		set:     text(func(o *options) *wave.AuthorPolicy { return &o.waves.Author }),
	},
	{
		Name: "explain", Title: "Reasons for waves", Item: "string", Collection: "string",
		Default: string(wave.ExplainOff) + ", or --explain of the server",
		Tooltip: "Whether to write the reason for each wave, and errors in the order. " +
			"annotations: as an annotation on the object, which Argo CD's UI shows; off: only in reports.",
		Choices: words(wave.ExplainOff, wave.InAnnotations),
		set:     text(func(o *options) *wave.Explain { return &o.waves.Explain }),
	},
	{
		Name: "strict", Title: "Strict", Item: "boolean", Collection: "string", Default: "false",
		Tooltip: "Fail the rendering in Argo CD if Ladder finds an error in the order, such as waves that certainly hang; " +
			"otherwise, only the log of the sidecar and the annotations of explain contain it.",
		set: boolean(func(o *options) *bool { return &o.strict }),
	},
	{
		Name: "argocd-version", Visible: true, Title: "Version of Argo CD", Item: "string", Collection: "string",
		Default: knowledge.NewestArgoCD.String() + "; in an Argo CD before 3.0, 2.14",
		Tooltip: "Version of the Argo CD that syncs, such as 3.1, which determines for which kinds it has a health check, and waits.",
		set:     checked(knowledge.ArgoCDFault, one(func(s *Settings) *string { return &s.ArgoCD })),
	},
	{
		Name: "expects", Title: "Expected objects", Item: "string", Collection: "array",
		Tooltip: "What exists outside of the component before the sync: objects such as Secret/backup or ClusterIssuer/corp, " +
			"and API groups such as cert-manager.io, with their CRDs and controllers. It is not reported as missing.",
		set: checked(graph.ExpectedFault, texts(func(o *options) *[]string { return &o.expects })),
	},
	{
		Name: "jobs", Title: "Jobs", Item: "string", Collection: "string", Default: string(wave.KeepJobs),
		Tooltip: "How to treat plain Jobs that configure or validate running workloads. " +
			"hook: make them Sync hooks that Argo CD deletes before each run; keep: do not change them.",
		Choices: words(wave.KeepJobs, wave.AsHooks),
		set:     text(func(o *options) *wave.Jobs { return &o.waves.Jobs }),
	},
	{
		Name: "hooks", Visible: true, Title: "Helm hooks", Item: "string", Collection: "string", Default: string(hooks.Keep),
		Tooltip: "How to treat Helm hooks. order: take them into the order of the Sync phase (Jobs become Sync hooks where their phase is " +
			"wrong, other objects ordinary ones); keep: do not change them.",
		Choices: words(hooks.Keep, hooks.Order),
		set:     one(func(s *Settings) *hooks.Mode { return &s.Hooks }),
	},
	{
		Name: "tests", Title: "Tests", Item: "string", Collection: "string", Default: testsKeep,
		Tooltip: "How to treat Helm's test hooks, which Argo CD never applies. smoke: run them last in a sync; keep: do not change them.",
		Choices: words(testsKeep, testsAsSmoke),
		set:     text(func(o *options) *string { return &o.tests }),
	},
	{
		Name: "crds", Visible: true, Title: "CRDs", Item: "string", Collection: "string", Default: string(crds.Include),
		Tooltip: "Which part of the component to render. include: everything that its values enable; skip: everything except CRDs; " +
			"only: its CRDs, including those that a CRD switch disables, and nothing else.",
		Choices: words(crds.Include, crds.Only, crds.Skip),
		set:     one(func(s *Settings) *crds.Mode { return &s.CRDs }),
	},
	{
		Name: "crds-prune", Title: "Prune CRDs", Item: "boolean", Collection: "string", Default: "false",
		Tooltip: "With crds set to only, let Argo CD prune removed CRDs. This deletes all their custom resources.",
		set:     boolean(func(o *options) *bool { return &o.crds.prune }),
	},
	{
		Name: "crds-upgraders", Title: "CRD upgraders", Item: "string", Collection: "string", Default: upgradersKeep,
		Tooltip: "How to treat a chart's Jobs that write CRDs when they run. off: disable them through the chart's values; " +
			"keep: do not change them.",
		Choices: words(upgradersKeep, upgradersOff),
		set:     text(func(o *options) *string { return &o.crds.upgraders }),
	},
}

// The API versions that templates see.
const (
	capabilitiesOfCluster = "cluster"
	capabilitiesPinned    = "pinned"
	// capabilitiesOfFleet are the pinned API versions, with those that the fleet
	// installs earlier.
	capabilitiesOfFleet = "fleet"
)

// How to treat Helm's tests.
const (
	testsKeep    = "keep"
	testsAsSmoke = "smoke"
)

func words[T ~string](all ...T) []string {
	var names []string
	for _, w := range all {
		names = append(names, string(w))
	}
	return names
}

// one sets a field to one value.
func one[T ~string](field func(*Settings) *T) func(*Settings, []string) error {
	return func(s *Settings, values []string) error {
		*field(s) = T(values[0])
		return nil
	}
}

// checked rejects values that are never valid. Argo CD's information about the
// cluster is not checked.
func checked(fault func(value string) error, set func(*Settings, []string) error) func(*Settings, []string) error {
	return func(s *Settings, values []string) error {
		var faults []error
		for _, v := range values {
			faults = append(faults, fault(v))
		}
		if err := errors.Join(faults...); err != nil {
			return err
		}
		return set(s, values)
	}
}

// list sets a parameter that takes several values.
func list(field func(*Settings) *[]string) func(*Settings, []string) error {
	return func(s *Settings, values []string) error {
		*field(s) = append(*field(s), values...)
		return nil
	}
}

// Parameters returns the table in documentation order.
func Parameters() []Parameter { return parameters }

var parameters = slices.Concat(ofRendering, ofHelm, ofKustomize, ofDirectory, ofOrder)
