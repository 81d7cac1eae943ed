package importer

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
)

const (
	syncWave  = "argocd.argoproj.io/sync-wave"
	finalizer = "resources-finalizer.argocd.argoproj.io"
	inCluster = "https://kubernetes.default.svc"
)

// settings are the settings of an Application besides its sources.
type settings struct {
	component.ApplicationFields
	namespace, project, server string
	// argoCDNamespace is the namespace of the Application itself.
	argoCDNamespace string
	// revision is the revision of the repository; empty if no source is in it.
	revision string
	options  map[string]string
	cascades bool
}

// ignoredFields lists fields that a cluster writes, and annotations that record a single action.
var ignoredFields = [][]string{
	{"apiVersion"}, {"kind"}, {"status"}, {"operation"},
	{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "creationTimestamp"}, {"metadata", "deletionTimestamp"},
	{"metadata", "selfLink"}, {"metadata", "managedFields"}, {"metadata", "ownerReferences"}, {"metadata", "name"},
	{"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"}, {"metadata", "annotations", syncWave},
	{"metadata", "annotations", "argocd.argoproj.io/refresh"}, {"metadata", "annotations", "argocd.argoproj.io/hydrate"},
	{"metadata", "annotations", "argocd.argoproj.io/tracking-id"}, {"metadata", "annotations", "argocd.argoproj.io/application-set-refresh"},
	{"metadata", "labels", "argocd.argoproj.io/instance"}, {"metadata", "labels", "app.kubernetes.io/instance"},
}

// convert converts the fields of an Application.
func (w *work) convert(app *application) {
	app.components, app.settings = nil, settings{}
	t := app.fields
	for _, keys := range ignoredFields {
		take(t, keys...)
	}
	w.metadata(app)
	app.project = takeText(t, "spec", "project")
	w.destination(app)
	w.policy(app)
	takeAs(t, &app.IgnoreDifferences, "spec", "ignoreDifferences")
	takeAs(t, &app.Info, "spec", "info")
	takeAs(t, &app.RevisionHistoryLimit, "spec", "revisionHistoryLimit")
	w.sources(app)
	for _, field := range remainingFields(t, "") {
		app.report(field, "component.yaml has no key for this field", "check whether it is needed; if it is, keep this Application outside the fleet")
	}
}

// metadata converts the name, labels and annotations.
func (w *work) metadata(app *application) {
	t := app.fields
	app.argoCDNamespace = takeText(t, "metadata", "namespace")
	app.Annotations = takeTexts(t, "metadata", "annotations")
	labels := takeTexts(t, "metadata", "labels")
	for _, key := range sortedKeys(labels) {
		domain, _, _ := strings.Cut(key, "/")
		if key == "environment" || key == "rollout-phase" || domain != key && (domain == "argoproj.io" || strings.HasSuffix(domain, ".argoproj.io")) {
			app.report("metadata.labels."+key, "the label is reserved: Argo CD or the rollout selects by it", "use another label")
			delete(labels, key)
		}
	}
	app.Labels = labels
	if list, _ := at(t, "metadata", "finalizers").([]any); slices.Contains(list, any(finalizer)) {
		app.cascades = true
		rest := slices.DeleteFunc(list, func(v any) bool { return v == finalizer })
		take(t, "metadata", "finalizers")
		if len(rest) > 0 {
			app.report("metadata.finalizers", fmt.Sprintf("the finalizer %s is not imported", text(rest[0])), "check whether it is needed")
		}
	}
}

// destination converts the cluster and the namespace.
func (w *work) destination(app *application) {
	t := app.fields
	app.namespace = takeText(t, "spec", "destination", "namespace")
	app.server = cmp.Or(takeText(t, "spec", "destination", "name"), takeText(t, "spec", "destination", "server"), inCluster)
}

