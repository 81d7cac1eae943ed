package graph

import (
	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// RoleRule says what objects are for, by what the facts show.
type RoleRule struct {
	Name string
	Find func(*facts.Facts) []Claim
}

// roleRules are independent of each other: a test shuffles them.
var roleRules = []RoleRule{
	{"asked", rolesAsked},             // annotations of users
	{"service", rolesByService},       // backends of webhooks and APIs
	{"permission", rolesByPermission}, // workloads whose RBAC is that of a controller
	{"class", rolesByClass},           // providers of classes
}

// ReferenceRule says what objects need, by what the facts show and what they are for.
type ReferenceRule struct {
	Name string
	Find func(*facts.Facts, Roles) []Reference
}

// referenceRules are independent of each other: a test shuffles them. None sees what
// another one finds; Set.With merges.
var referenceRules = []ReferenceRule{
	{"requests", requests},                     // annotations of users
	{"namespaces", namespaces},                 // an object needs its namespace
	{"crds", crds},                             // a custom resource needs its CRD
	{"servers-of-kinds", serversOfKinds},       // a custom resource needs the API that serves its kind
	{"installers", installers},                 // a custom resource needs the installer of its kind
	{"discovered-crds", discoveredCRDs},        // kinds that a program discovers at startup
	{"fields", fields},                         // fields of kinds and of Pods, by records
	{"manifests", manifests},                   // CRDs of objects that are created later
	{"applied-kinds", appliedKinds},            // kinds of the manifests that Jobs apply
	{"conventions", conventions},               // conventional fields of custom resources
	{"products", products},                     // objects that another object writes at run time
	{"namespace-makers", namespaceMakers},      // an object needs its namespace, which an operator creates
	{"backends", backends},                     // workloads behind webhooks and APIs
	{"calls", calls},                           // calls and names in variables, arguments and files
	{"addresses", addresses},                   // calls of custom resources, by their fields
	{"waits", waits},                           // waits of init containers and Jobs
	{"permissions", permissions},               // a workload needs the permissions of its ServiceAccount
	{"deployer-permissions", deployerBindings}, // objects that Argo CD may create only with permissions of the component
	{"served-apis", servedAPIs},                // a workload uses the aggregated APIs that it has permissions for
	{"watched-crds", watchedCRDs},              // a controller needs the CRDs of its kinds
	{"providers", providers},                   // a class is provided by a workload
}

// Step derives more from the references that are known: here the order carries meaning.
// What a step reads stands in its signature; it changes nothing.
type Step struct {
	Name string
	Do   func(*facts.Facts, Roles, Set) ([]Claim, []Reference)
}

// steps run one after the other, each on the results of those before it.
var steps = []Step{
	{"class-users", classUsers},       // users of a class need its provider
	{"reconcilers", reconcilers},      // custom resources and their controllers
	{"companions", companions},        // what controllers may need at startup
	{"operators", operators},          // operators installed from packages
	{"smokes", smokes},                // tests of the other objects
	{"jobs", jobs},                    // Jobs between workloads, and Jobs after them
	{"parts", partsOfStores},          // programs and what operators make in their stores
	{"secret-writers", secretWriters}, // Jobs that write Secrets for controllers
	{"later-cas", laterCAs},           // PostSync Jobs without which an API is not trusted
	{"webhooks", webhooks},            // objects and the webhooks that must admit them
	{"creators", creators},            // workloads that may create what others read
	{"possible", possibilities},       // what no step may conclude from
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
