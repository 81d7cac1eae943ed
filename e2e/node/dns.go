package node

import (
	"context"
	"fmt"
	"net"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dnsAddress is the ClusterIP of the cluster's DNS, as most clusters have it.
const dnsAddress = "10.96.0.10"

// startDNS runs CoreDNS at the node's address, behind the Service that is called
// kube-dns everywhere.
func (n *Node) startDNS(ctx context.Context) error {
	if err := n.first().inside.run("coredns", n.bin.CoreDNS, "-conf="+n.file("Corefile")); err != nil {
		return err
	}
	return n.first().inside.await(ctx, "Service kube-dns", n.makeDNSService)
}

func (n *Node) makeDNSService(ctx context.Context) error {
	meta := metav1.ObjectMeta{Name: "kube-dns", Labels: map[string]string{"k8s-app": "kube-dns"}}
	protocols := map[string]corev1.Protocol{"dns": corev1.ProtocolUDP, "dns-tcp": corev1.ProtocolTCP}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: dnsAddress}}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: meta.Name, Labels: map[string]string{discoveryv1.LabelServiceName: meta.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{nodeAddress}}},
	}
	port := int32(53)
	for name, protocol := range protocols {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: name, Port: port, Protocol: protocol})
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &name, Port: &port, Protocol: &protocol})
	}
	if _, err := n.client.CoreV1().Services(metav1.NamespaceSystem).Create(ctx, service, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err := n.client.DiscoveryV1().EndpointSlices(metav1.NamespaceSystem).Create(ctx, slice, metav1.CreateOptions{})
	return err
}

// dnsIsReady asks CoreDNS whether it knows the cluster.
func (n *Node) dnsIsReady(ctx context.Context) error {
	client := http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", n.door.dnsSocket())
		}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://coredns/ready", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("CoreDNS says %s", answer.Status)
	}
	return nil
}