// policy converts the sync policy.
func (w *work) policy(app *application) {
	t := app.fields
	automated, is := at(t, "spec", "syncPolicy", "automated").(tree)
	switch {
	case !is && at(t, "spec", "syncPolicy", "automated") == nil && !has(t, "spec", "syncPolicy", "automated"):
		app.Automated = &component.Automated{Enabled: truth(false), Prune: truth(false), SelfHeal: truth(false)}
	default: // an empty mapping and null are automated syncs, too
		app.Automated = &component.Automated{Prune: truth(takeTrue(automated, "prune")), SelfHeal: truth(takeTrue(automated, "selfHeal"))}
		if takeTrue(automated, "allowEmpty") {
			app.Automated.AllowEmpty = truth(true)
		}
		if enabled, exists := automated["enabled"].(bool); exists {
			delete(automated, "enabled")
			if !enabled {
				app.Automated.Enabled = truth(false)
			}
		}
		if len(automated) == 0 {
			take(t, "spec", "syncPolicy", "automated")
		}
	}
	app.options = map[string]string{}
	var odd []any
	for _, o := range takeList(t, "spec", "syncPolicy", "syncOptions") {
		if name, value, valued := strings.Cut(text(o), "="); valued && name != "" && value != "" {
			app.options[name] = value
		} else {
			odd = append(odd, o)
		}
	}
	for _, o := range odd {
		app.report("spec.syncPolicy.syncOptions", fmt.Sprintf("the option %q has no value", text(o)), "correct it")
	}
	takeAs(t, &app.ManagedNamespaceMetadata, "spec", "syncPolicy", "managedNamespaceMetadata")
	if has(t, "spec", "syncPolicy", "retry") {
		var r component.Retry
		if takeAs(t, &r, "spec", "syncPolicy", "retry") {
			app.Retry = &r
		}
	}
}

func truth(b bool) *bool { return &b }

// has reports whether a field exists, even if it is empty.
func has(t tree, keys ...string) bool {
	m := t
	for _, key := range keys[:len(keys)-1] {
		m = fieldsOf(m[key])
	}
	_, exists := m[keys[len(keys)-1]]
	return exists
}

// sources converts the sources: each source with manifests becomes a component.
func (w *work) sources(app *application) {
	t := app.fields
	var all []tree
	if s := fieldsOf(at(t, "spec", "source")); s != nil {
		all = append(all, s)
	}
	list, _ := at(t, "spec", "sources").([]any)
	for _, item := range list {
		if s := fieldsOf(item); s != nil {
			all = append(all, s)
		}
	}
	if len(list) > 0 { // if both are set, Argo CD uses the list
		take(t, "spec", "source")
		all = all[len(all)-len(list):]
	}
	refs := map[string]string{}
	for _, s := range all {
		if ref := takeText(s, "ref"); ref != "" {
			refs[ref] = text(s["repoURL"])
		}
	}
	for i, s := range all {
		if s["path"] == nil && s["chart"] == nil { // the source only provides values files
			w.revision(app, s, fmt.Sprintf("spec.sources[%d]", i))
			continue
		}
		m := &importedComponent{app: app, name: app.name, parameters: tree{}}
		if len(app.components) > 0 {
			m.name = app.name + "-" + component.NameFrom(path.Base(cmp.Or(text(s["chart"]), text(s["path"]))))
		}
		field := "spec.source"
		if len(list) > 0 {
			field = fmt.Sprintf("spec.sources[%d]", i)
		}
		if !w.source(m, s, refs, field) {
			continue
		}
		app.components = append(app.components, m)
		for _, rest := range remainingFields(s, field) {
			app.report(rest, "component.yaml has no key for this field", "check whether it is needed; if it is, keep this Application outside the fleet")
		}
	}
	take(t, "spec", "source")
	take(t, "spec", "sources")
	if len(app.components) > 1 {
		app.change("spec.sources", fmt.Sprintf("it has %d sources and becomes %d Applications; its objects move to these Applications, so sync the first one without pruning until all are Synced", len(app.components), len(app.components)))
	}
}

// revision converts the URL and revision of a source in the repository.
func (w *work) revision(app *application, s tree, field string) {
	url, revision := takeText(s, "repoURL"), cmp.Or(takeText(s, "targetRevision"), "HEAD")
	switch {
	case !w.ours(url): // values files from there are reported one by one
	case app.settings.revision == "":
		app.settings.revision = revision
	case app.settings.revision != revision:
		app.report(field+".targetRevision", fmt.Sprintf("the revision %s of the same repository is not %s", revision, app.settings.revision), "use one revision")
	}
}
