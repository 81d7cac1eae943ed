package lint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
)

var loaded = map[string]*fleet.Fleet{}

// load returns a fleet of testdata, which several tests only read: it is rendered once.
func load(t *testing.T, name string) *fleet.Fleet {
	t.Helper()
	if loaded[name] == nil {
		loaded[name] = fleettest.Load(t, name)
	}
	return loaded[name]
}

// TestLint says what is wrong with each fleet.
func TestLint(t *testing.T) {
	for _, name := range fleettest.Names(t) {
		t.Run(name, func(t *testing.T) {
			golden.File(t, fleettest.Dir(t, name)+"/want.lint.txt", fleettest.Lines(lint.Findings(load(t, name), "")))
		})
	}
}

// TestEveryRuleFinds makes sure that no rule passes over all faults, and that
// findings have the severities that the rule says.
func TestEveryRuleFinds(t *testing.T) {
	seen := map[finding.Rule]map[finding.Severity]bool{}
	fleets := []*fleet.Fleet{fleettest.InPlace(t)}
	for _, name := range []string{"faults", "faults-waves", "fixes-before"} {
		fleets = append(fleets, load(t, name))
	}
	for _, fl := range fleets {
		for _, f := range lint.Findings(fl, "") {
			if seen[f.Rule] == nil {
				seen[f.Rule] = map[finding.Severity]bool{}
			}
			seen[f.Rule][f.Severity] = true
			if f.File == "" || f.Message == "" || f.Remedy == "" {
				t.Errorf("%s: no place, message or remedy: %s", f.Rule, f.Error())
			}
		}
	}
	for _, rule := range lint.Rules() {
		if len(seen[rule.Name]) == 0 {
			t.Errorf("%s finds nothing in fleets that are there for it", rule.Name)
		}
		for severity := range seen[rule.Name] {
			if !slices.Contains(rule.Severities, severity) {
				t.Errorf("%s finds a fault of severity %s, which it does not say", rule.Name, severity)
			}
		}
		delete(seen, rule.Name)
	}
	for rule := range seen {
		t.Errorf("%s is no rule", rule)
	}
}

// TestChecksOfARule: the findings of two checks of a rule at one place stay apart where those of two
// revisions are compared.
func TestChecksOfARule(t *testing.T) {
	all := slices.DeleteFunc(lint.Findings(load(t, "layers-before"), ""), func(f finding.Finding) bool {
		return f.Rule != "wrong-place" || !strings.HasSuffix(f.File, "/keda/component.yaml")
	})
	if appeared, fixed := compare.Findings(all[1:], "", all, ""); len(all) != 2 || len(fixed) != 0 || len(appeared) != 1 ||
		appeared[0].Message != all[0].Message {
		t.Errorf("of %s, %s appeared", fleettest.Lines(all), fleettest.Lines(appeared))
	}
}

// TestInPlace says what is wrong with Applications that exist already.
func TestInPlace(t *testing.T) {
	golden.File(t, fleettest.Dir(t, "inplace")+"/want.lint.txt", fleettest.Lines(lint.Findings(fleettest.InPlace(t), "")))
}

