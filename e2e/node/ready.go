package node

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ladder-cmp/ladder/e2e/cluster"
)

func (n *Node) waitUntilReady(ctx context.Context) error {
	if err := n.first().inside.await(ctx, "the controller-manager", n.namespacesAreFurnished); err != nil {
		return err
	}
	if err := n.first().inside.await(ctx, "CoreDNS", n.dnsIsReady); err != nil {
		return err
	}
	for _, m := range n.machines {
		if err := m.inside.await(ctx, "node "+m.name, func(ctx context.Context) error { return n.isReady(ctx, m.name) }); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) isReady(ctx context.Context, name string) error {
	node, err := n.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && (c.Status == corev1.ConditionTrue || n.opts.NoNetwork) {
			return nil
		}
	}
	return errors.New("the kubelet does not report Ready")
}

// namespacesAreFurnished waits for what controllers put into each namespace: Pods are
// refused before their ServiceAccount exists, and hang without the CA.
func (n *Node) namespacesAreFurnished(ctx context.Context) error {
	for _, namespace := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		if _, err := n.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{}); err != nil {
			return err
		}
		if _, err := n.client.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// settle makes what is in the cluster now stay when it is cleaned.
func (n *Node) settle(ctx context.Context) (err error) {
	n.Cleaner, err = cluster.NewCleaner(ctx, n.Config, isControllerAccount)
	return err
}

// isControllerAccount holds for the ServiceAccounts of Kubernetes's own controllers,
// which they make when they first write something. They have names and nothing else.
func isControllerAccount(o *unstructured.Unstructured) bool {
	return o.GetKind() == "ServiceAccount" && o.GetNamespace() == metav1.NamespaceSystem &&
		len(o.GetLabels()) == 0 && len(o.GetAnnotations()) == 0 && len(o.GetManagedFields()) == 0
}
