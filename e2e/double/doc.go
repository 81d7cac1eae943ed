// Package double plays what runs in a cluster beside the API server: kubelet,
// kube-controller-manager, and the controllers of custom resources.
//
// It exists to be strict. An object becomes healthy only when what it needs is
// really there, after a short random delay, and while it is not there the
// double says what is missing ([Double.Waiting]); so a sync in a wrong order
// hangs or fails as it would in a cluster, and a hanging sync is explained.
//
//	Pods         start when what they mount, read and run as exists, their claims
//	             are bound, and the API server would admit them (a dry run asks it)
//	claims       are bound when a volume may be made, for a class that waits for
//	             its first consumer not before a Pod uses them
//	Services     have endpoints while a workload behind them serves; only then
//	             does the API server reach their webhooks and aggregated APIs
//	custom       resources become ready when their controller serves and what
//	             they name is there; then what they make appears (records.yaml)
//	OLM          installs operators as olm.go says, and with them the kinds that a
//	             [Scenario] tells
//	deletion     dependents go after their owners, namespaces with their content,
//	             finalizers when the controller that handles them serves
//
// What it does not play: Pods and ReplicaSets of a workload are not made, only
// its status is; nothing is ever scheduled, evicted or restarted once it runs;
// no program runs, so what a program needs besides what its spec shows must be
// told with a [Scenario]; progress deadlines do not pass; CronJobs never fire.
package double