// TestFixes makes sure that what a platform's owners found out one outage at a
// time is found from its manifests, with what they did about it.
func TestFixes(t *testing.T) {
	found := fleettest.Lines(lint.Findings(load(t, "fixes-before"), ""))
	for _, fix := range []struct{ name, proof, remedy string }{
		{"Vault comes after its storage", "StatefulSet vault/vault: spec.volumeClaimTemplates[0].spec.storageClassName",
			"move vault-core to step 150 or later"},
		{"CRDs are moved out of cert-manager", "cert-manager in step 120 contains CRDs", "crds: split and crdsPhase: 110"},
		{"CRDs are moved out of the operator of Temporal", "temporal-operator in step 120 contains CRDs", "crds: split and crdsPhase: 210"},
		{"the definitions of Keycloak come first", "keycloak-crds contains CRDs", "move keycloak-crds to step 310"},
		{"the operator of Keycloak skips them", "keycloak-operator in step 320 contains CRDs", "crds: skip, because keycloak-crds contains them"},
		{"the realm comes after Keycloak", "KeycloakRealmImport shop/shop: spec.keycloakCRName", "move keycloak-realm to step 355 or later"},
		{"Temporal's namespace comes after Temporal", "TemporalNamespace shop/shop: spec.clusterRef",
			"move temporal-namespace-bootstrap to step 455 or later"},
		{"certificates stand among secrets", "vault-webhook-certs contains secrets", "move vault-webhook-certs to step 130"},
		{"certificates come after cert-manager", "Certificate vault/vault-injector: kind", "move vault-webhook-certs to step 130 or later"},
		{"the store comes after Vault", "ClusterSecretStore vault: spec.provider.vault.server", "move vault-secret-store to step 155 or later"},
		{"the operator of Temporal comes after cert-manager", "Certificate shop/temporal-webhook: kind",
			"move temporal-operator to step 220 or later"},
	} {
		if !regexp.MustCompile("(?m)^.*" + regexp.QuoteMeta(fix.proof) + ".*" + regexp.QuoteMeta(fix.remedy) + ".*$").MatchString(found) {
			t.Errorf("%s: not found", fix.name)
		}
	}
}

// TestRemediesHelp does what the findings say, all at once, and lints again.
func TestRemediesHelp(t *testing.T) {
	for _, name := range []string{"fixes-before", "faults-waves"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(fleettest.Dir(t, name))); err != nil {
				t.Fatal(err)
			}
			src := fleet.Source{Repo: os.DirFS(dir), Dirs: []string{"components"}}
			f, err := fleet.Load(t.Context(), src, knowledge.Default())
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range lint.Findings(f, "") {
				heed(t, dir, found)
			}
			if f, err = fleet.Load(t.Context(), src, knowledge.Default()); err != nil {
				t.Fatal(err)
			}
			for _, found := range lint.Findings(f, "") {
				if found.Severity != finding.Note {
					t.Errorf("still %s", found.Error())
				}
			}
		})
	}
}

var (
	moves  = regexp.MustCompile(`\bmove (\S+) to (?:step|wave) (-?\d+)`)
	writes = regexp.MustCompile(`(rolloutPhase|wave|crds|crdsPhase): "?(-?\w+)`)
	phase  = regexp.MustCompile(`(?m)^(rolloutPhase|wave): .*$`)
)

// heed changes a component.yaml as a remedy says.
func heed(t *testing.T, dir string, found finding.Finding) {
	t.Helper()
	edit := func(file string, change func(text string) string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(change(string(text))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all := moves.FindAllStringSubmatch(found.Remedy, -1)
	for _, m := range all {
		edit(filepath.Join(dir, "components", m[1], "component.yaml"), func(text string) string {
			return phase.ReplaceAllString(text, "$1: "+m[2])
		})
	}
	if all != nil {
		return
	}
	if found.Rule == "crd-shared" {
		return // the other finding about it says the same
	}
	for _, m := range writes.FindAllStringSubmatch(found.Remedy, -1) {
		edit(filepath.Join(dir, found.File), func(text string) string {
			if strings.Contains(text, "\n"+m[1]+":") {
				return text
			}
			return text + m[1] + ": " + m[2] + "\n"
		})
	}
}

// TestLintOfAnEnvironment looks at one environment, and at all.
func TestLintOfAnEnvironment(t *testing.T) {
	f := fleettest.Load(t, "faults")
	for environment, wanted := range map[string]bool{"": true, "preview": true, "main": false} {
		got := strings.Contains(fleettest.Lines(lint.Findings(f, environment)), `only-main is not deployed in environment "preview"`)
		if got != wanted {
			t.Errorf("in %q a need that only preview lacks: found %v, want %v", environment, got, wanted)
		}
	}
}
