package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// fromCatalogs are the components with Subscriptions, and the object that comes too
// early when their order is reversed.
var fromCatalogs = map[string]string{
	"acm":             "MultiClusterHub open-cluster-management/multiclusterhub",
	"cert-manager":    "CertManager cluster",
	"gitops":          "ArgoCD team-gitops/argocd",
	"kafka":           "Kafka streams/events",
	"logging":         "LokiStack openshift-logging/logging-loki",
	"manual-approval": "QuayRegistry registry/central",
	"odf":             "StorageCluster openshift-storage/ocs-storagecluster",
	"pipelines":       "TektonConfig config",
	"private-catalog": "Subscription ledgers/ledger-operator",
	"service-mesh":    "Istio default",
}

func olmComponent(name string) string { return filepath.Join("testdata", "olm", name) }

// TestOperatorsOfCatalogs deploys components whose operators the Operator Lifecycle
// Manager installs. In Ladder's order they sync at the first attempt; with the same
// waves reversed they hang or fail, as "cmp check" predicts.
func TestOperatorsOfCatalogs(t *testing.T) {
	t.Parallel()
	for name, early := range fromCatalogs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := component("olm-"+name, filepath.Join(here.root, olmComponent(name)))
			if err != nil {
				t.Fatal(err)
			}
			t.Run("ladder", func(t *testing.T) { syncs(t, raise(t, s), "olm", name) })
			t.Run("reversed", func(t *testing.T) { stops(t, s, name, early) })
		})
	}
}

// stops syncs a story in the reversed order of its waves.
func stops(t *testing.T, s story, name, early string) {
	objs, err := s.rendered(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for _, obj := range objs {
		all = append(all, waveOf(obj))
	}
	for i, obj := range objs {
		annotations := maps.Clone(obj.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[syncWave] = strconv.Itoa(slices.Min(all) + slices.Max(all) - all[i])
		obj.SetAnnotations(annotations)
	}
	text, err := stream(objs)
	if err != nil {
		t.Fatal(err)
	}
	r := manifests("reversed-"+name, s.namespace, text)
	r.scenario = s.scenario
	g := raise(t, r)
	findings := check(t, g.namespace, g.objs)
	if !findings.predicts("late", early) || len(findings.errors()) == 0 {
		t.Errorf("cmp check does not find that %s is late", early)
	}
	out := g.sync(t, shortHangTimeout)
	if out.Result != argocd.Hangs && out.Result != argocd.Failed {
		t.Errorf("the sync: %s, although the order is reversed\n%s", out.Result, here.argo.Explain(out, g.waiting()))
	}
	results.add(row{"olm, reversed", name, waves(g.objs), out.Duration, string(out.Result) + ", as predicted"})
}

// addPrintedHealth adds the health checks that "cmp health" prints for these
// components, as docs/openshift.md tells people to.
func (l *lab) addPrintedHealth(ctx context.Context, settings map[string]string) error {
	for name := range fromCatalogs {
		var findings bytes.Buffer
		cmd := exec.CommandContext(ctx, l.bin.Cmp, "health", filepath.Join(l.root, olmComponent(name)))
		cmd.Stderr = &findings
		text, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("cmp health %s: %w: %s", name, err, findings.String())
		}
		var printed struct{ Data map[string]string }
		if err := yaml.Unmarshal(text, &printed); err != nil {
			return fmt.Errorf("cmp health %s: %w", name, err)
		}
		maps.Copy(settings, printed.Data)
	}
	return nil
}
