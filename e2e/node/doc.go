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
// CoreDNS knows the names of the cluster and no others. PVCs get volumes, and with
// [Options] load balancers get addresses, from controllers in this process (package
// provider). What a suite asks afterwards is read by [Node.Restarts], [Node.Logs],
// [Node.Warnings] and the audit log; [Node.Clean] makes room for the next case.
//
// [Options.Workers] adds nodes without a control plane, in namespaces of their own too.
//
// What it does not have: NetworkPolicies (its bridge enforces none), block volumes and
// volumes with a size, images by digest, and any way out of its network.
package node
