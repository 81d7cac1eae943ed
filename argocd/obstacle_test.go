package argocd_test

import (
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/object"
)

func parsed(t *testing.T, manifests string) []object.Object {
	t.Helper()
	objs, err := object.Parse("in.yaml", 1, manifests)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// TestObstacles asks why Argo CD does not sync an Application, as its own code decides
// (IsDestinationPermitted, IsGroupKindNamePermitted, IsSourcePermitted and SyncWindows).
func TestObstacles(t *testing.T) {
	t.Parallel()
	const automated = "syncPolicy: {automated: {}}, source: {repoURL: https://git.example.com/p.git, path: .}, " +
		"destination: {server: https://kubernetes.default.svc, namespace: shop}"
	const inShop = automated + ", project: shop"
	const anywhere = "sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}], clusterResourceWhitelist: [{group: '*', kind: '*'}]"
	for _, c := range []struct{ name, spec, around, want string }{
		{"automated", automated, "", ""},
		{"by hand", "project: default", "", "it is not synced automatically"},
		{"switched off", "syncPolicy: {automated: {enabled: false}}", "", "enabled is false"},
		{"switched on", "syncPolicy: {automated: {enabled: true}}", "", ""},
		{"no such project", inShop, "project other {}", "its AppProject shop is not among"},
		{"projects are unknown", inShop, "", ""},
		{"default exists", automated, "project other {}", ""},
		{"anywhere", inShop, "project shop {" + anywhere + "}", ""},
		{"nowhere", inShop, "project shop {sourceRepos: ['*']}", `does not allow namespace "shop"`},
		{"another namespace", inShop, "project shop {sourceRepos: ['*'], destinations: [{server: '*', namespace: 'team-*'}]}",
			`does not allow namespace "shop"`},
		{"by name", inShop, "project shop {sourceRepos: ['*'], destinations: [{name: in-cluster, namespace: '*'}], " +
			"clusterResourceWhitelist: [{group: '*', kind: '*'}]}", ""},
		{"all but this namespace", inShop,
			"project shop {sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}, {server: '*', namespace: '!shop'}]}",
			`does not allow namespace "shop"`},
		{"a server whose name is not known", "syncPolicy: {automated: {}}, project: shop, destination: {server: https://x, namespace: shop}",
			"project shop {sourceRepos: ['*'], destinations: [{name: prod, namespace: shop}], clusterResourceWhitelist: [{group: '*', kind: '*'}]}",
			""},
		{"another source", inShop, "project shop {" + strings.Replace(anywhere, "'*'", "'https://other.example.com/*'", 1) + "}",
			"does not allow its source"},
		{"a source that is hydrated", "syncPolicy: {automated: {}}, project: shop, " +
			"sourceHydrator: {drySource: {repoURL: https://git.example.com/p.git, path: .}}",
			"project shop {" + strings.Replace(anywhere, "'*'", "'https://other.example.com/*'", 1) + "}", "does not allow its source"},
		{"the same source", inShop, "project shop {" + strings.Replace(anywhere, "'*'", "https://git.example.com/P", 1) + "}", ""},
		{"kinds of the cluster", inShop, "project shop {sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}]}",
			"deploy ClusterRole.rbac.authorization.k8s.io"},
		{"a kind by name", inShop, "project shop {sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}], " +
			"clusterResourceWhitelist: [{group: rbac.*, kind: ClusterRole, name: other}]}", "ClusterRole"},
		{"a forbidden kind", inShop, "project shop {" + anywhere + ", namespaceResourceBlacklist: [{group: '', kind: Secret}]}", "deploy Secret"},
		{"only one kind", inShop, "project shop {" + anywhere + ", namespaceResourceWhitelist: [{group: apps, kind: '*'}]}", "deploy Secret"},
		{"another namespace of an object", inShop, "project shop {" + strings.Replace(anywhere, "namespace: '*'", "namespace: shop", 1) + "}",
			"deploy to kube-system"},
		{"a deny window", inShop, "project shop {" + anywhere +
			", syncWindows: [{kind: deny, schedule: '0 22 * * *', duration: 8h, applications: ['ap*']}]}", "a deny window"},
		{"a deny window of others", inShop, "project shop {" + anywhere +
			", syncWindows: [{kind: deny, schedule: '0 22 * * *', duration: 8h, applications: [b], namespaces: [c], clusters: [d]}]}", ""},
		{"one of two conditions", inShop, "project shop {" + anywhere +
			", syncWindows: [{kind: deny, schedule: '0 22 * * *', duration: 8h, applications: [app], namespaces: [c], andOperator: true}]}", ""},
		{"an allow window", inShop, "project shop {" + anywhere +
			", syncWindows: [{kind: allow, schedule: '0 22 * * *', duration: 8h, namespaces: [shop]}]}", "only in an allow window"},
		{"always allowed", inShop, "project shop {" + anywhere +
			", syncWindows: [{kind: allow, schedule: '0 0 * * *', duration: 24h, applications: ['*']}]}", ""},
		{"an unknown cluster", "syncPolicy: {automated: {}}, destination: {name: prod, namespace: a}",
			"cluster stage", "registers its cluster prod"},
		{"a known cluster", "syncPolicy: {automated: {}}, destination: {name: stage, namespace: a}", "cluster stage", ""},
		{"clusters are unknown", "syncPolicy: {automated: {}}, destination: {name: prod, namespace: a}", "", ""},
	} {
		if !strings.Contains(c.spec, "ource") {
			c.spec += ", source: {repoURL: https://git.example.com/p.git, path: .}"
		}
		app := parsed(t, "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: app}, spec: {"+c.spec+"}}")[0]
		expectObstacle(t, c.name, app, c.around, c.want)
	}
}

// TestSources asks which sources Argo CD rejects (validateSourcePermissions).
func TestSources(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"source: {repoURL: https://git.example.com/p.git}": "without path and chart",
		"source: {path: .}": "without repoURL",
		"source: {repoURL: https://git.example.com/p.git, ref: values}":                   "without path and chart",
		"sources: [{repoURL: https://x, path: .}, {repoURL: https://x}]":                  "without path and chart",
		"sources: [{repoURL: https://x, path: .}, {repoURL: https://x, ref: values}]":     "",
		"sourceHydrator: {drySource: {repoURL: https://x, path: .}}, source: {path: old}": "",
	} {
		app := parsed(t, "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: app}, "+
			"spec: {syncPolicy: {automated: {}}, "+spec+"}}")
		expectObstacle(t, spec, app[0], "", want)
	}
}

