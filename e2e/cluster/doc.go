// Package cluster runs a real kube-apiserver with etcd on loopback, so that the
// end-to-end suites see what the API server really does: defaults, validation,
// admission, established CRDs, aggregated APIs, calls to webhooks. What was
// applied when, and by whom, is read from its audit log.
//
// Nothing else of a cluster runs. There is no kube-controller-manager, hence
// no garbage collection, no end of a namespace's deletion, no endpoints, no
// tokens of ServiceAccounts; no scheduler and no kubelet. What of that the
// suites need is played by package double. Bare Pods are not refused for want
// of their ServiceAccount, since that admission plugin needs controllers.
//
// The network of Services is not that of the machine: the API server asks an
// HTTP CONNECT proxy of this package for every connection to a ClusterIP (an
// egress selector, the API server's own way to reach a network it is not part
// of), and [Cluster.Route] says where such a connection leads.
package cluster
