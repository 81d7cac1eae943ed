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

// DocumentedKeys lists the keys in the order of Description.
func DocumentedKeys() []Key { return keysOf(reflect.TypeFor[Description](), "") }

func keysOf(t reflect.Type, under string) []Key {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	var all []Key
	for _, k := range settings.Keys(t) {
		key := Key{Name: k.Name, Type: k.Type, Doc: docs[under+k.Name]}
		key.Keys = keysOf(k.Type, under+k.Name+".")
		if k.Type == reflect.TypeFor[Environments]() {
			key.Keys = keysOf(reflect.TypeFor[EnvironmentSettings](), k.Name+".NAME.")
			for i := range key.Keys {
				key.Keys[i].Name = "NAME." + key.Keys[i].Name
			}
		}
		all = append(all, key)
	}
	return all
}

// docs describes the keys.
var docs = map[string]string{
	"name":      "Name of the Application and of the Helm release; the name of the directory if empty.",
	"namespace": "Namespace that the Application deploys to.",
	"project":   "AppProject of the Application; the fleet's if empty.",
	"domain": "Part of the platform to which the component belongs. " +
		"It determines the bands in which the component may be.",
	"tier":            "Another name for domain.",
	"componentType":   "Kind of component, in the owners' own terms; becomes a label.",
	"dependencyPhase": "The owners' own name of the step; becomes a label.",
	"rolloutPhase": "Step of the component in the rollout: an integer. " +
		"With a leading zero, quote it (\"010\"): Argo CD reads 010 without quotes as an octal number.",
	"wave": "Another name for rolloutPhase.",
	"crds": "Which part of the component to deploy. include: everything that its values enable; " +
		"skip: everything except CRDs; only: its CRDs, including those that a CRD switch disables, and nothing else; " +
		"split: two Applications, one with the CRDs and one with the rest.",
	"crdsPhase": "Step of the CRDs in the rollout, with crds: split.",
	"enabled":   "false keeps the component's step but does not deploy it.",
	"environments": "Environments in which the component is deployed: " +
		"a list of names (all environments if empty), or a mapping from the name of an environment to the settings that differ there.",
	"environments.NAME.enabled": "false leaves the component out in this environment.",
	"environments.NAME.namespace": "Namespace that the Application deploys to in this environment. " +
		"A namespaceSuffix of the environment is not appended to it.",
	"environments.NAME.values": "Values files in this environment, in addition to values; they take precedence.",
	"environments.NAME.set": "Single values in this environment by their paths, such as image.tag: v2; " +
		"they override values files.",
	"chart":         "Source of the manifests if it is not the directory of this file.",
	"chart.repoURL": "Repository of the chart; the repository of this file if empty.",
	"chart.path":    "Directory in the repository, relative to its root, or to this file if it starts with ./ or ../.",
	"chart.chart":   "Name of a chart in the registry at repoURL.",
	"chart.version": "Version or version range of the chart; or branch, tag or commit of the repository.",
	"chart.valueFiles": "Values files, relative to the chart, or to the repository of this file if they start with / " +
		"or $values/. Patterns such as values/*.yaml are expanded. Later files take precedence.",
	"chart.ignoreMissingValueFiles": "true ignores missing values files.",
	"chart.skipCrds":                "true omits the CRDs, like crds: skip.",
	"chart.releaseName": "Name of the Helm release; the name of the component if empty. " +
		"It takes precedence over --name.",
	"render": "native lets Argo CD render the component itself, without the plugin: " +
		"a chart, a kustomization or plain YAML. Its Application is ordered like any other; its objects have no waves of Ladder.",
	"syncOptions": "Sync options of the Application in addition to the fleet's, such as ServerSideApply=true.",
	"retry":       "syncPolicy.retry of the Application; fields that are not set have the fleet's values.",
	"retry.limit": "Number of retries; negative for no limit.",
	"retry.backoff": "Delay before each retry: duration is the first one, such as 30s, " +
		"factor multiplies it each time, and maxDuration limits it.",
	"retry.backoff.duration":    "First delay, such as 30s.",
	"retry.backoff.factor":      "Factor by which each delay is longer than the previous one.",
	"retry.backoff.maxDuration": "Longest delay, such as 5m.",
	"labels":                    "Labels of the Application in addition to the fleet's.",
	"server":                    "URL or name of the cluster; the fleet's if empty. fleet.allow.servers must list it.",
	"annotations": "Annotations of the Application in addition to the fleet's. " +
		"fleet.allow.annotations must list those of argoproj.io.",
	"ignoreDifferences":                       "Differences that Argo CD ignores in objects of the Application, in addition to the fleet's.",
	"ignoreDifferences.group":                 "API group of the objects; empty for the core group.",
	"ignoreDifferences.kind":                  "Kind of the objects, or * for all kinds.",
	"ignoreDifferences.name":                  "Name of the object; all objects if empty.",
	"ignoreDifferences.namespace":             "Namespace of the objects; all namespaces if empty.",
	"ignoreDifferences.jsonPointers":          "Ignored fields, such as /spec/replicas.",
	"ignoreDifferences.jqPathExpressions":     "Ignored fields as jq expressions, such as .spec.template.spec.containers[].image.",
	"ignoreDifferences.managedFieldsManagers": "Field managers whose fields are ignored, such as kube-controller-manager.",
	"automated": "syncPolicy.automated of the Application; " +
		"fields that are not set have the fleet's values, which are true for prune and selfHeal.",
	"automated.enabled":    "false disables automated syncs. The steps of an ApplicationSet still sync the Application.",
	"automated.prune":      "true deletes objects that are no longer in the component.",
	"automated.selfHeal":   "true reverts changes in the cluster.",
	"automated.allowEmpty": "true lets a sync delete all objects.",
	"managedNamespaceMetadata": "Metadata of the namespace that Argo CD creates, in addition to the fleet's. " +
		"fleet.allow.namespaceMetadata must list the keys.",
	"managedNamespaceMetadata.labels":      "Labels of the namespace.",
	"managedNamespaceMetadata.annotations": "Annotations of the namespace.",
	"revisionHistoryLimit":                 "Number of syncs in the history of the Application.",
	"info":                                 "Entries that Argo CD's UI shows for the Application, in addition to the fleet's.",
	"info.name":                            "Name of the entry.",
	"info.value":                           "Its value; a URL becomes a link.",
	"description":                          "Purpose of the component, for readers.",
	"owner":                                "Owner of the component, for readers.",
}
