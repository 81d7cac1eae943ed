// Package why_test has the real Argo CD sync what hangs or fails on a real node, and asks
// cmp why for the reason. docs/e2e.md describes it.
package why_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/node"
	"github.com/ladder-cmp/ladder/e2e/program"
)

// lab is a node with Argo CD, which all cases share.
type lab struct {
	dir  string
	root string // of the repository
	cmp  string
	node *node.Node
	argo *argocd.ArgoCD
}

// openLab starts a lab that ends with the test. Its files stay if the test fails.
func openLab(t *testing.T) *lab {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := filepath.Abs("../..")
	must(err)
	cache, err := program.Cache()
	must(err)
	l := &lab{root: root}
	nodeBin, err := node.Build(ctx, cache)
	must(err)
	argoBin, err := argocd.Build(ctx, root, cache)
	must(err)
	hello, err := program.BuildOwn(ctx, "node/hello", cache)
	must(err)
	l.cmp = argoBin.Cmp
	l.dir, err = os.MkdirTemp("", "ladder-why-")
	must(err)
	t.Cleanup(func() {
		if !t.Failed() {
			os.RemoveAll(l.dir)
		}
	})
	l.node, err = node.Start(ctx, filepath.Join(l.dir, "node"), nodeBin, node.Options{})
	must(err)
	t.Cleanup(func() {
		if err := l.node.Stop(); err != nil {
			t.Error(err)
		}
	})
	image, err := node.Program("/hello", map[string]string{"/hello": hello})
	must(err)
	must(l.node.Serve("quay.io/ladder/hello", image))
	settings, err := argocd.ShippedHealth(root)
	must(err)
	server := argocd.Server{Config: l.node.Config, Kubeconfig: l.node.Kubeconfig, URL: l.node.URL, Token: l.node.Token}
	l.argo, err = argocd.Start(ctx, server, filepath.Join(l.dir, "argo"), argoBin,
		argocd.Options{Settings: settings, Resync: 15 * time.Second})
	must(err)
	t.Cleanup(l.argo.Stop)
	must(l.grant(ctx))
	return l
}

// grant gives the users of cmp why what deploy/why does, and what it says one has to add: the
// groups of one's own kinds.
func (l *lab) grant(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(l.root, "deploy", "why", "clusterrole.yaml"))
	if err != nil {
		return err
	}
	objs, err := parse(string(text) + `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ladder-why-own}
rules:
- {apiGroups: [k8s.bitwarden.com, shop.example.com], resources: ["*"], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ladder-why-own}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ladder-why-own}
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: ladder-why}]
`)
	if err != nil {
		return err
	}
	return l.apply(ctx, objs)
}

// apply writes objects in order, each once its kind is served and its namespace is there.
func (l *lab) apply(ctx context.Context, objs []*unstructured.Unstructured) error {
	for _, obj := range objs {
		if err := soon(ctx, func() error { return l.argo.Kube().Apply(ctx, obj) }); err != nil {
			return fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
	return nil
}

// soon repeats what cannot be done yet.
func soon(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// parse reads the objects of a YAML text.
func parse(text string) (objs []*unstructured.Unstructured, err error) {
	for _, doc := range documents(text) {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &obj.Object); err != nil {
			return nil, err
		}
		if len(obj.Object) > 0 {
			objs = append(objs, obj)
		}
	}
	return objs, nil
}
