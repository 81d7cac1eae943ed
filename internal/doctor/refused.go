package doctor

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
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
	for key, m := range i.maps {
		if slices.Contains([]string{configMap, paramsMap}, key.name) {
			all = append(all, i.misfits(m.at("data"), reflect.TypeFor[map[string]string]())...)
		}
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
		all = append(all, i.invalid(t, as)...)
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
			if one := words[as.Name()]; one != nil && !slices.Contains(one, t.Text()) {
				all = append(all, instead(t.fault("%q is none of %s", t.Text(), strings.Join(one, ", ")), "write one of these"))
			}
		} else if as.Name() == "Quantity" {
			all = append(all, instead(t.fault("%q is no quantity", t.Text()), "%s", remedyFor(t.Value, as)))
		} else {
			all = append(all, instead(t.fault("it is %s, and must be %s", written(t.Value), wanted(as)), "%s", remedyFor(t.Value, as)))
		}
	}
	return all
}

// words are what texts of a type may say. Source: k8s.io/api/core/v1, types.go.
var words = map[string][]string{
	"PullPolicy":             {"Always", "IfNotPresent", "Never"},
	"Protocol":               {"TCP", "UDP", "SCTP"},
	"URIScheme":              {"HTTP", "HTTPS"},
	"SeccompProfileType":     {"Unconfined", "RuntimeDefault", "Localhost"},
	"ContainerRestartPolicy": {"Always", "Never", "OnFailure"},
	"RestartPolicy":          {"Always", "OnFailure", "Never"},
}

// invalid lists what Kubernetes validates beyond types in what people write by hand
// for a sidecar: keys that must be there, that must be alone, or must differ, and
// requests above limits. Source: Kubernetes, pkg/apis/core/validation.
func (i *installation) invalid(t thing, as reflect.Type) (all []finding.Finding) {
	if strings.HasSuffix(as.PkgPath(), "/core/v1") && as.Name() != "PodSpec" {
		for _, name := range required(as) {
			if !t.Get(name).Exists() {
				all = append(all, instead(t.fault("it has no %s", name), "add it"))
			}
		}
	}
	switch as.Name() {
	case "PodSpec":
		all = append(all, same(append(t.at("containers").items(), t.at("initContainers").items()...), "name")...)
		all = append(all, same(t.at("volumes").items(), "name")...)
	case "Container":
		all = append(all, same(t.at("volumeMounts").items(), "mountPath")...)
		all = append(all, misnamed(t.at("name"), 63)...)
	case "Volume":
		all = append(all, misnamed(t.at("name"), 63)...)
		if sources := t.among(as, "VolumeSource"); len(sources) > 1 {
			all = append(all, instead(t.fault("it is several volumes: %s", strings.Join(sources, ", ")), "keep one of them"))
		}
	case "Probe":
		if handlers := t.among(as, "ProbeHandler"); len(handlers) != 1 {
			all = append(all, instead(t.fault("it has %d ways to ask, and must have one of exec, grpc, httpGet, tcpSocket", len(handlers)), "keep or add one of them; a patch that replaces one sets the other to null"))
		}
	case "ContainerPort":
		all = append(all, misnamed(t.at("name"), 15)...)
		if port := t.at("containerPort"); port.Exists() {
			if n, ok := port.Int(); ok && (n < 1 || n > 65535) {
				all = append(all, instead(port.fault("there is no port %d", n), "write one between 1 and 65535"))
			}
		}
	case "ResourceRequirements":
		for name, request := range t.at("requests").entries() {
			limit := t.at("limits", name)
			least, ok := quantityOf(request.Text())
			most, limited := quantityOf(limit.Text())
			if ok && limited && least > most {
				all = append(all, instead(request.fault("%s is requested, and the limit is %s", request.Text(), limit.Text()), "lower the one, or raise the other"))
			}
		}
	}
	return all
}

// required are the keys that a type cannot be without.
func required(as reflect.Type) (all []string) {
	for _, f := range reflect.VisibleFields(as) {
		if name, rest, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && rest == "" && f.Type.Kind() != reflect.Pointer {
			all = append(all, name)
		}
	}
	return all
}

// among are the keys of a mapping that come from one of the types which its own
// takes in.
func (t thing) among(as reflect.Type, of string) (all []string) {
	from, ok := as.FieldByName(of)
	if !ok {
		return nil
	}
	for key := range fieldsOf(from.Type) {
		if t.Get(key).Exists() {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return all
}

// same looks for things of a list that say the same where they must differ.
func same(list []thing, key string) (all []finding.Finding) {
	seen := map[string]bool{}
	for _, t := range list {
		text := t.Get(key).Text()
		if text != "" && seen[text] {
			all = append(all, instead(t.fault("there is another one whose %s is %s", key, text), "give it another %s, or drop it", key))
		}
		seen[text] = true
	}
	return all
}

var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

func misnamed(name thing, longest int) []finding.Finding {
	text := name.Text()
	if text == "" || strings.Contains(text, "{{") || label.MatchString(text) && len(text) <= longest {
		return nil
	}
	return []finding.Finding{instead(name.fault("%q is no name", text), "write up to %d small letters, digits and hyphens", longest)}
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
	return "write " + wanted(as)
}
