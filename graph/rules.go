package graph

import (
	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// A roleRule says what objects are for, by what the facts show.
type roleRule func(*facts.Facts) []Claim

// roleRules are independent of each other: a test shuffles them.
var roleRules = []roleRule{
	rolesAsked,        // annotations of users
	rolesByService,    // backends of webhooks and APIs
	rolesByPermission, // workloads whose RBAC is that of a controller
	rolesByClass,      // providers of classes
}

// A referenceRule says what objects need, by what the facts show and what they are for.
type referenceRule func(*facts.Facts, Roles) []Reference

// referenceRules are independent of each other: a test shuffles them. None sees what
// another one finds; Set.With merges.
var referenceRules = []referenceRule{
	requests,         // annotations of users
	namespaces,       // an object needs its namespace
	crds,             // a custom resource needs its CRD
	serversOfKinds,   // a custom resource needs the API that serves its kind
	installers,       // a custom resource needs the installer of its kind
	discoveredCRDs,   // kinds that a program discovers at startup
	fields,           // fields of kinds and of Pods, by records
	manifests,        // CRDs of objects that are created later
	appliedKinds,     // kinds of the manifests that Jobs apply
	conventions,      // conventional fields of custom resources
	products,         // objects that another object writes at run time
	namespaceMakers,  // an object needs its namespace, which an operator creates
	backends,         // workloads behind webhooks and APIs
	calls,            // calls and names in variables, arguments and files
	addresses,        // calls of custom resources, by their fields
	waits,            // waits of init containers and Jobs
	permissions,      // a workload needs the permissions of its ServiceAccount
	deployerBindings, // objects that Argo CD may create only with permissions of the component
	servedAPIs,       // a workload uses the aggregated APIs that it has permissions for
	watchedCRDs,      // a controller needs the CRDs of its kinds
	providers,        // a class is provided by a workload
}

// A derivation finds more from the references that are known: here the order carries meaning.
// What it reads stands in its signature; it changes nothing.
type derivation func(*facts.Facts, Roles, Set) ([]Claim, []Reference)

// derivations run one after the other, each on the results of those before it.
var derivations = []derivation{
	classUsers,    // users of a class need its provider
	reconcilers,   // custom resources and their controllers
	companions,    // what controllers may need at startup
	operators,     // operators installed from packages
	smokes,        // tests of the other objects
	jobs,          // Jobs between workloads, and Jobs after them
	partsOfStores, // programs and what operators make in their stores
	secretWriters, // Jobs that write Secrets for controllers
	laterCAs,      // PostSync Jobs without which an API is not trusted
	webhooks,      // objects and the webhooks that must admit them
	affinities,    // Pods that are scheduled beside others
	creators,      // workloads that may create what others read
	possibilities, // what no derivation may conclude from
}

// reports read everything and return findings.
var reports = []func(report) []finding.Finding{
	ownPods,           // webhooks that would refuse their own backends
	earlyWebhooks,     // webhooks that are registered before the backends that they refuse
	operatorGroups,    // operators that OLM does not install
	operatorApprovals, // operators that wait for an approval
	unusedExpects,     // what is expected outside of the component, and is inside or not named
	missingObjects,    // objects that are named but missing, probably by mistake
	deletedFirst,      // hooks of a deletion whose objects are gone
	oneOperation,      // tasks that Helm runs in one operation, and Argo CD in every sync
}

// report is what reports read.
type report struct {
	*facts.Facts
	Roles  Roles
	Set    Set
	Absent []Absent
}
