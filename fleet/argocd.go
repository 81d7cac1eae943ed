package fleet

import (
	"bytes"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/profile"
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
	// inCluster is the cluster that Argo CD runs in.
	inCluster = "https://kubernetes.default.svc"
	// syncWave is the annotation that orders the children of a parent Application.
	syncWave = "argocd.argoproj.io/sync-wave"
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

// destination has a cluster by its URL or by its name in Argo CD.
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

// patient is the default retry of a sync: if a webhook is ready but not yet reachable, the
// first attempt fails.
var patient = component.Retry{Limit: 5, Backoff: component.Backoff{Duration: "5s", Factor: 2, MaxDuration: "3m"}}

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

// atOnce returns the maxUpdate of a place: 0 if people sync it, nil if it has no limit.
func atOnce(p profile.Place) *int {
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

// Manifest is an object to commit, with comments.
type Manifest struct {
	// File is the path of its file without extension, if each manifest has its own file.
	File string
	node *yaml.Node
	// text is set if the text of the owner's template is kept.
	text string
}

// manifest converts a value to a Manifest.
func manifest(file string, value any) Manifest {
	return Manifest{File: file, node: encoded(value)}
}

// encoded returns a value as a YAML node.
func encoded(value any) *yaml.Node {
	var n yaml.Node
	if err := n.Encode(value); err != nil {
		panic(err) // the types of this package, which hold nothing but texts, numbers and lists of them
	}
	return &n
}

// at returns the node at a path of keys; a key such as "2" is an index of a list.
func (m Manifest) at(keys ...string) *yaml.Node {
	n := m.node
	for _, key := range keys {
		n = below(n, key)
		if n == nil {
			return nil
		}
	}
	return n
}

// comment adds a comment above the entry at a path.
func (m Manifest) comment(text string, keys ...string) {
	n := m.at(keys...)
	if n == nil || text == "" {
		return
	}
	parent := m.at(keys[:len(keys)-1]...)
	for i := 0; parent.Kind == yaml.MappingNode && i+1 < len(parent.Content); i += 2 {
		if parent.Content[i+1] == n {
			n = parent.Content[i] // comments of an entry stand at its key
		}
	}
	n.HeadComment = text
}

// YAML writes manifests as documents of one file.
func YAML(all ...Manifest) string {
	var b bytes.Buffer
	for i, m := range all {
		if i > 0 {
			b.WriteString("---\n")
		}
		if m.text != "" {
			b.WriteString(strings.TrimSuffix(m.text, "\n") + "\n")
			continue
		}
		enc := yaml.NewEncoder(&b)
		enc.SetIndent(2)
		enc.CompactSeqIndent()
		if err := enc.Encode(m.node); err != nil {
			panic(err) // nodes that encoded made, into memory
		}
		_ = enc.Close()
		if !bytes.HasSuffix(b.Bytes(), []byte("\n")) {
			b.WriteByte('\n') // the encoder forgets it behind a literal
		}
	}
	return b.String()
}

// cluster is a destination: a URL or a name.
func cluster(server, namespace string) destination {
	if server == "" {
		server = inCluster
	}
	if strings.Contains(server, "://") || strings.Contains(server, "{{") {
		return destination{Server: server, Namespace: namespace}
	}
	return destination{Name: server, Namespace: namespace}
}

// set sets the value at a path of mappings.
func (m Manifest) set(value any, keys ...string) {
	at := m.at(keys[:len(keys)-1]...)
	at.Content = append(at.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: keys[len(keys)-1]}, encoded(value))
}
