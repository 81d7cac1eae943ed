package argocd

import "github.com/ladder-cmp/ladder/component"

// Metadata is the metadata that generated objects have.
type Metadata struct {
	Name        string            `yaml:"name,omitempty"`
	Namespace   string            `yaml:"namespace,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
	Finalizers  []string          `yaml:"finalizers,omitempty"`
}

// Application is an Application as it is written.
type Application struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   Metadata `yaml:"metadata"`
	Spec       Spec     `yaml:"spec"`
}

// Spec says what an Application deploys, where, and how it is synced.
type Spec struct {
	Project              string                       `yaml:"project"`
	Destination          Destination                  `yaml:"destination"`
	Source               *Source                      `yaml:"source,omitempty"`
	Sources              []Source                     `yaml:"sources,omitempty"`
	SyncPolicy           SyncPolicy                   `yaml:"syncPolicy"`
	IgnoreDifferences    []component.IgnoreDifference `yaml:"ignoreDifferences,omitempty"`
	Info                 []component.Info             `yaml:"info,omitempty"`
	RevisionHistoryLimit *int                         `yaml:"revisionHistoryLimit,omitempty"`
}

// Destination names the cluster by its URL or by its name in Argo CD.
type Destination struct {
	Server    string `yaml:"server,omitempty"`
	Name      string `yaml:"name,omitempty"`
	Namespace string `yaml:"namespace"`
}

// Source is where the manifests of an Application come from: a directory of a repository, a chart,
// or, with Ref, files for other sources.
type Source struct {
	RepoURL        string        `yaml:"repoURL"`
	TargetRevision string        `yaml:"targetRevision,omitempty"`
	Path           string        `yaml:"path,omitempty"`
	Chart          string        `yaml:"chart,omitempty"`
	Ref            string        `yaml:"ref,omitempty"`
	Helm           *HelmSource   `yaml:"helm,omitempty"`
	Directory      *Directory    `yaml:"directory,omitempty"`
	Plugin         *PluginSource `yaml:"plugin,omitempty"`
}

// Directory contains the settings of a directory of plain YAML.
type Directory struct {
	Recurse bool `yaml:"recurse,omitempty"`
	// Exclude is a pattern of files to leave out.
	Exclude string `yaml:"exclude,omitempty"`
}

// HelmSource contains the settings of a chart.
type HelmSource struct {
	ReleaseName   string          `yaml:"releaseName,omitempty"`
	ValueFiles    []string        `yaml:"valueFiles,omitempty"`
	IgnoreMissing bool            `yaml:"ignoreMissingValueFiles,omitempty"`
	SkipCRDs      bool            `yaml:"skipCrds,omitempty"`
	Parameters    []HelmParameter `yaml:"parameters,omitempty"`
}

// HelmParameter sets a value of a chart.
type HelmParameter struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// PluginSource contains the settings of a config management plugin.
type PluginSource struct {
	Name       string            `yaml:"name"`
	Parameters []PluginParameter `yaml:"parameters,omitempty"`
}

// PluginParameter is a parameter that announces itself to the plugin, as a text or a list.
type PluginParameter struct {
	Name   string   `yaml:"name" json:"name"`
	String string   `yaml:"string,omitempty" json:"string,omitempty"`
	Array  []string `yaml:"array,omitempty" json:"array,omitempty"`
}

// SyncPolicy says when and how Argo CD syncs an Application.
type SyncPolicy struct {
	Automated                *Automated                   `yaml:"automated,omitempty"`
	ManagedNamespaceMetadata *component.NamespaceMetadata `yaml:"managedNamespaceMetadata,omitempty"`
	SyncOptions              []string                     `yaml:"syncOptions,omitempty"`
	Retry                    component.Retry              `yaml:"retry"`
}

// Automated lets Argo CD sync without being asked.
type Automated struct {
	Prune      bool `yaml:"prune"`
	SelfHeal   bool `yaml:"selfHeal"`
	AllowEmpty bool `yaml:"allowEmpty,omitempty"`
}

// ApplicationSet is an ApplicationSet as it is written.
type ApplicationSet struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   Metadata `yaml:"metadata"`
	Spec       SetSpec  `yaml:"spec"`
}

// SetSpec says which Applications an ApplicationSet generates, and in which order.
type SetSpec struct {
	GoTemplate        bool           `yaml:"goTemplate"`
	GoTemplateOptions []string       `yaml:"goTemplateOptions"`
	Generators        []Generator    `yaml:"generators"`
	Strategy          Strategy       `yaml:"strategy"`
	SyncPolicy        *SetSyncPolicy `yaml:"syncPolicy,omitempty"`
	Template          Template       `yaml:"template"`
	TemplatePatch     string         `yaml:"templatePatch,omitempty"`
}

// Generator finds parameters; one of its fields is set.
type Generator struct {
	Git      *GitGenerator    `yaml:"git,omitempty"`
	List     *ListGenerator   `yaml:"list,omitempty"`
	Matrix   *MatrixGenerator `yaml:"matrix,omitempty"`
	Selector *Selector        `yaml:"selector,omitempty"`
}

// GitGenerator reads files of a repository.
type GitGenerator struct {
	RepoURL  string            `yaml:"repoURL"`
	Revision string            `yaml:"revision"`
	Files    []GitFile         `yaml:"files"`
	Values   map[string]string `yaml:"values,omitempty"`
}

// GitFile is a pattern of file names.
type GitFile struct {
	Path string `yaml:"path"`
}

// ListGenerator has its elements in a text.
type ListGenerator struct {
	ElementsYAML string `yaml:"elementsYaml"`
}

// MatrixGenerator combines two generators.
type MatrixGenerator struct {
	Generators []Generator `yaml:"generators"`
}

// Strategy says how changed Applications are rolled out.
type Strategy struct {
	Type          string      `yaml:"type"`
	DeletionOrder string      `yaml:"deletionOrder,omitempty"`
	RollingSync   RollingSync `yaml:"rollingSync"`
}

// RollingSync rolls out step by step.
type RollingSync struct {
	Steps []Step `yaml:"steps"`
}

// Step is a group of Applications that are synced before those of the next Step. For Argo CD,
// a maxUpdate of 0 means none, and a missing one means all.
type Step struct {
	MatchExpressions []Expression `yaml:"matchExpressions"`
	MaxUpdate        *int         `yaml:"maxUpdate,omitempty"`
}

// SetSyncPolicy says what happens to the Applications of a deleted set.
type SetSyncPolicy struct {
	PreserveResourcesOnDeletion bool `yaml:"preserveResourcesOnDeletion"`
}

// Template is the template of the Applications of a set.
type Template struct {
	Metadata Metadata `yaml:"metadata"`
	Spec     Spec     `yaml:"spec"`
}
