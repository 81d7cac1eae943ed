package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

type balancers struct {
	client   kubernetes.Interface
	services corelisters.ServiceLister
	first    netip.Addr
}

// LoadBalancers gives each Service of type LoadBalancer an address until ctx ends, from
// first on; kube-proxy leads it to the Service's Pods. Services with a
// loadBalancerClass are another's. Errors of single Services go to log and are tried
// again.
func LoadBalancers(ctx context.Context, config *rest.Config, first netip.Addr, log io.Writer) error {
	client, factory, err := connect(config)
	if err != nil {
		return err
	}
	services := factory.Core().V1().Services()
	b := &balancers{client: client, services: services.Lister(), first: first}
	return run(ctx, log, factory, []cache.SharedIndexInformer{services.Informer()}, b.reconcile)
}

func (b *balancers) reconcile(ctx context.Context) error {
	services, err := b.services.List(labels.Everything())
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, s := range services {
		for _, ingress := range s.Status.LoadBalancer.Ingress {
			taken[ingress.IP] = true
		}
	}
	var faults []error
	for _, s := range services {
		wants := s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil && s.DeletionTimestamp == nil
		if !wants || len(s.Status.LoadBalancer.Ingress) > 0 {
			continue
		}
		address := b.first
		for taken[address.String()] {
			address = address.Next()
		}
		taken[address.String()] = true
		faults = append(faults, b.give(ctx, s, address))
	}
	return errors.Join(faults...)
}

func (b *balancers) give(ctx context.Context, s *corev1.Service, address netip.Addr) error {
	s = s.DeepCopy()
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address.String()}}
	_, err := b.client.CoreV1().Services(s.Namespace).UpdateStatus(ctx, s, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("giving Service %s/%s an address: %w", s.Namespace, s.Name, err)
	}
	return nil
}
