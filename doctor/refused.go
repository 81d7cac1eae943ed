package doctor

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/object"
)

// chartPods are values that the chart argo-cd copies into the Deployment of the
// repo-server as they are, and where they come to stand in the Pod. Source: its
// templates/argocd-repo-server/deployment.yaml.
var chartPods = []struct{ value, pod []string }{
	{[]string{"global", "securityContext"}, []string{"securityContext"}},
	{[]string{"global", "env"}, []string{"containers", "env"}},
	{[]string{"global", "extraVolumes"}, []string{"volumes"}},
	{[]string{"global", "extraVolumeMounts"}, []string{"containers", "volumeMounts"}},
	{[]string{"repoServer", "extraContainers"}, []string{"containers"}},
	{[]string{"repoServer", "initContainers"}, []string{"initContainers"}},
	{[]string{"repoServer", "volumes"}, []string{"volumes"}},
	{[]string{"repoServer", "extraArgs"}, []string{"containers", "args"}},
	{[]string{"repoServer", "env"}, []string{"containers", "env"}},
	{[]string{"repoServer", "envFrom"}, []string{"containers", "envFrom"}},
	{[]string{"repoServer", "volumeMounts"}, []string{"containers", "volumeMounts"}},
	{[]string{"repoServer", "resources"}, []string{"containers", "resources"}},
	{[]string{"repoServer", "containerSecurityContext"}, []string{"containers", "securityContext"}},
}

// refused compares the Deployment of the repo-server with the types of
// Kubernetes. What a cluster has, it has taken.
func (i *installation) refused() (all []finding.Finding) {
	if i.Live || i.Deployment == nil {
		return nil
	}
	pod := typeAt(i.Deployment, "spec", "template", "spec")
	for _, w := range i.of(repoServer) {
		if w.whole && w.Get("kind").Text() == i.Deployment.Name() {
			all = append(all, i.misfits(w.thing, i.Deployment)...)
		}
	}
	for _, v := range chartPods {
		all = append(all, i.misfits(i.values.at(v.value...), typeAt(pod, v.pod...))...)
	}
	return all
}

// misfits lists what of a value a type of Kubernetes cannot hold: keys that it
// does not have, and values of another kind. Values are not shown, since they may
// be secret.
func (i *installation) misfits(t thing, as reflect.Type) (all []finding.Finding) {
	for as.Kind() == reflect.Pointer {
		as = as.Elem()
	}
	if !t.Exists() || strings.Contains(t.Text(), "{{") { // which the chart fills in
		return nil
	}
	decodes := reflect.PointerTo(as).Implements(reflect.TypeFor[json.Unmarshaler]())
	switch kind := as.Kind(); {
	case !decodes && kind == reflect.Struct && t.IsMap():
		fields := fieldsOf(as)
		for key, v := range t.entries() {
			if field, ok := fields[key]; ok {
				all = append(all, i.misfits(v, field)...)
			} else {
				all = append(all, i.unknownKey(v, key, fields))
			}
		}
	case !decodes && kind == reflect.Map && t.IsMap():
		for _, v := range t.entries() {
			all = append(all, i.misfits(v, as.Elem())...)
		}
	case !decodes && kind == reflect.Slice && t.IsList():
		for _, v := range t.items() {
			all = append(all, i.misfits(v, as.Elem())...)
		}
	case t.IsMap() || t.IsList() || kind == reflect.Slice || kind == reflect.Map || !decodes && kind == reflect.Struct:
		all = append(all, instead(t.fault("it is %s, and must be %s", written(t.Value), wanted(as)), "%s", remedyFor(t.Value, as)))
	default:
		if err := json.Unmarshal(scalar(t.Value), reflect.New(as).Interface()); err == nil {
			break
		} else if as.Name() == "Quantity" {
			all = append(all, instead(t.fault("%q is no quantity", t.Text()), "%s", remedyFor(t.Value, as)))
		} else {
			all = append(all, instead(t.fault("it is %s, and must be %s", written(t.Value), wanted(as)), "%s", remedyFor(t.Value, as)))
		}
	}
	return all
}

func (i *installation) unknownKey(t thing, key string, fields map[string]reflect.Type) finding.Finding {
	return instead(t.fault("Kubernetes knows no %s here", key), "%scorrect the key, or drop it", i.near(key, slices.Collect(maps.Keys(fields))))
}

// near is the beginning of a remedy that names what may have been meant.
func (i *installation) near(word string, names []string) string {
	if i.Nearest == nil {
		return ""
	}
	slices.Sort(names)
	return i.Nearest(word, names)
}

// fieldsOf are the keys of a type, also those of types that it takes in.
func fieldsOf(as reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(as) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			all[name] = f.Type
		}
	}
	return all
}

// typeAt follows keys into a type, through lists, too.
func typeAt(as reflect.Type, keys ...string) reflect.Type {
	for n, key := range keys {
		as = fieldsOf(as)[key]
		for as.Kind() == reflect.Pointer || as.Kind() == reflect.Slice && n < len(keys)-1 {
			as = as.Elem()
		}
	}
	return as
}

// scalar is a value as JSON, to which Kubernetes' own library turns YAML.
func scalar(v object.Value) []byte {
	var text []byte
	var err error
	if v.IsText() {
		text, err = json.Marshal(v.Text())
	} else {
		text, err = yaml.YAMLToJSON([]byte(v.Text()))
	}
	if err != nil {
		return nil
	}
	return text
}

// written names the kind of a value, and wanted that of a type.
func written(v object.Value) string {
	switch {
	case v.IsMap():
		return "a mapping"
	case v.IsList():
		return "a list"
	case v.IsText():
		return "text"
	case slices.Contains([]string{"true", "false"}, string(scalar(v))):
		return "true or false"
	}
	return "a number"
}

func wanted(as reflect.Type) string {
	switch as.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Map:
		return "a mapping"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	}
	switch as.Name() {
	case "Quantity":
		return "a quantity"
	case "IntOrString":
		return "a number or text"
	case "Time", "MicroTime":
		return "a time"
	}
	return "a mapping"
}

func remedyFor(v object.Value, as reflect.Type) string {
	isText := as.Kind() == reflect.String
	switch {
	case as.Name() == "Quantity":
		return "write bytes as 512Mi or 2Gi, and CPUs as 500m or 2"
	case as.Kind() == reflect.Slice && v.IsMap():
		return `write a list, with "- " before each of its items`
	case as.Kind() == reflect.Slice:
		return "write a list, such as [one, two]"
	case isText && !v.IsMap() && !v.IsList():
		return "write it in quotes"
	case v.IsText() && json.Unmarshal([]byte(v.Text()), reflect.New(as).Interface()) == nil:
		return "write it without quotes"
	}
	return fmt.Sprintf("write %s; kubectl explain pod.spec has what is taken", wanted(as))
}
