package steps_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/steps"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// computed are the steps of a fleet by name, with "-" for none.
func computed(p *steps.Plan) map[string]string {
	all := map[string]string{}
	for _, row := range p.Steps {
		all[row.Name] = row.Computed.Text
		if !row.Computed.Set {
			all[row.Name] = "-"
		}
	}
	return all
}

const (
	vault = `
apiVersion: v1
kind: Service
metadata: {name: vault}
spec: {selector: {a: vault}, ports: [{port: 8200}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: vault}
spec:
  serviceName: vault
  selector: {matchLabels: {a: vault}}
  template:
    metadata: {labels: {a: vault}}
    spec: {containers: [{name: c, image: vault}]}
`
	vaultStore = `
apiVersion: external-secrets.io/v1
kind: ClusterSecretStore
metadata: {name: vault}
spec: {provider: {vault: {server: "http://vault.vault.svc.cluster.local:8200", path: secret, auth: {tokenSecretRef: {name: token, key: token}}}}}
`
	pullSecret = `
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: pull}
spec: {secretStoreRef: {kind: ClusterSecretStore, name: vault}, target: {name: pull}, data: [{secretKey: a, remoteRef: {key: a}}]}
`
)

// TestAddressIsSure: a store never comes before the Vault whose address it holds, also
// where that leaves no place for what reads from it; and whoever makes or plays a
// rollout says so (the outage of a real fleet).
func TestAddressIsSure(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"vault/component.yaml": fleettest.Described("vault", "foundation", "150"), "vault/v.yaml": vault,
		"store/component.yaml": fleettest.Described("store", "foundation", "155"), "store/s.yaml": vaultStore,
		"pull/component.yaml": fleettest.Described("pull", "foundation", "130"), "pull/p.yaml": pullSecret,
	}
	p := steps.Compute(fleettest.Files(t, files, fleet.Source{}), steps.Options{})
	if got := computed(p); got["store"] != "155" || got["vault"] != "150" || got["pull"] != "-" {
		t.Errorf("computed %v; the store must stay behind the Vault", got)
	}
	if err := finding.Err(p.Findings); err == nil || !strings.Contains(err.Error(), "it must come after store") {
		t.Errorf("nothing says why pull has no place: %v", err)
	}
	files["store/component.yaml"] = fleettest.Described("store", "foundation", "130")
	delete(files, "pull/component.yaml")
	delete(files, "pull/p.yaml")
	f := fleettest.Files(t, files, fleet.Source{})
	same := func(all []finding.Finding) bool {
		return slices.ContainsFunc(all, func(found finding.Finding) bool {
			return found.Rule == "later-step" && found.Severity == finding.Error &&
				strings.Contains(found.Message, "vault is in step 150 and store in step 130")
		})
	}
	_, _, appset := generate.ApplicationSets(f, generate.Options{})
	_, _, apps := generate.Applications(f, generate.Options{Path: "apps"})
	for name, all := range map[string][]finding.Finding{"lint": lint.Findings(f, ""), "appset": finding.Of(appset), "apps": finding.Of(apps),
		"simulate": rollout.Findings(f, rollout.LayoutSet, "")} {
		if !same(all) {
			t.Errorf("%s does not say that the store comes before the Vault: %v", name, all)
		}
	}
	if run, err := (rollout.Options{Layout: rollout.LayoutSet, Times: rollout.AssumedDurations()}).Simulate(f); err != nil || run.Done() {
		t.Errorf("the rollout is said to end (%v)", err)
	}
}

// TestInferredIsSaid: what only signs say is warned of by all that make a rollout, with
// the finding of lint.
func TestInferredIsSaid(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	m.Settings.Name, m.Settings.RepoURL = "f", "https://git.example.com/f.git"
	m.App("early", "data", "workloads", 250)
	m.App("late", "data", "workloads", 260)
	m.Needs("early", "late", fleet.Healthy, true)
	warned := func(all []finding.Finding) bool {
		return slices.ContainsFunc(all, func(found finding.Finding) bool {
			return found.Rule == "later-step" && found.Severity == finding.Warning
		})
	}
	if !warned(rollout.Findings(m.Fleet, rollout.LayoutSet, "")) || !warned(lint.BlockingFindings(m.Fleet, "")) {
		t.Error("an inferred need that the phases do not keep is not told")
	}
}

// TestSettingsAreNotSure: what a program calls one day does not order components for sure.
func TestSettingsAreNotSure(t *testing.T) {
	t.Parallel()
	collector := `
apiVersion: opentelemetry.io/v1beta1
kind: OpenTelemetryCollector
metadata: {name: otel}
spec: {config: {exporters: {otlp: {endpoint: "vault.vault.svc:8200"}}}}
`
	f := fleettest.Files(t, map[string]string{
		"vault/component.yaml": fleettest.Described("vault", "foundation", "150"), "vault/v.yaml": vault,
		"otel/component.yaml": fleettest.Described("otel", "observability", "550"), "otel/o.yaml": collector,
	}, fleet.Source{})
	for _, l := range f.Links {
		if l.IsCertain() {
			t.Errorf("%s needs %s for sure: %v", f.Applications[l.From].Name, f.Applications[l.To].Name, l.Reasons)
		}
	}
}

// TestNamespaceIsNoCycle: Argo CD creates the namespace that another component holds,
// so the two can be put in order, unless it is told not to.
func TestNamespaceIsNoCycle(t *testing.T) {
	t.Parallel()
	base := "{apiVersion: v1, kind: Namespace, metadata: {name: cm, labels: {a: b}}}\n---\n{apiVersion: cert-manager.io/v1, " +
		"kind: Certificate, metadata: {name: a, namespace: default}, spec: {secretName: a, issuerRef: {name: x}}}\n"
	files := map[string]string{
		"base/component.yaml": "name: base\ndomain: foundation\nrolloutPhase: 130\n", "base/b.yaml": base,
		"cm/component.yaml": "name: cm\nnamespace: cm\ndomain: foundation\nrolloutPhase: 120\n",
		"cm/c.yaml":         fleettest.CertificateCRD + "---" + fleettest.CertManager,
	}
	p := steps.Compute(fleettest.Files(t, files, fleet.Source{}), steps.Options{})
	if got := computed(p); got["cm"] != "120" || got["base"] != "130" {
		t.Errorf("computed %v: %v", got, p.Findings)
	}
	if err := finding.Err(p.Findings); err != nil {
		t.Error(err)
	}
	files["cm/component.yaml"] += "syncOptions: [CreateNamespace=false]\n"
	if err := finding.Err(steps.Compute(fleettest.Files(t, files, fleet.Source{}), steps.Options{}).Findings); err == nil {
		t.Error("nobody creates the namespace, and the two need each other; that is a cycle")
	}
}
