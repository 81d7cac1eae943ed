package lint

import (
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render/helm"
)

// Rule is a check of a fleet.
type Rule struct {
	Name finding.Rule
	// Severities are the severities of its findings, the most severe first.
	Severities []finding.Severity
	// Finds describes its findings for the documents.
	Finds string

	checks checks
}

type checks []func(*checker) []fault

// Rules returns the rules of the package.
func Rules() []Rule { return rules }

type severities []finding.Severity

var rules = []Rule{
	{appset.NoStep, severities{finding.Error, finding.Warning},
		"a component, disabled or not, or the CRDs of a split one, that the rollout does not select: its step is missing, outside all " +
			"bands, not a place of its band, or written as `010` without quotes, which Argo CD reads as 8; " +
			"in an ApplicationSet, an Application that no step selects, a step without any, or with `maxUpdate: 0`",
		checks{(*checker).noStep, (*checker).noBand, (*checker).noPlace, (*checker).settings}},
	{ProfilePlaces, severities{finding.Warning, finding.Note},
		"places and bands of a `ladder.yaml` that are out of order, duplicate, or not described; " +
			"a note lists the places without a component, because each is a step", checks{(*checker).placeOrder, (*checker).emptyPlaces}},
	{"wrong-place", severities{finding.Warning},
		"a component in a step for something else: an operator in a step for secrets, secrets in a step for workloads, " +
			"an operator with CRDs in a step that is not for CRDs, a smoke test before the step for smoke tests, or in the step of what it " +
			"tests; a component in a band of other domains; a step with eight components for three purposes",
		checks{(*checker).misplaced, (*checker).bundled, (*checker).foreignBand, (*checker).overloaded}},
	{"same-name", severities{finding.Error, finding.Warning},
		"two Applications with the same name in one environment; a warning if one of them is disabled", checks{(*checker).sameName}},
	{helm.BadName, severities{finding.Error},
		"a name, label, annotation, domain or tier that Kubernetes rejects; " +
			"a value that is written into an Application and contains a template, a line break or a control character",
		checks{(*checker).settings, (*checker).unsafeValues}},
	{foreignProject, severities{finding.Error, finding.Warning},
		"a component with a `project` that neither `fleet.allow.projects` nor `--allow-project` lists. " +
			"If they list no project at all, it is a warning, once for each name of a project", checks{(*checker).foreignProjects}},
	{reservedLabel, severities{finding.Error},
		"a label that Argo CD or the rollout selects by: `environment`, that of the step (`rollout-phase`), and those of `argoproj.io`",
		checks{(*checker).settings}},
	{platformSetting, severities{finding.Error},
		"a server, an annotation of `argoproj.io`, or metadata of a namespace, that the platform does not allow in `fleet.allow`; " +
			"a `fleet` section in a `ladder.yaml` in the directory of a component", checks{(*checker).platformSettings}},
	{fleet.BadEnvironment, severities{finding.Error, finding.Warning},
		"a component for an unknown environment; a values file of `fleet.environments` that no component has; " +
			"a values file of an environment that does not exist, for a chart that Argo CD renders",
		checks{(*checker).settings, (*checker).unusedValues, (*checker).missingValues}},
	{notNative, severities{finding.Error},
		"a component with `render: native` that Argo CD cannot render, such as templated YAML; a split chart that is in another repository",
		checks{(*checker).settings}},
	{"crd-shared", severities{finding.Error, finding.Warning},
		"a CRD in two components that are deployed together; " +
			"a warning if both deploy a chart that is not available, and its record says that it has CRDs", checks{(*checker).sameCRD}},
	{"object-shared", severities{finding.Error},
		"any other object in two components that are deployed together, and any object that two environments of one cluster both contain",
		checks{(*checker).sameObject}},
	{fleet.NeedsDisabled, severities{finding.Error, finding.Warning},
		"a component that is disabled or not in an environment, while a deployed component depends on it; " +
			"a warning if the dependency is inferred, or is the CRD of objects that are created later", checks{(*checker).needsDisabled}},
	{missingKind, severities{finding.Warning, finding.Note},
		"objects whose kind neither the fleet, nor Kubernetes, nor Argo CD defines: one finding for each API group; " +
			"a note if a component that could not be rendered may define it", checks{(*checker).missingKinds}},
	{graph.MissingObject, severities{finding.Warning, finding.Note},
		"a class, issuer, secret store, Secret, ConfigMap or stream that nothing in the fleet creates", checks{(*checker).dangling}},
	{"only-hooks", severities{finding.Warning},
		"a component that contains only hooks: Argo CD reports it as Synced, so automated sync never runs them", checks{(*checker).onlyHooks}},
	{"not-fetched", severities{finding.Warning, finding.Note},
		"a chart, or a file that a kustomization or a chart names, that is neither vendored nor fetched: " +
			"Ladder uses its built-in record of the chart, if there is one, otherwise it does not check the dependencies; " +
			"a note if Argo CD fetches the source", checks{(*checker).notFetched}},
	{"no-version", severities{finding.Warning},
		"a chart in a registry without a `version`: Argo CD uses the latest version, and upgrades at any time", checks{(*checker).noVersion}},
	{"unordered", severities{finding.Warning},
		"an ApplicationSet without steps, or bands with `sets: independent`, whose Applications depend on each other; " +
			"sync waves in the template of an ApplicationSet, which have no effect", checks{(*checker).unordered}},
	{"doubtful-gate", severities{finding.Warning, finding.Note},
		"Applications that nothing syncs although others wait for them, or that their AppProject refuses; " +
			"Jobs of hooks and smoke tests without `activeDeadlineSeconds`", checks{(*checker).gates}},
	{fleet.LaterStep, severities{finding.Error, finding.Warning},
		"a component that depends on a component of a later step; " +
			"a warning if the dependency is inferred, or is a namespace that Argo CD creates", checks{(*checker).laterStep}},
	{fleet.SameStep, severities{finding.Error, finding.Warning},
		"a component that depends on the health of a component of the same step; " +
			"an error if it provably cannot be applied before the other one is healthy", checks{(*checker).sameStep}},
	{"stale-accepted", severities{finding.Warning}, "an entry of `accepted` in a `ladder.yaml` that matches no finding",
		checks{(*checker).stale}}, // after all others, which say what is accepted
}

// ProfilePlaces is the rule about the places of the profile. Only its findings about places without a
// component have no field.
const ProfilePlaces finding.Rule = "profile-places"
