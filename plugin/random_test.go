package plugin_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/random"
)

// TestSeedApplication: whom values are for is what Argo CD says, whatever the parameters and
// variables of an Application say.
func TestSeedApplication(t *testing.T) {
	env := map[string]string{"ARGOCD_APP_PROJECT_NAME": "team", "ARGOCD_APP_NAME": "apps_shop", "ARGOCD_APP_NAMESPACE": "shop"}
	want, ok := plugin.SeedApplication(env)
	if !ok || want != (random.Owner{Project: "team", Name: "apps_shop", Namespace: "shop"}) {
		t.Fatal(want, ok)
	}
	for name, value := range map[string]string{
		"ARGOCD_ENV_ARGOCD_APP_PROJECT_NAME": "other", "ARGOCD_ENV_ARGOCD_APP_NAME": "other", "ARGOCD_ENV_LADDER_NAME": "other",
		"ARGOCD_ENV_LADDER_NAMESPACE": "other",
		"PARAM_NAME":                  "other",
		"ARGOCD_APP_PARAMETERS":       `[{"name":"name","string":"other"},{"name":"namespace","string":"other"}]`,
		"ARGOCD_APP_SOURCE_PATH":      "other",
		"ARGOCD_APP_SOURCE_REPO_URL":  "other", "ARGOCD_APP_REVISION": "other", "KUBE_VERSION": "1.30.0",
	} {
		env[name] = value
	}
	if got, _ := plugin.SeedApplication(env); got != want {
		t.Errorf("%v became %v", want, got)
	}
	delete(env, "ARGOCD_APP_PROJECT_NAME")
	if _, ok := plugin.SeedApplication(env); ok {
		t.Error("an Application whose AppProject nobody knows has a key")
	}
}

// TestRandom: what component.yaml and the seed say about generated values together.
func TestRandom(t *testing.T) {
	s, err := random.ParseSeed([]byte(strings.Repeat("0123456789abcdef", 2)))
	if err != nil {
		t.Fatal(err)
	}
	seeded := &plugin.Random{Key: s.Key, Now: time.Unix(1_800_000_000, 0)}
	for _, tt := range []struct {
		name, says    string
		random        *plugin.Random
		same, derived bool
		want          string // of the finding or the fault
	}{
		{"no seed", "", nil, false, false, "differs on every render"},
		{"a seed", "", seeded, true, true, ""},
		{"a seed, derived", "derived", seeded, true, true, ""},
		{"a seed, drawn", "drawn", seeded, false, false, "differs on every render"},
		{"no seed, derived", "derived", nil, false, false, "no seed is configured"},
		{"something else", "fixed", seeded, false, false, "write derived or drawn"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{
				"app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
				"app/templates/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n" +
					"stringData: {p: '{{ randAlphaNum 20 }}', c: {{ (genCAWithKey \"ca\" 30 (genPrivateKey \"ecdsa\")).Cert | quote }}}\n",
			}
			if tt.says != "" {
				files["app/component.yaml"] = "random: " + tt.says + "\n"
			}
			req := plugin.Request{Repo: repository(files), Dir: "app", App: plugin.App{Name: "shop", Namespace: "shop"}, Random: tt.random}
			res, err := plugin.Generate(context.Background(), req, knowledge.Default())
			if err != nil {
				if tt.want == "" || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v, want %q", err, tt.want)
				}
				return
			}
			again, err := plugin.Generate(context.Background(), req, knowledge.Default())
			if err != nil {
				t.Fatal(err)
			}
			if same := res.YAML() == again.YAML(); same != tt.same || res.Derived != tt.derived || len(res.RenewalFindings()) > 0 != tt.derived {
				t.Errorf("the same: %v, derived: %v, %d renewals", same, res.Derived, len(res.RenewalFindings()))
			}
			if tt.want == "" && len(res.Findings) > 0 ||
				tt.want != "" && !slices.ContainsFunc(res.Findings, func(f finding.Finding) bool { return strings.Contains(f.Message, tt.want) }) {
				t.Errorf("%v, want %q", res.Findings, tt.want)
			}
		})
	}
}

// TestWithoutSeed: the note says what helps: not a seed, if Argo CD does not say the AppProject
// or the component does not want one.
func TestWithoutSeed(t *testing.T) {
	repo := repository(map[string]string{
		"app/Chart.yaml":            "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"app/templates/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {p: '{{ randAlphaNum 20 }}'}\n",
	})
	for _, tt := range []struct{ name, project, random, want, not string }{
		{"no seed", "default", "", "render with a seed (--seed-file), or set values", "Argo CD"},
		{"no project", "", "", "upgrade Argo CD to 3.0 or later", "--seed-file"},
		{"no project, drawn", "", "drawn", "set random: derived, with a seed", "Argo CD"},
		{"no project, derived", "", "derived", "upgrade Argo CD to 3.0 or later", "--seed-file"},
		{"drawn", "default", "drawn", "set random: derived, with a seed", "--seed-file"},
		{"derived", "default", "derived", "--seed-file", "Argo CD"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := plugin.FromEnvironment(repo, "app",
				map[string]string{"ARGOCD_APP_NAME": "shop", "ARGOCD_APP_PROJECT_NAME": tt.project, "ARGOCD_ENV_LADDER_RANDOM": tt.random})
			if err != nil {
				t.Fatal(err)
			}
			res, err := plugin.Generate(context.Background(), req, knowledge.Default())
			found := append(res.Findings, finding.Of(err)...)
			if len(found) != 1 || !strings.Contains(found[0].Remedy, tt.want) || strings.Contains(found[0].Error(), tt.not) {
				t.Errorf("%v, want %q and not %q", found, tt.want, tt.not)
			}
		})
	}
}
