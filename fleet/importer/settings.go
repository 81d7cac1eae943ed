package importer

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/profile"
	"github.com/ladder-cmp/ladder/internal/textedit"
)

// common contains the settings in ladder.yaml, which apply to all Applications.
type common struct {
	project, server, revision, argoCDNamespace string
	automated                                  component.Automated
	retry                                      *component.Retry
	history                                    *int
	options                                    map[string]string
	allow                                      allowList
}

type allowList struct {
	Projects          []string `yaml:"projects,omitempty"`
	Servers           []string `yaml:"servers,omitempty"`
	Annotations       []string `yaml:"annotations,omitempty"`
	NamespaceMetadata []string `yaml:"namespaceMetadata,omitempty"`
}

// most returns the value that most Applications have; in a tie, the first in order.
func most[T any](all []*application, of func(*application) (T, bool)) (best T, count int) {
	counts := map[string]int{}
	values := map[string]T{}
	for _, app := range all {
		if v, has := of(app); has {
			key := textedit.MustEncode(v)
			counts[key]++
			values[key] = v
		}
	}
	for _, k := range sortedKeys(counts) {
		if counts[k] > count {
			best, count = values[k], counts[k]
		}
	}
	return best, count
}

func mostText(all []*application, of func(*application) string) string {
	best, _ := most(all, func(a *application) (string, bool) { return of(a), of(a) != "" })
	return best
}

// commonSettings returns the most frequent value of each setting.
func commonSettings(all []*application) common {
	c := common{
		project:         mostText(all, func(a *application) string { return a.project }),
		server:          mostText(all, func(a *application) string { return a.server }),
		revision:        mostText(all, func(a *application) string { return a.settings.revision }),
		argoCDNamespace: mostText(all, func(a *application) string { return a.argoCDNamespace }),
	}
	c.automated, _ = most(all, func(a *application) (component.Automated, bool) { return *a.Automated, true })
	if r, n := most(all, func(a *application) (component.Retry, bool) { return deref(a.Retry), a.Retry != nil }); 2*n > len(all) {
		c.retry = &r
	}
	if h, n := most(all, func(a *application) (int, bool) { return deref(a.RevisionHistoryLimit), a.RevisionHistoryLimit != nil }); n == len(all) {
		c.history = &h
	}
	c.options = shareOptions(all)
	c.allow = c.allows(all)
	return c
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// defaultOptions are the sync options that a fleet sets by default.
var defaultOptions = []string{"CreateNamespace", "RespectIgnoreDifferences", "SkipDryRunOnMissingResource"}

// shareOptions returns the sync options that most Applications have, if a component can remove
// them, and otherwise only those that all of them have.
func shareOptions(all []*application) map[string]string {
	shared := map[string]string{}
	for _, name := range defaultOptions {
		value, _ := most(all, func(a *application) (string, bool) { return cmp.Or(a.options[name], "false"), true })
		shared[name] = value
	}
	for name, value := range all[0].options {
		if !slices.ContainsFunc(all, func(a *application) bool { return a.options[name] != value }) {
			shared[name] = value
		}
	}
	return shared
}

// nonDefaultOptions returns the options to write into ladder.yaml: those that are not defaults.
func (c common) nonDefaultOptions() []string {
	shared := maps.Clone(c.options)
	maps.DeleteFunc(shared, func(name, value string) bool { return slices.Contains(defaultOptions, name) && value == "true" })
	return optionList(shared)
}

// own returns the sync options of a component.
func (c common) own(a *application) []string {
	own := maps.Clone(a.options)
	for _, name := range defaultOptions {
		own[name] = cmp.Or(own[name], "false")
	}
	maps.DeleteFunc(own, func(name, value string) bool { return c.options[name] == value })
	return optionList(own)
}

func optionList(options map[string]string) []string {
	var all []string
	for _, name := range sortedKeys(options) {
		all = append(all, name+"="+options[name])
	}
	return all
}

// ownAutomated returns the automated sync settings of a component if they differ from those of
// the fleet.
func (c common) ownAutomated(a *application) *component.Automated {
	own := *a.Automated
	if textedit.MustEncode(own) == textedit.MustEncode(c.automated) {
		return nil
	}
	if own.Enabled == nil && c.automated.Enabled != nil {
		own.Enabled = truth(true)
	}
	if own.AllowEmpty == nil && c.automated.AllowEmpty != nil {
		own.AllowEmpty = truth(false)
	}
	return &own
}

// allows returns the settings of components that the platform has to allow.
func (c common) allows(all []*application) allowList {
	projects, servers, annotations, metadata := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, a := range all {
		if a.project != c.project {
			projects[a.project] = true
		}
		if a.server != c.server {
			servers[a.server] = true
		}
		for key := range a.Annotations {
			if domain, _, is := strings.Cut(key, "/"); is && (domain == "argoproj.io" || strings.HasSuffix(domain, ".argoproj.io")) {
				annotations[key] = true
			}
		}
		if m := a.ManagedNamespaceMetadata; m != nil {
			for _, keys := range []map[string]string{m.Labels, m.Annotations} {
				for key := range keys {
					metadata[key] = true
				}
			}
		}
	}
	delete(projects, "")
	return allowList{sortedKeys(projects), sortedKeys(servers), sortedKeys(annotations), sortedKeys(metadata)}
}

// band returns the band of all steps. It leaves room after them, because an Application that
// has to wait for another one at the same step gets a later one.
func band(all []*application, steps map[*application]int) profile.Band {
	b := profile.Band{Name: "imported", From: steps[all[0]], To: steps[all[0]], Why: "the order of the Applications as they were imported, and room after them"}
	for _, app := range all {
		b.From, b.To = min(b.From, steps[app]), max(b.To, steps[app])
	}
	b.To += len(all)
	return b
}
