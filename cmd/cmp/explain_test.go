package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

const manifests = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: web, envFrom: [{secretRef: {name: shop}}]}
---
apiVersion: v1
kind: Secret
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: other}
---
apiVersion: batch/v1
kind: Job
metadata: {generateName: migrate-, annotations: {argocd.argoproj.io/hook: PreSync}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: m, image: m}]}
`

func plan(t *testing.T, text string) *wave.Plan {
	t.Helper()
	g := golden.Must(graph.Build(golden.Must(object.Parse("in.yaml", 1, text)), knowledge.Default(), graph.Options{Namespace: "demo"}))
	return golden.Must(wave.Assign(g, knowledge.Default(), wave.Options{}))
}

// TestFind names objects in the spellings that users know.
func TestFind(t *testing.T) {
	t.Parallel()
	p := plan(t, manifests)
	for expr, want := range map[string]string{
		"Deployment/web":       "Deployment web",
		"deploy/web":           "Deployment web",
		"deployment/web":       "Deployment web",
		"Deployment/demo/web":  "Deployment web",
		"cm/other/web":         "ConfigMap web",
		"web":                  "ConfigMap web, Deployment web",
		"Job/migrate":          "Job migrate-*",
		"Job/migrate-":         "Job migrate-*",
		"Deployment/other/web": `did you mean`,
		"Service/web":          `did you mean`,
		"Secret/shpo":          `did you mean "Secret/shop"?`,
		"Secret/zzzzzzzzzzz":   `did you mean "Secret/shop"?`, // the only one of the kind
		"Ingress/zzzzzzzzzzz":  "use KIND/NAME",
	} {
		found, err := findObjects(p, expr)
		got := ""
		if err != nil {
			got = finding.Of(err)[0].Remedy
		} else {
			var names []string
			for _, i := range found {
				id := p.Graph.Nodes[i].Key
				names = append(names, id.Kind+" "+id.Name)
			}
			if len(names) == 2 && names[0] > names[1] {
				names[0], names[1] = names[1], names[0]
			}
			got = strings.Join(names, ", ")
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s finds %s, want %s", expr, got, want)
		}
	}
}

// TestOrder explains all objects, or those that are named, and lists their ApplicationSets.
func TestOrder(t *testing.T) {
	t.Parallel()
	p := plan(t, manifests+"---\napiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set}\nspec: {}\n")
	at, err := findObjects(p, "ApplicationSet/set")
	if err != nil {
		t.Fatal(err)
	}
	sets := map[int]plugin.GeneratedSet{at[0]: {}}
	all, err := explainOrder(p, sets)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Objects) != 5 || len(all.Sets) != 1 || !strings.Contains(all.Text(), "WAVE") ||
		!strings.Contains(all.Text(), "No Application of ApplicationSet demo/set is known") {
		t.Errorf("explained %d objects and %d sets by\n%s", len(all.Objects), len(all.Sets), all.Text())
	}
	for _, o := range all.Objects {
		isHook := o.Kind == "Job"
		if (o.Wave == nil) != isHook || (o.Phase != "") != isHook || isHook && !strings.Contains(o.Phase, "PreSync") {
			t.Errorf("%s %s is in wave %v, phase %q", o.Kind, o.Name, o.Wave, o.Phase)
		}
	}
	one, err := explainOrder(p, sets, "deploy/web")
	if err != nil {
		t.Fatal(err)
	}
	if len(one.Objects) != 1 || len(one.Sets) != 0 || !strings.Contains(one.Text(), "Secret") || strings.Contains(one.Text(), "WAVE") {
		t.Errorf("explained %d objects and %d sets by\n%s", len(one.Objects), len(one.Sets), one.Text())
	}
	refers := false
	for _, r := range one.Objects[0].References {
		refers = refers || strings.Contains(r.To, "Secret") && strings.Contains(r.To, "shop")
	}
	text, err := json.Marshal(one)
	if err != nil || !refers || strings.Contains(string(text), "applicationSets") {
		t.Errorf("the JSON is %s, %v", text, err)
	}
	if _, err := explainOrder(p, sets, "deploy/x"); err == nil {
		t.Error("an unknown object was explained")
	}
}

// TestHealth returns health checks for what a sync waits for, and a note for each kind without
// known status.
func TestHealth(t *testing.T) {
	t.Parallel()
	kinds, unknown := healthOf(plan(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n"), nil)
	if len(kinds)+len(unknown) != 0 {
		t.Errorf("a Secret has %v, %v", kinds, unknown)
	}
	p := plan(t, "apiVersion: unknown.example.com/v1\nkind: Thing\nmetadata: {name: x}\n---\n"+
		"apiVersion: unknown.example.com/v1\nkind: Thing\nmetadata: {name: z}\n")
	var gates []wave.Gate
	for i := range p.Graph.Nodes {
		gates = append(gates,
			wave.Gate{WithoutHealthCheck: []wave.Gated{{Node: i, Kind: "unknown.example.com/Thing", Object: fmt.Sprint(i), Why: "others need it"}}})
	}
	kinds, unknown = healthOf(p, gates)
	if len(kinds) != 0 || len(unknown) != 1 ||
		!strings.Contains(unknown[0].Remedy, "resource.customizations.health.unknown.example.com_Thing") {
		t.Errorf("two objects of an unknown kind have %v, %v, want one note", kinds, unknown)
	}
}
