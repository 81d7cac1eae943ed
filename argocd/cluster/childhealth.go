package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/argocd/health"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// The states that a health check for Applications must report correctly, so that waves between
// Applications have an effect.
var childStates = []struct {
	name   string
	status map[string]any
	// healthy is the state that the check must return.
	healthy bool
}{
	{"has no status yet", nil, false},
	{"is Progressing", map[string]any{"health": map[string]any{"status": "Progressing"}}, false},
	{"is Degraded", map[string]any{"health": map[string]any{"status": "Degraded"}}, false},
	{"is Healthy", map[string]any{"health": map[string]any{"status": "Healthy"}, "sync": map[string]any{"status": "Synced"}, "operationState": map[string]any{"phase": "Succeeded"}}, true},
}

// ChecksChildren reports whether a configuration of Argo CD, the argocd-cm ConfigMap or
// values of its Helm chart, has a health check for Applications that tells a healthy
// child from any other. Without one, Argo CD treats a child as healthy as soon as it
// exists, and does not wait for it before the next wave of an app of apps.
func ChecksChildren(ctx context.Context, file, text string) ([]finding.Finding, error) {
	const remedy = "merge what cmp fleet apps --health-check prints into this file"
	found := finding.Finding{Severity: finding.Error, Rule: "no-child-health", File: file, Remedy: remedy}
	docs, err := object.Documents(text)
	if err != nil {
		line, message := object.SyntaxError(err)
		return nil, finding.Finding{Severity: finding.Error, Rule: "bad-yaml", File: file, Line: line, Message: "not valid YAML: " + message, Remedy: "pass the argocd-cm ConfigMap, or values for the Argo CD Helm chart"}
	}
	scripts := map[*yaml.Node]string{}
	var order []*yaml.Node
	for _, doc := range docs {
		order = append(order, childScripts(doc, scripts)...)
	}
	if len(order) == 0 {
		found.Message = "no health check for argoproj.io/Application: Argo CD treats a child as healthy as soon as it exists, and starts the next wave without waiting for it"
		return []finding.Finding{found}, nil
	}
	var all []finding.Finding
	for _, n := range order {
		for _, wrong := range checkChildHealth(ctx, scripts[n]) {
			found := found
			found.Line, found.Message = n.Line, wrong
			all = append(all, found)
		}
	}
	return all, nil
}

// argoGroup is the API group of Argo CD.
const argoGroup = "argoproj.io"

// ChildHealthCheck returns the health check with which Argo CD waits for child Applications: as a
// patch of the argocd-cm ConfigMap, and as values for the Argo CD Helm chart.
func ChildHealthCheck(base *knowledge.Base) (configMap, values string) {
	check := slices.DeleteFunc(health.Checks(base.KindsWithStatus()), func(c health.Check) bool { return c.Key != health.Key(argoGroup, "Application") })
	return health.ConfigMap(check), health.Values(check)
}

// childHealthTimeout limits the run time of a health check.
const childHealthTimeout = 5 * time.Second

// checkChildHealth runs a health check for Applications, and returns a message for each
// health state that it reports wrongly.
func checkChildHealth(ctx context.Context, script string) []string {
	ctx, cancel := context.WithTimeout(ctx, childHealthTimeout)
	defer cancel()
	var all []string
	for _, state := range childStates {
		obj := map[string]any{"apiVersion": argoGroup + "/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "child"}, "spec": map[string]any{}}
		if state.status != nil {
			obj["status"] = state.status
		}
		status, _, err := health.Run(ctx, script, obj)
		if err != nil {
			return append(all, "the health check for Applications fails: "+err.Error())
		}
		if (status == "Healthy") != state.healthy {
			all = append(all, fmt.Sprintf("the health check for Applications returns %q for a child that %s", status, state.name))
		}
	}
	return all
}

// childScripts finds the health checks for Applications in a configuration, under the current
// key and the old one.
func childScripts(n *yaml.Node, scripts map[*yaml.Node]string) []*yaml.Node {
	var all []*yaml.Node
	add := func(n *yaml.Node, script string) {
		if strings.TrimSpace(script) != "" {
			scripts[n] = script
			all = append(all, n)
		}
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			switch key.Value {
			case health.Key(argoGroup, "Application"):
				add(key, value.Value)
			case "resource.customizations":
				var old map[string]map[string]any
				if yaml.Unmarshal([]byte(value.Value), &old) == nil {
					if script, ok := old[argoGroup+"/Application"]["health.lua"].(string); ok {
						add(key, script)
					}
				}
			}
		}
	}
	for _, c := range n.Content {
		all = append(all, childScripts(c, scripts)...)
	}
	return all
}
