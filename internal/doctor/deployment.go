package doctor

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// chartPodValues maps the values that the argo-cd chart copies unchanged into the
// Deployment of the repo-server to the types of their fields there. Source: its
// templates/argocd-repo-server/deployment.yaml.
var chartPodValues = []struct {
	value []string
	typ   any
}{
	{[]string{"global", "securityContext"}, new(corev1.PodSecurityContext)},
	{[]string{"global", "env"}, new([]corev1.EnvVar)},
	{[]string{"global", "extraVolumes"}, new([]corev1.Volume)},
	{[]string{"global", "extraVolumeMounts"}, new([]corev1.VolumeMount)},
	{[]string{"repoServer", "extraContainers"}, new([]corev1.Container)},
	{[]string{"repoServer", "initContainers"}, new([]corev1.Container)},
	{[]string{"repoServer", "volumes"}, new([]corev1.Volume)},
	{[]string{"repoServer", "extraArgs"}, new([]string)},
	{[]string{"repoServer", "env"}, new([]corev1.EnvVar)},
	{[]string{"repoServer", "envFrom"}, new([]corev1.EnvFromSource)},
	{[]string{"repoServer", "volumeMounts"}, new([]corev1.VolumeMount)},
	{[]string{"repoServer", "resources"}, new(corev1.ResourceRequirements)},
	{[]string{"repoServer", "containerSecurityContext"}, new(corev1.SecurityContext)},
}

// checkDeployment validates the Deployment of the repo-server as the API server does.
// Objects from a cluster are valid.
func (i *installation) checkDeployment() (all []finding.Finding) {
	if i.Live {
		return nil
	}
	for _, w := range i.workloadsOf(repoServer) {
		if !w.isComplete || w.Get("kind").Text() != "Deployment" {
			continue
		}
		pod := w.at("spec", "template", "spec")
		all = append(all, decodeStrictly(w.node, new(appsv1.Deployment))...)
		all = append(all, invalidPod(slices.Concat(pod.at("containers").items(), pod.at("initContainers").items()), pod.at("volumes").items())...)
	}
	for _, v := range chartPodValues {
		all = append(all, decodeStrictly(i.values.at(v.value...), v.typ)...)
	}
	if server := i.values.at("repoServer"); server.Exists() {
		all = append(all, invalidPod(slices.Concat(server.at("extraContainers").items(), server.at("initContainers").items()), server.at("volumes").items())...)
		all = append(all, invalidContainer(server)...)
	}
	for key, m := range i.maps {
		if slices.Contains([]string{configMap, paramsMap}, key.name) {
			all = append(all, decodeStrictly(m.at("data"), new(map[string]string))...)
		}
	}
	return all
}

// invalidPod reports what Kubernetes validates beyond types in the usual
// configuration of a sidecar: required, exclusive and unique keys, and requests
// above limits. Source: Kubernetes, pkg/apis/core/validation, which is not
// available as a library.
func invalidPod(containers, volumes []node) (all []finding.Finding) {
	all = append(duplicates(containers, "name"), duplicates(volumes, "name")...)
	for _, v := range volumes {
		all = append(all, missing(v, "name")...)
	}
	for _, c := range containers {
		all = append(all, missing(c, "name")...)
		for _, kind := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
			all = append(all, invalidProbe(c.at(kind))...)
		}
		all = append(all, invalidContainer(c)...)
	}
	return all
}

// invalidContainer validates the fields that containers and the repoServer values of
// the chart have in common.
func invalidContainer(c node) (all []finding.Finding) {
	mounts := c.at("volumeMounts").items()
	all = duplicates(mounts, "mountPath")
	for _, m := range mounts {
		all = append(all, missing(m, "name", "mountPath")...)
	}
	for _, e := range c.at("env").items() {
		all = append(all, missing(e, "name")...)
	}
	for _, p := range c.at("ports").items() {
		all = append(all, missing(p, "containerPort")...)
	}
	for name, request := range c.at("resources", "requests").entries() {
		limit := c.at("resources", "limits", name)
		requested, requestErr := resource.ParseQuantity(request.Text())
		limited, limitErr := resource.ParseQuantity(limit.Text())
		if requestErr == nil && limitErr == nil && requested.Cmp(limited) > 0 {
			all = append(all, withRemedy(request.fault("the request is %s, but the limit is %s", request.Text(), limit.Text()), "lower the request, or raise the limit"))
		}
	}
	return all
}

func invalidProbe(probe node) (all []finding.Finding) {
	if !probe.IsMap() {
		return nil
	}
	handlers := 0
	for _, handler := range []string{"exec", "grpc", "httpGet", "tcpSocket"} {
		at := probe.at(handler)
		if !at.Exists() {
			continue
		}
		handlers++
		if handler != "exec" {
			all = append(all, missing(at, "port")...)
		}
	}
	if handlers != 1 {
		all = append(all, withRemedy(probe.fault("it has %d handlers, but must have exactly one of exec, grpc, httpGet, tcpSocket", handlers), "keep exactly one; to replace it in a patch, set the old one to null"))
	}
	return all
}

// missing reports missing required keys of a mapping.
func missing(t node, keys ...string) (all []finding.Finding) {
	for _, key := range keys {
		if t.IsMap() && !t.Get(key).Exists() {
			all = append(all, withRemedy(t.fault("it has no %s", key), "add it"))
		}
	}
	return all
}

// duplicates reports list items with the same value of a key that must be unique.
func duplicates(list []node, key string) (all []finding.Finding) {
	seen := map[string]bool{}
	for _, t := range list {
		text := t.Get(key).Text()
		if text != "" && seen[text] {
			all = append(all, withRemedy(t.fault("another item of the list has the same %s, %s", key, text), "use a different %s, or remove one of the two", key))
		}
		seen[text] = true
	}
	return all
}
