package generate

import (
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/profile"
)

// The objects of Argo CD that roll out a fleet, with the fields that are
// written (https://argo-cd.readthedocs.io/en/stable/operator-manual/). The
// suites in conformance/ read them with Argo CD's own types.

const (
	argoCDGroup   = "argoproj.io"
	argoCDVersion = argoCDGroup + "/v1alpha1"
	// cascade is the finalizer with which Argo CD deletes the resources of an Application
	// before the Application.
	cascade = "resources-finalizer.argocd.argoproj.io"
	// pluginName is the name of the sidecar's plugin.
	pluginName = "ladder"
)

type metadata struct {
	Name        string            `yaml:"name,omitempty"`
	Namespace   string            `yaml:"namespace,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
	Finalizers  []string          `yaml:"finalizers,omitempty"`
}

type applicationObject struct {
	APIVersion string          `yaml:"apiVersion"`
	Kind       string          `yaml:"kind"`
	Metadata   metadata        `yaml:"metadata"`
	Spec       applicationSpec `yaml:"spec"`
}

type applicationSpec struct {
	Project              string                       `yaml:"project"`
	Destination          destination                  `yaml:"destination"`
	Source               *source                      `yaml:"source,omitempty"`
	Sources              []source                     `yaml:"sources,omitempty"`
	SyncPolicy           syncPolicy                   `yaml:"syncPolicy"`
	IgnoreDifferences    []component.IgnoreDifference `yaml:"ignoreDifferences,omitempty"`
	Info                 []component.Info             `yaml:"info,omitempty"`
	RevisionHistoryLimit *int                         `yaml:"revisionHistoryLimit,omitempty"`
}

// destination names the cluster by its URL or by its name in Argo CD.
type destination struct {
	Server    string `yaml:"server,omitempty"`
	Name      string `yaml:"name,omitempty"`
	Namespace string `yaml:"namespace"`
}

type source struct {
	RepoURL        string        `yaml:"repoURL"`
	TargetRevision string        `yaml:"targetRevision,omitempty"`
	Path           string        `yaml:"path,omitempty"`
	Chart          string        `yaml:"chart,omitempty"`
	Ref            string        `yaml:"ref,omitempty"`
	Helm           *helmSource   `yaml:"helm,omitempty"`
	Plugin         *pluginSource `yaml:"plugin,omitempty"`
}

type helmSource struct {
	ReleaseName   string          `yaml:"releaseName,omitempty"`
	ValueFiles    []string        `yaml:"valueFiles,omitempty"`
	IgnoreMissing bool            `yaml:"ignoreMissingValueFiles,omitempty"`
	SkipCRDs      bool            `yaml:"skipCrds,omitempty"`
	Parameters    []helmParameter `yaml:"parameters,omitempty"`
}

type pluginSource struct {
	Name       string            `yaml:"name"`
	Parameters []pluginParameter `yaml:"parameters,omitempty"`
}

type pluginParameter struct {
	Name   string   `yaml:"name" json:"name"`
	String string   `yaml:"string,omitempty" json:"string,omitempty"`
	Array  []string `yaml:"array,omitempty" json:"array,omitempty"`
}

type syncPolicy struct {
	Automated                *automated                   `yaml:"automated,omitempty"`
	ManagedNamespaceMetadata *component.NamespaceMetadata `yaml:"managedNamespaceMetadata,omitempty"`
	SyncOptions              []string                     `yaml:"syncOptions,omitempty"`
	Retry                    component.Retry              `yaml:"retry"`
}

type automated struct {
	Prune      bool `yaml:"prune"`
	SelfHeal   bool `yaml:"selfHeal"`
	AllowEmpty bool `yaml:"allowEmpty,omitempty"`
}

// defaultRetry is the default retry of a sync: if a webhook is ready but not yet reachable, the
// first attempt fails.
var defaultRetry = component.Retry{Limit: 5, Backoff: component.Backoff{Duration: "5s", Factor: 2, MaxDuration: "3m"}}

type applicationSet struct {
	APIVersion string             `yaml:"apiVersion"`
	Kind       string             `yaml:"kind"`
	Metadata   metadata           `yaml:"metadata"`
	Spec       applicationSetSpec `yaml:"spec"`
}

type applicationSetSpec struct {
	GoTemplate        bool           `yaml:"goTemplate"`
	GoTemplateOptions []string       `yaml:"goTemplateOptions"`
	Generators        []generator    `yaml:"generators"`
	Strategy          strategy       `yaml:"strategy"`
	SyncPolicy        *setSyncPolicy `yaml:"syncPolicy,omitempty"`
	Template          template       `yaml:"template"`
	TemplatePatch     string         `yaml:"templatePatch,omitempty"`
}

type generator struct {
	Git      *gitGenerator    `yaml:"git,omitempty"`
	List     *listGenerator   `yaml:"list,omitempty"`
	Matrix   *matrixGenerator `yaml:"matrix,omitempty"`
	Selector *selector        `yaml:"selector,omitempty"`
}

type gitGenerator struct {
	RepoURL  string            `yaml:"repoURL"`
	Revision string            `yaml:"revision"`
	Files    []gitFile         `yaml:"files"`
	Values   map[string]string `yaml:"values,omitempty"`
}

type gitFile struct {
	Path string `yaml:"path"`
}

type listGenerator struct {
	ElementsYAML string `yaml:"elementsYaml"`
}

type matrixGenerator struct {
	Generators []generator `yaml:"generators"`
}

type selector struct {
	MatchLabels      map[string]string `yaml:"matchLabels,omitempty"`
	MatchExpressions []expression      `yaml:"matchExpressions,omitempty"`
}

type expression struct {
	Key      string   `yaml:"key"`
	Operator string   `yaml:"operator"`
	Values   []string `yaml:"values,flow"`
}

type strategy struct {
	Type          string      `yaml:"type"`
	DeletionOrder string      `yaml:"deletionOrder,omitempty"`
	RollingSync   rollingSync `yaml:"rollingSync"`
}

type rollingSync struct {
	Steps []step `yaml:"steps"`
}

// step is a group of Applications that are synced before those of the next step. For Argo CD,
// a maxUpdate of 0 means none, and a missing one means all.
type step struct {
	MatchExpressions []expression `yaml:"matchExpressions"`
	MaxUpdate        *int         `yaml:"maxUpdate,omitempty"`
}

// maxUpdate returns the maxUpdate of a place: 0 if people sync it, nil if it has no limit.
func maxUpdate(p profile.Place) *int {
	switch {
	case p.Manual:
		return new(int)
	case p.MaxUpdate > 0:
		return &p.MaxUpdate
	}
	return nil
}

type setSyncPolicy struct {
	PreserveResourcesOnDeletion bool `yaml:"preserveResourcesOnDeletion"`
}

type template struct {
	Metadata metadata        `yaml:"metadata"`
	Spec     applicationSpec `yaml:"spec"`
}

// cluster returns the destination for a server, which is a URL or a name.
func cluster(server, namespace string) destination {
	if server == "" {
		server = fleet.InCluster
	}
	if strings.Contains(server, "://") || strings.Contains(server, "{{") {
		return destination{Server: server, Namespace: namespace}
	}
	return destination{Name: server, Namespace: namespace}
}
