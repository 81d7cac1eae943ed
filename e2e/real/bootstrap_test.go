package real_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/argocd"
	"github.com/ladder-cmp/ladder/e2e/node"
)

// early is a component of testdata/bootstrap/fleet.yaml: the network, or a case.
type early struct {
	Name string `json:"name"`
	Step int    `json:"step"`
}

// network is the component that is not a case.
const network = "network"

// TestBootstrap brings a node without a Pod network up with apply.sh, and then Argo CD,
// which adopts what is there without starting a Pod again.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	shop.join(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	name := labDir(t, "bootstrap")
	members, fleet := bootstrapFleet(ctx, t, name)
	out := filepath.Join(t.TempDir(), "bootstrap")
	args := []string{"fleet", "bootstrap", fleet, "--until", "030"}
	if _, err := run(ctx, append(args, "--out", out)...); err != nil {
		t.Fatal(err)
	}
	n := startNode(ctx, t, name, node.Options{NoNetwork: true})
	l, err := withoutArgoCD(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if err := l.serve(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.nodeIsReady(ctx); err == nil {
		t.Fatal("the node is ready before it has a network, so that this shows nothing")
	}
	since := time.Now()
	l.apply(ctx, t, out)
	if err := l.nodeIsReady(ctx); err != nil {
		t.Error(err)
	}
	results.add(row{"bootstrap", "apply.sh", outcome{Outcome: argocd.Outcome{Result: argocd.Synced}, settled: time.Since(since)}})
	l.apply(ctx, t, out) // a second time changes nothing

	pods := l.pods(ctx, t)
	l.argo = startArgoCD(ctx, t, n, name, shop.health)
	for _, m := range members {
		l.adopt(ctx, t, m)
	}
	for name, uid := range l.pods(ctx, t) {
		if before, ok := pods[name]; ok && before != uid {
			t.Errorf("Pod %s was replaced when Argo CD adopted it", name)
		}
		delete(pods, name)
	}
	if len(pods) > 0 {
		t.Errorf("Argo CD deleted %q", slices.Sorted(maps.Keys(pods)))
	}
	if text, err := run(ctx, append(args, "--check", out)...); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// bootstrapFleet lays the fleet out, with a step in each component, and makes its images.
func bootstrapFleet(ctx context.Context, t *testing.T, lab string) (members []prepared, dir string) {
	t.Helper()
	text, err := os.ReadFile("testdata/bootstrap/fleet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var fleet []early
	if err := yaml.UnmarshalStrict(text, &fleet); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "fleet")
	for _, m := range fleet {
		c, files, err := m.component(ctx)
		if err != nil {
			t.Fatal(err)
		}
		about, err := yaml.Marshal(map[string]any{"name": c.name, "namespace": c.Namespace, "rolloutPhase": fmt.Sprintf("%03d", m.Step)})
		if err != nil {
			t.Fatal(err)
		}
		files["component.yaml"] = string(about)
		if err := write(filepath.Join(dir, c.name), files); err != nil {
			t.Fatal(err)
		}
		p, err := shop.prepareFiles(ctx, lab, c, ladder, files)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, p)
	}
	return members, dir
}

func (m early) component(ctx context.Context) (component, map[string]string, error) {
	if m.Name != network {
		c, ok := shop.cases[m.Name]
		if !ok {
			return c, nil, fmt.Errorf("testdata/bootstrap/fleet.yaml: unknown case %s", m.Name)
		}
		files, err := c.files(ctx)
		return c, files, err
	}
	files, err := argocd.Files("testdata/bootstrap/network", "")
	if err != nil {
		return component{}, nil, err
	}
	config, err := yaml.Marshal(corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: network, Namespace: metav1.NamespaceSystem},
		Data:       map[string]string{"10-bridge.conflist": node.PodNetwork},
	})
	if err != nil {
		return component{}, nil, err
	}
	files["config.yaml"] = string(config)
	return component{name: network, Namespace: metav1.NamespaceSystem}, files, nil
}

// apply runs apply.sh as the owner of a cluster does.
func (l *lab) apply(ctx context.Context, t *testing.T, dir string) {
	t.Helper()
	kubectl, err := shop.images.Program(ctx, "docker.io/openpolicyagent/gatekeeper-crds", "/kubectl")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "sh", filepath.Join(dir, "apply.sh"), "--timeout", "180")
	cmd.Env = append(os.Environ(), "KUBECTL="+kubectl, "KUBECONFIG="+l.node.Kubeconfig)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("apply.sh: %v\n%s", err, output)
	}
}

// adopt deploys a component as an Application, which finds its objects in the cluster.
func (l *lab) adopt(ctx context.Context, t *testing.T, p prepared) {
	t.Helper()
	app, err := l.create(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	since, timeout := time.Now(), hangTimeout
	if p.name == network {
		timeout = 20 * time.Second // its second operator never finds a node
	}
	if err := l.argo.Sync(ctx, app); err != nil {
		t.Fatal(err)
	}
	followed, err := l.argo.Follow(ctx, app.Name, since, argocd.Watch{HangTimeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	want := argocd.Synced
	if p.name == network {
		want = argocd.Unhealthy
	}
	out := outcome{Outcome: followed}
	if out.Result != want || out.Attempts() > 1 || out.Status.Sync.Status != "Synced" {
		t.Errorf("%s: %s after %d attempts, want %s after one\n%s", p.name, out.Result, out.Attempts(), want, l.explain(ctx, out))
	}
}

func (l *lab) nodeIsReady(ctx context.Context) error {
	nodes, err := l.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range nodes.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
	}
	return errors.New("the node is not ready")
}

// pods are the UIDs of all Pods but those of Jobs, by namespace and name.
func (l *lab) pods(ctx context.Context, t *testing.T) map[string]string {
	t.Helper()
	list, err := l.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]string{}
	for _, p := range list.Items {
		if !strings.Contains(string(p.Status.Phase), "Succeeded") {
			uids[p.Namespace+"/"+p.Name] = string(p.UID)
		}
	}
	return uids
}
