package double

import (
	"fmt"
	"hash/fnv"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// backedBy says on a Service that a custom resource has made which object serves
// behind it: such a Service has no selector.
const backedBy = "cluster-double/backed-by"

// services gives Services endpoints while somebody serves behind them, and
// addresses to those that ask for one.
func (t *reconciliation) services() {
	for _, service := range t.of("", "Service") {
		if service.GetDeletionTimestamp() != nil {
			continue
		}
		t.endpoints(service)
		if text(service, "spec", "type") == "LoadBalancer" {
			t.address(service)
		}
	}
	for _, ingress := range t.of("networking.k8s.io", "Ingress") {
		if ingress.GetDeletionTimestamp() == nil {
			t.address(ingress)
		}
	}
}

// routes are where connections to Services lead.
func (t *reconciliation) routes() map[string]route {
	routes := map[string]route{}
	for _, service := range t.of("", "Service") {
		if ip := text(service, "spec", "clusterIP"); ip != "" && ip != "None" {
			routes[ip] = route{refOf(service), t.serviceReason(service)}
		}
	}
	return routes
}

// serviceReason says why nobody answers behind a Service, empty if somebody does.
func (t *reconciliation) serviceReason(service *unstructured.Unstructured) string {
	ref := refOf(service)
	if why, known := t.serving[ref]; known {
		return why
	}
	why := t.backendReason(service)
	if why != "" {
		why = ref.String() + " has no endpoints: " + why
	}
	t.serving[ref] = why
	return why
}

func (t *reconciliation) backendReason(service *unstructured.Unstructured) string {
	if text(service, "spec", "type") == "ExternalName" {
		return ""
	}
	if uid := service.GetAnnotations()[backedBy]; uid != "" {
		return t.ownerReason(uid)
	}
	if selector, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector"); len(selector) == 0 {
		return "it has no selector"
	}
	why := "no workload has the labels of its selector"
	early, _, _ := unstructured.NestedBool(service.Object, "spec", "publishNotReadyAddresses")
	for _, o := range t.backends(refOf(service)) {
		if isServing(o) || early {
			return ""
		}
		why = refOf(o).String() + " is not ready"
	}
	return why
}

func (t *reconciliation) ownerReason(uid string) string {
	for _, o := range t.byUID {
		if string(o.GetUID()) == uid {
			if t.isReady(o) {
				return ""
			}
			return t.notReady(o)
		}
	}
	return "what made it is gone"
}

// endpoints keeps the one EndpointSlice of a Service. Its address is nobody's:
// the API server's connections go where [stub.dial] leads them.
func (t *reconciliation) endpoints(service *unstructured.Unstructured) {
	if text(service, "spec", "type") == "ExternalName" || service.GetNamespace() == "default" && service.GetName() == "kubernetes" {
		return
	}
	name := service.GetName() + "-double"
	ready := t.serviceReason(service) == ""
	slice := t.get("discovery.k8s.io", "EndpointSlice", service.GetNamespace(), name)
	if slice == nil {
		t.create(service, endpointSlice(service, name, ready)).quiet = true
		return
	}
	endpoints, _, _ := unstructured.NestedSlice(slice.Object, "endpoints")
	if (len(endpoints) > 0) == ready && samePorts(slice, service) {
		return
	}
	wanted := endpointSlice(service, name, ready)
	what := "have endpoints"
	if !ready {
		what = "have no endpoints"
	}
	change := map[string]any{"endpoints": wanted.Object["endpoints"], "ports": wanted.Object["ports"]}
	t.patch(slice, what, change)
}

func endpointSlice(service *unstructured.Unstructured, name string, ready bool) *unstructured.Unstructured {
	endpoints := []any{}
	if ready {
		endpoints = []any{map[string]any{"addresses": []any{podAddress(service)}, "conditions": map[string]any{"ready": true}}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
		"metadata": map[string]any{
			"name": name, "namespace": service.GetNamespace(),
			"labels": map[string]any{"kubernetes.io/service-name": service.GetName(), "endpointslice.kubernetes.io/managed-by": UserAgent},
			"ownerReferences": []any{map[string]any{
				"apiVersion": "v1", "kind": "Service", "name": service.GetName(), "uid": string(service.GetUID()), "controller": true,
			}},
		},
		"endpoints": endpoints, "ports": slicePorts(service),
	}}
}

func slicePorts(service *unstructured.Unstructured) []any {
	ports := []any{}
	list, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	for _, item := range list {
		port, ok := item.(map[string]any)
		if !ok {
			continue
		}
		number, ok := port["targetPort"].(int64)
		if !ok { // a name, which only Pods could tell
			number, _ = port["port"].(int64)
		}
		name, _ := port["name"].(string)
		protocol, _ := port["protocol"].(string)
		ports = append(ports, map[string]any{"name": name, "port": number, "protocol": protocol})
	}
	return ports
}

func samePorts(slice, service *unstructured.Unstructured) bool {
	have, _, _ := unstructured.NestedSlice(slice.Object, "ports")
	want := slicePorts(service)
	return fmt.Sprint(have) == fmt.Sprint(want)
}

// podAddress is an address of the network of Pods, the same for the same Service.
func podAddress(service *unstructured.Unstructured) string {
	n := hash(service.GetNamespace() + "/" + service.GetName())
	return fmt.Sprintf("10.244.%d.%d", n>>8&0xff, n&0x7f+1)
}

// address gives an object of the outer world its address, unless the test
// withholds it.
func (t *reconciliation) address(o *unstructured.Unstructured) {
	given, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress")
	if len(given) > 0 {
		return
	}
	if t.scenarios.withheld(refOf(o)) {
		t.wait(o, "it is given no address")
		return
	}
	if !t.pace.ripe(key(o, "address")) {
		t.wait(o, "it is given an address in a moment")
		return
	}
	ip := fmt.Sprintf("198.51.100.%d", hash(refOf(o).String())&0x7f+1)
	t.setStatus(o, "be given an address", map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": ip}}}})
}

func hash(s string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, s)
	return h.Sum64()
}
