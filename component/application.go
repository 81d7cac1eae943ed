package component

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// ApplicationFields are fields of an Application. A component may set them for its own
// Application, and a fleet for all of its components.
type ApplicationFields struct {
	// IgnoreDifferences are fields of objects whose differences Argo CD ignores.
	IgnoreDifferences []IgnoreDifference `yaml:"ignoreDifferences,omitempty"`
	// Retry is the retry strategy for failed syncs; nil means that of the fleet.
	Retry *Retry `yaml:"retry,omitempty"`
	// Automated configures automated syncs.
	Automated *Automated `yaml:"automated,omitempty"`
	// ManagedNamespaceMetadata is for the namespace that Argo CD creates.
	ManagedNamespaceMetadata *NamespaceMetadata `yaml:"managedNamespaceMetadata,omitempty"`
	// RevisionHistoryLimit is the number of syncs that Argo CD keeps in the history.
	RevisionHistoryLimit *int `yaml:"revisionHistoryLimit,omitempty"`
	// Labels and Annotations are set on the Application in addition to those of the fleet.
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
	// Info is what the user interface of Argo CD shows.
	Info []Info `yaml:"info,omitempty"`
}

// IgnoreDifference selects differences that Argo CD ignores.
type IgnoreDifference struct {
	Group                 string   `yaml:"group,omitempty"`
	Kind                  string   `yaml:"kind,omitempty"`
	Name                  string   `yaml:"name,omitempty"`
	Namespace             string   `yaml:"namespace,omitempty"`
	JSONPointers          []string `yaml:"jsonPointers,omitempty"`
	JQPathExpressions     []string `yaml:"jqPathExpressions,omitempty"`
	ManagedFieldsManagers []string `yaml:"managedFieldsManagers,omitempty"`
}

// Automated is the syncPolicy.automated of an Application. Nil fields have
// the value of the fleet.
type Automated struct {
	// Enabled is false if people start the syncs.
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
	// Limit is the number of retries; negative means no limit.
	Limit int `yaml:"limit"`
	// Backoff is the delay before each retry.
	Backoff Backoff `yaml:"backoff,omitempty"`
}

// Backoff is the delay before each retry of a sync.
type Backoff struct {
	// Duration is the first delay and MaxDuration the limit, such as "30s".
	Duration string `yaml:"duration,omitempty"`
	// Factor multiplies the delay after each retry.
	Factor      int    `yaml:"factor,omitempty"`
	MaxDuration string `yaml:"maxDuration,omitempty"`
}

// WithDefaults returns the strategy with its unset fields taken from other.
func (r Retry) WithDefaults(other Retry) Retry {
	b, o := &r.Backoff, other.Backoff
	b.Duration, b.Factor, b.MaxDuration = cmp.Or(b.Duration, o.Duration), cmp.Or(b.Factor, o.Factor), cmp.Or(b.MaxDuration, o.MaxDuration)
	return r
}

// WithDefaults returns the fields with unset ones taken from others. Lists are concatenated,
// those of others first; in mappings, the keys of a take precedence. Retry is not merged,
// because it may have several defaults (see Retry.WithDefaults).
func (a ApplicationFields) WithDefaults(others ApplicationFields) ApplicationFields {
	a.IgnoreDifferences = slices.Concat(others.IgnoreDifferences, a.IgnoreDifferences)
	a.Info = slices.Concat(others.Info, a.Info)
	a.Labels, a.Annotations = mergeTexts(others.Labels, a.Labels), mergeTexts(others.Annotations, a.Annotations)
	a.RevisionHistoryLimit = cmp.Or(a.RevisionHistoryLimit, others.RevisionHistoryLimit)
	var automated Automated
	for _, from := range []*Automated{others.Automated, a.Automated} {
		if from != nil {
			automated = Automated{cmp.Or(from.Enabled, automated.Enabled), cmp.Or(from.Prune, automated.Prune),
				cmp.Or(from.SelfHeal, automated.SelfHeal), cmp.Or(from.AllowEmpty, automated.AllowEmpty)}
		}
	}
	a.Automated = &automated
	switch own, all := a.ManagedNamespaceMetadata, others.ManagedNamespaceMetadata; {
	case own == nil:
		a.ManagedNamespaceMetadata = all
	case all != nil:
		a.ManagedNamespaceMetadata = &NamespaceMetadata{Labels: mergeTexts(all.Labels, own.Labels),
			Annotations: mergeTexts(all.Annotations, own.Annotations)}
	}
	return a
}

// mergeTexts returns the union of two mappings; own takes precedence. It returns nil if both
// are empty.
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

// duration matches durations in the syntax of Argo CD (util/env and time.ParseDuration); a
// number alone means seconds.
var duration = lazyregexp.New(`^([0-9]+|([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$`)

// Check reports what Argo CD would refuse. isSet reports whether a key, such as
// retry.limit, is set.
func (a ApplicationFields) Check(isSet func(key string) bool, fault func(key, message, remedy string)) {
	if a.Retry != nil {
		if !isSet("retry.limit") {
			fault("retry", `missing key "limit"`, "write {limit: 10, backoff: {duration: 30s, factor: 2, maxDuration: 5m}}")
		}
		for _, key := range []struct{ name, value string }{{"duration", a.Retry.Backoff.Duration},
			{"maxDuration", a.Retry.Backoff.MaxDuration}} {
			if at := "retry.backoff." + key.name; key.value != "" && !duration.MatchString(key.value) {
				fault(at, fmt.Sprintf("%q is not a duration", key.value), "use a duration such as 30s or 5m")
			}
		}
	}
	for i, ignored := range a.IgnoreDifferences {
		at := fmt.Sprintf("ignoreDifferences[%d]", i)
		if ignored.Kind == "" {
			fault(at, `missing key "kind"`, `set "kind" to a kind, or to "*" for every kind`)
		}
		if len(ignored.JSONPointers)+len(ignored.JQPathExpressions)+len(ignored.ManagedFieldsManagers) == 0 {
			fault(at, "has no effect: no field is selected", "add jsonPointers, jqPathExpressions or managedFieldsManagers")
		}
	}
	for i, info := range a.Info {
		if info.Name == "" || info.Value == "" {
			fault(fmt.Sprintf("info[%d]", i), `missing key "name" or "value"`, "set both")
		}
	}
	if n := a.RevisionHistoryLimit; n != nil && *n < 0 {
		fault("revisionHistoryLimit", "is less than 0", "write 0 or more")
	}
}
