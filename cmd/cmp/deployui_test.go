package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/argocd/install"
	"github.com/ladder-cmp/ladder/deploy"
	"github.com/ladder-cmp/ladder/render"
)

// TestDeployUI applies both ways of adding the extension of the user interface with kustomize,
// the component and what cmp install prints, and compares what Argo CD's server mounts with
// the values for Helm.
func TestDeployUI(t *testing.T) {
	var values struct {
		Server map[string]any `json:"server"`
	}
	if err := yaml.UnmarshalStrict([]byte(deploy.UIValues), &values); err != nil {
		t.Fatal(err)
	}
	printed, err := install.Kustomization("", install.Options{Image: "a/b:v1", UI: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]map[string]string{
		"component": {"ui/kustomization.yaml": read(t, "../../deploy/ui-extension/kustomization.yaml"),
			"ui/server.yaml": read(t, "../../deploy/ui-extension/server.yaml"), "ui/" + deploy.UIFile: deploy.UIScript},
		"printed": {"ui/kustomization.yaml": printed},
	} {
		t.Run(name, func(t *testing.T) {
			repo := fstest.MapFS{"kustomization.yaml": {Data: []byte("resources: [argocd.yaml]\ncomponents: [ui]\n")},
				"argocd.yaml": {Data: []byte(argocdInstalled)}}
			for file, text := range files {
				repo[file] = &fstest.MapFile{Data: []byte(text)}
			}
			res, err := render.Dir(context.Background(), repo, ".", render.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var mounted, script string
			for _, o := range res.Objects {
				var m struct {
					Data map[string]string
					Spec struct {
						Template struct {
							Spec struct {
								Containers []map[string]any
								Volumes    []map[string]any
							}
						}
					}
				}
				if err := yaml.Unmarshal([]byte(o.Text()), &m); err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(o.ID.Name, "ladder-ui") {
					script = m.Data[deploy.UIFile]
				}
				if o.ID.Name != "argocd-server" {
					continue
				}
				pod := m.Spec.Template.Spec
				configMap := pod.Volumes[0]["configMap"].(map[string]any)
				mounted, configMap["name"] = configMap["name"].(string), "ladder-ui"
				got := map[string]any{"volumes": []any{pod.Volumes[0]}, "volumeMounts": pod.Containers[0]["volumeMounts"]}
				if diff := gocmp.Diff(values.Server, got); diff != "" {
					t.Errorf("-values +kustomize:\n%s", diff)
				}
			}
			// Its generated name changes with the script, so that the server starts anew with it.
			if script != deploy.UIScript || !strings.HasPrefix(mounted, "ladder-ui-") {
				t.Errorf("the server mounts %q, whose script has %d bytes", mounted, len(script))
			}
		})
	}
}

// argocdInstalled is what the component changes of Argo CD.
const argocdInstalled = `apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-server}
spec: {template: {spec: {containers: [{name: argocd-server, image: argocd}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server}
spec: {template: {spec: {containers: [{name: argocd-repo-server, image: argocd}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cmd-params-cm}
`

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