// expectObstacle compares the only obstacle of an Application with a part of its reason; empty for none.
func expectObstacle(t *testing.T, name string, app object.Object, surroundings, want string) {
	t.Helper()
	var got []string
	for _, o := range argocd.NewSurroundings(around(t, surroundings)).Obstacles(app, []argocd.Content{
		{ID: object.ID{Kind: "Secret", Name: "a"}, Namespaced: true},
		{ID: object.ID{Group: "apps", Kind: "Deployment", Namespace: "kube-system", Name: "a"}, Namespaced: true},
		{ID: object.ID{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "a"}},
	}, false) {
		got = append(got, o.Why)
	}
	if text := strings.Join(got, "; "); want == "" && text != "" || !strings.Contains(text, want) || want != "" && len(got) != 1 {
		t.Errorf("%s: %q, want %q", name, text, want)
	}
}

// around parses a project with its spec, or a cluster by its name.
func around(t *testing.T, text string) []object.Object {
	t.Helper()
	kind, rest, _ := strings.Cut(text, " ")
	switch kind {
	case "project":
		name, spec, _ := strings.Cut(rest, " ")
		return parsed(t, "{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: "+name+"}, spec: "+spec+"}")
	case "cluster":
		return parsed(t, "{apiVersion: v1, kind: Secret, "+
			"metadata: {name: a, labels: {argocd.argoproj.io/secret-type: cluster}}, stringData: {name: "+rest+", server: https://x}}")
	}
	return nil
}

// TestSyncedByOthers leaves an Application that the steps of a set sync alone, and one that Argo
// CD ignores not.
func TestSyncedByOthers(t *testing.T) {
	t.Parallel()
	app := parsed(t, "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: app}, "+
		"spec: {project: default, source: {repoURL: https://git.example.com/p.git, path: .}}}")[0]
	if all := (argocd.Surroundings{}).Obstacles(app, nil, true); len(all) > 0 {
		t.Errorf("got %v", all)
	}
	ignored, err := app.Annotate("argocd.argoproj.io/skip-reconcile", "true")
	if err != nil {
		t.Fatal(err)
	}
	if all := (argocd.Surroundings{}).Obstacles(ignored, nil, true); len(all) != 1 || all[0].Kind != argocd.Unasked {
		t.Errorf("got %v", all)
	}
}
