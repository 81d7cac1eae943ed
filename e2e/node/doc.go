// Package node runs a real Kubernetes node with its control plane, without systemd, a
// container engine or a registry: the API server with etcd, the controller-manager,
// the scheduler, the kubelet with containerd and runc, and kube-proxy. Programs really
// start, probe, fail and restart on it.
//
// All of it runs in namespaces and cgroups of its own: its mounts, its network, its
// processes and its host name are not the machine's, and nothing of the machine is
// changed. What is left when it stops is the directory that it was given. The API
// server is reached through a port of loopback.
//
// Images come from a registry in this process, by whatever name a Pod asks for;
// [Node.Serve] puts one there.
//
// What it does not have: a second node, load balancers, NetworkPolicies (its bridge
// enforces none), images by digest, and any way out of its network.
package node
