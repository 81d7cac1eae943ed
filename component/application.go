package component

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// ApplicationFields are fields of an Application that a component may set, and a fleet
// for all of its components.
type ApplicationFields struct {
	// IgnoreDifferences are fields of objects that Argo CD leaves alone.
	IgnoreDifferences []IgnoreDifference `yaml:"ignoreDifferences,omitempty"`
	// Retry is how often Argo CD tries a failed sync again, if not as often as for
	// others.
	Retry *Retry `yaml:"retry,omitempty"`
	// Automated says what Argo CD syncs without being told.
	Automated *Automated `yaml:"automated,omitempty"`
	// ManagedNamespaceMetadata is for the namespace that Argo CD creates.
	ManagedNamespaceMetadata *NamespaceMetadata `yaml:"managedNamespaceMetadata,omitempty"`
	// RevisionHistoryLimit is how many syncs Argo CD remembers.
	RevisionHistoryLimit *int `yaml:"revisionHistoryLimit,omitempty"`
	// Labels and Annotations are those of the Application, besides the fleet's.
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
	// Info is what the user interface of Argo CD shows.
	Info []Info `yaml:"info,omitempty"`
}

// IgnoreDifference are differences of objects that Argo CD does not see.
type IgnoreDifference struct {
	Group                 string   `yaml:"group,omitempty"`
	Kind                  string   `yaml:"kind,omitempty"`
	Name                  string   `yaml:"name,omitempty"`
	Namespace             string   `yaml:"namespace,omitempty"`
	JSONPointers          []string `yaml:"jsonPointers,omitempty"`
	JQPathExpressions     []string `yaml:"jqPathExpressions,omitempty"`
	ManagedFieldsManagers []string `yaml:"managedFieldsManagers,omitempty"`
}

// Automated is the syncPolicy.automated of an Application. What is nil is as for others.
type Automated struct {
	// Enabled is false for what people sync.
	Enabled    *bool `yaml:"enabled,omitempty"`
	Prune      *bool `yaml:"prune,omitempty"`
	SelfHeal   *bool `yaml:"selfHeal,omitempty"`
	AllowEmpty *bool `yaml:"allowEmpty,omitempty"`
}

// NamespaceMetadata is the syncPolicy.managedNamespaceMetadata of an Application.
type NamespaceMetadata struct {
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// Info is an entry of an Application's info.
type Info struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// Retry is the syncPolicy.retry of an Application.
type Retry struct {
	// Limit is how many attempts there are after the first; negative for ever more.
	Limit int `yaml:"limit"`
	// Backoff is how long it waits before each.
	Backoff Backoff `yaml:"backoff,omitempty"`
}

// Backoff is how long Argo CD waits before it tries a sync again.
type Backoff struct {
	// Duration is the first wait, MaxDuration the longest, both such as "30s".
	Duration string `yaml:"duration,omitempty"`
	// Factor is by how much each wait is longer than the one before it.
	Factor      int    `yaml:"factor,omitempty"`
	MaxDuration string `yaml:"maxDuration,omitempty"`
}

// WithDefaults is the strategy with what it leaves open taken from another one.
func (r Retry) WithDefaults(other Retry) Retry {
	b, o := &r.Backoff, other.Backoff
	b.Duration, b.Factor, b.MaxDuration = cmp.Or(b.Duration, o.Duration), cmp.Or(b.Factor, o.Factor), cmp.Or(b.MaxDuration, o.MaxDuration)
	return r
}

// WithDefaults are these fields with what they leave open taken from others: lists begin with
// those of the others, and a key of a mapping wins over the same key there. Retry stays
// as it is, since more than one default may follow (see Retry.Or).
func (a ApplicationFields) WithDefaults(others ApplicationFields) ApplicationFields {
	a.IgnoreDifferences = slices.Concat(others.IgnoreDifferences, a.IgnoreDifferences)
	a.Info = slices.Concat(others.Info, a.Info)
	a.Labels, a.Annotations = mergeTexts(others.Labels, a.Labels), mergeTexts(others.Annotations, a.Annotations)
	a.RevisionHistoryLimit = cmp.Or(a.RevisionHistoryLimit, others.RevisionHistoryLimit)
	var automated Automated
	for _, from := range []*Automated{others.Automated, a.Automated} {
		if from != nil {
			automated = Automated{cmp.Or(from.Enabled, automated.Enabled), cmp.Or(from.Prune, automated.Prune), cmp.Or(from.SelfHeal, automated.SelfHeal), cmp.Or(from.AllowEmpty, automated.AllowEmpty)}
		}
	}
	a.Automated = &automated
	switch own, all := a.ManagedNamespaceMetadata, others.ManagedNamespaceMetadata; {
	case own == nil:
		a.ManagedNamespaceMetadata = all
	case all != nil:
		a.ManagedNamespaceMetadata = &NamespaceMetadata{Labels: mergeTexts(all.Labels, own.Labels), Annotations: mergeTexts(all.Annotations, own.Annotations)}
	}
	return a
}

// mergeTexts are both mappings, of which the second wins; nil if both are empty.
func mergeTexts(all, own map[string]string) map[string]string {
	if len(all)+len(own) == 0 {
		return nil
	}
	merged := maps.Clone(all)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, own)
	return merged
}

// duration is what Argo CD reads as one (util/env and time.ParseDuration); a number
// alone means seconds.
var duration = regexp.MustCompile(`^([0-9]+|([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$`)

// Check reports what Argo CD would refuse. is says whether a key, such as retry.limit,
// is written.
func (a ApplicationFields) Check(is func(key string) bool, fault func(key, message, remedy string)) {
	if a.Retry != nil {
		if !is("retry.limit") {
			fault("retry", "it has no limit", "write {limit: 10, backoff: {duration: 30s, factor: 2, maxDuration: 5m}}")
		}
		for _, key := range []struct{ name, value string }{{"duration", a.Retry.Backoff.Duration}, {"maxDuration", a.Retry.Backoff.MaxDuration}} {
			if at := "retry.backoff." + key.name; key.value != "" && !duration.MatchString(key.value) {
				fault(at, fmt.Sprintf("%q is not a duration", key.value), "write it like 30s or 5m")
			}
		}
	}
	for i, ignored := range a.IgnoreDifferences {
		at := fmt.Sprintf("ignoreDifferences[%d]", i)
		if ignored.Kind == "" {
			fault(at, "it has no kind", `add one, or "*" for every kind`)
		}
		if len(ignored.JSONPointers)+len(ignored.JQPathExpressions)+len(ignored.ManagedFieldsManagers) == 0 {
			fault(at, "it ignores nothing", "add jsonPointers, jqPathExpressions or managedFieldsManagers")
		}
	}
	for i, info := range a.Info {
		if info.Name == "" || info.Value == "" {
			fault(fmt.Sprintf("info[%d]", i), "it has no name or no value", "write both")
		}
	}
	if n := a.RevisionHistoryLimit; n != nil && *n < 0 {
		fault("revisionHistoryLimit", "it is less than 0", "write 0 or more")
	}
}
