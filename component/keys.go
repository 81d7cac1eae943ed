package component

import (
	"reflect"

	"github.com/ladder-cmp/ladder/internal/settings"
)

// Key is a key of component.yaml, for documentation and schema.
type Key struct {
	Name string
	Type reflect.Type
	// Doc describes it.
	Doc string
	// Keys are its nested keys.
	Keys []Key
}

// Documented lists the keys in the order of Description.
func Documented() []Key { return documented(reflect.TypeFor[Description](), "") }

func documented(t reflect.Type, under string) []Key {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	var all []Key
	for _, k := range settings.Keys(t) {
		key := Key{Name: k.Name, Type: k.Type, Doc: docs[under+k.Name]}
		key.Keys = documented(k.Type, under+k.Name+".")
		all = append(all, key)
	}
	return all
}

// docs describes the keys.
var docs = map[string]string{
	"name":                                "Name of the Application and of the Helm release; the directory's if empty.",
	"namespace":                           "Namespace that the Application deploys to.",
	"project":                             "AppProject of the Application; that of the fleet if empty.",
	"domain":                              "The part of the platform that the component belongs to. It decides which bands the component may be in.",
	"tier":                                "Another name for domain.",
	"componentType":                       "What the component is, in its owners' words: a label.",
	"dependencyPhase":                     "The owners' name of the step: a label.",
	"rolloutPhase":                        "Step of the component in the rollout: a whole number, with or without leading zeros and quotes.",
	"wave":                                "Another name for rolloutPhase.",
	"crds":                                "Which part of the component: include is all that its values say, only every CRD that it can ship, skip all but the CRDs, split makes two Applications, of the CRDs and of the rest.",
	"crdsPhase":                           "With crds: split, step of the CRDs in the rollout.",
	"enabled":                             "false keeps the component's step but does not deploy it.",
	"environments":                        "Where the component is deployed; everywhere if empty.",
	"chart":                               "Where the manifests come from, if not from the directory of this file.",
	"chart.repoURL":                       "Repository of the chart; that of this file if empty.",
	"chart.path":                          "Directory in the repository, from its root, or from this file if it begins with ./ or ../.",
	"chart.chart":                         "Name of a chart in the registry at repoURL.",
	"chart.version":                       "Version of the chart, or a range of them; or branch, tag or commit of the repository.",
	"chart.valueFiles":                    "Values files, relative to the chart; with / or $values/ in front, to the repository of this file. A pattern such as values/*.yaml selects all files that it matches. Later files override earlier ones.",
	"chart.ignoreMissingValueFiles":       "true ignores missing values files.",
	"chart.skipCrds":                      "true leaves out the CRDs, as crds: skip does.",
	"chart.releaseName":                   "Name of the Helm release; the name of the component if empty. It takes precedence over --name.",
	"syncOptions":                         "Sync options of the Application in addition to the fleet's, such as ServerSideApply=true.",
	"retry":                               "syncPolicy.retry of the Application; fields that are not set have the fleet's values.",
	"retry.limit":                         "Number of retries; negative for no limit.",
	"retry.backoff":                       "Delay before each retry: duration is the first, such as 30s; factor, by which each is longer than the one before; maxDuration, the longest.",
	"retry.backoff.duration":              "The first wait, such as 30s.",
	"retry.backoff.factor":                "Factor by which each delay is longer than the one before.",
	"retry.backoff.maxDuration":           "The longest wait, such as 5m.",
	"labels":                              "Labels of the Application in addition to the fleet's.",
	"server":                              "Cluster of the component, by its URL or name; that of the fleet if empty. fleet.allow.servers must list it.",
	"annotations":                         "Annotations of the Application in addition to the fleet's. fleet.allow.annotations must list those of argoproj.io.",
	"ignoreDifferences":                   "Differences that Argo CD ignores in objects of the Application, in addition to the fleet's.",
	"ignoreDifferences.group":             "API group of the objects; empty for the core group.",
	"ignoreDifferences.kind":              "Kind of the objects, or * for every kind.",
	"ignoreDifferences.name":              "Name of the object; every object if empty.",
	"ignoreDifferences.namespace":         "Namespace of the objects; every namespace if empty.",
	"ignoreDifferences.jsonPointers":      "The ignored fields, such as /spec/replicas.",
	"ignoreDifferences.jqPathExpressions": "The ignored fields as jq expressions, such as .spec.template.spec.containers[].image.",
	"ignoreDifferences.managedFieldsManagers": "Field managers whose fields are ignored, such as kube-controller-manager.",
	"automated":                            "syncPolicy.automated of the Application; fields that are not set have the fleet's values, which are true for prune and selfHeal.",
	"automated.enabled":                    "false turns automated syncs off. An ApplicationSet with steps syncs the Application anyway.",
	"automated.prune":                      "true deletes objects that are no longer in the component.",
	"automated.selfHeal":                   "true reverts changes in the cluster.",
	"automated.allowEmpty":                 "true lets a sync delete all objects.",
	"managedNamespaceMetadata":             "Metadata of the namespace that Argo CD creates, in addition to the fleet's. fleet.allow.namespaceMetadata must list the keys.",
	"managedNamespaceMetadata.labels":      "Labels of the namespace.",
	"managedNamespaceMetadata.annotations": "Annotations of the namespace.",
	"revisionHistoryLimit":                 "Number of syncs in the history of the Application.",
	"info":                                 "Entries that the UI of Argo CD shows for the Application, in addition to the fleet's.",
	"info.name":                            "Name of the entry.",
	"info.value":                           "Its value; a URL becomes a link.",
	"description":                          "Purpose of the component, for readers.",
	"owner":                                "Owner of the component, for readers.",
}
