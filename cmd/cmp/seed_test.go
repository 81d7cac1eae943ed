package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/render/random"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// generating is a chart that generates a password and a certificate, and fails if a
// value says so.
func generating(values string) repo {
	return chartOf("app/values.yaml", values, "app/templates/secret.yaml",
		`{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: "{{ randAlphaNum 30 }}", `+
			`c: {{ (genCAWithKey "ca" 90 (genPrivateKey "ecdsa")).Cert | quote }}}}{{ if .Values.fails }}{{ fail (randAlphaNum 30) }}{{ end }}`)
}

// TestSeedStaysInside: servers with one seed give the same answers, also when they start
// again, and those for two Applications have nothing in common; and neither the seed nor a
// key that is derived from it is in an answer, the log or the metrics.
func TestSeedStaysInside(t *testing.T) {
	t.Parallel()
	content := flags.NewSeed()
	file := filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	parsed, err := random.ParseSeed([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	of := random.Owner{Project: "default", Name: "shop", Namespace: "shop"}
	secret := strings.TrimSpace(strings.TrimPrefix(content, "v1:"))
	raw, _ := hex.DecodeString(secret)
	key := parsed.Key(of).Bytes()
	hidden := func(where, text string) {
		t.Helper()
		for _, s := range []string{secret, string(raw), string(key), hex.EncodeToString(key)} {
			if strings.Contains(text, s) {
				t.Errorf("%s shows the seed or a key: %s", where, text)
			}
		}
	}
	app := func(project, name string) map[string]string {
		return map[string]string{"ARGOCD_APP_PROJECT_NAME": project, "ARGOCD_APP_NAME": name, "ARGOCD_APP_NAMESPACE": of.Namespace}
	}
	ask := func(s *served, r repo, env map[string]string) string {
		t.Helper()
		res, err := s.GenerateManifest(t.Context(), sidecartest.Request{Archive: sidecartest.PackEntries(r...), Dir: "app", Env: env})
		if err != nil {
			hidden("an error", err.Error())
			return ""
		}
		text := strings.Join(res, "---\n")
		hidden("an answer", text)
		return text
	}
	var answers [2]string
	for i := range answers {
		s := startServe(t, "LADDER_SEED_FILE="+file, "LADDER_SERVE_LOG_LEVEL=debug", "LADDER_SERVE_CACHE_BYTES=0")
		answers[i] = ask(s, generating("a: 1\n"), app(of.Project, of.Name))
		if again := ask(s, generating("a: 2\n"), app(of.Project, of.Name)); answers[i] == "" || answers[i] != again {
			t.Errorf("server %d: two answers:\n%s\n%s", i, answers[i], again)
		}
		for _, other := range []map[string]string{app("default", "other"), app("team", "shop"), app("", "shop")} {
			first := ask(s, generating("a: 1\n"), other)
			if first == answers[i] || first == "" {
				t.Errorf("%v has the answer of another:\n%s", other, first)
			}
			if again := ask(s, generating("a: 1\n"), other); (first == again) != (other["ARGOCD_APP_PROJECT_NAME"] != "") {
				t.Errorf("%v: two answers:\n%s\n%s", other, first, again)
			}
		}
		ask(s, generating("fails: true\n"), app(of.Project, of.Name))
		hidden("the metrics", s.get(t, "/metrics"))
		s.mu.Lock()
		log, err := json.Marshal(s.lines)
		s.mu.Unlock()
		if err != nil || s.seed != parsed.Fingerprint() {
			t.Errorf("the log names the fingerprint %s, want %s: %v", s.seed, parsed.Fingerprint(), err)
		}
		hidden("the log", string(log))
	}
	if answers[0] != answers[1] {
		t.Errorf("two servers:\n%s\n%s", answers[0], answers[1])
	}
}

// TestServersAgree: two servers with one seed render the charts of testdata that generate
// something to the same bytes; two Applications have no generated value in common; and the
// certificates form chains.
func TestServersAgree(t *testing.T) {
	t.Parallel()
	const charts = "../../testdata/charts"
	archive, err := sidecartest.Pack(charts)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "seed")
	// The date that a chart draws is one of a year, so two Applications have the same one
	// with some seeds. This is a seed with which they do not.
	if err := os.WriteFile(file, []byte(random.NewSeed([random.MinSeedBytes]byte{})), 0o600); err != nil {
		t.Fatal(err)
	}
	var servers [2]*served
	for i := range servers {
		servers[i] = startServe(t, "LADDER_SEED_FILE="+file)
	}
	drawn := startServe(t, "LADDER_SERVE_CACHE_BYTES=0") // without a seed, so that what differs is what is generated
	for chart, least := range map[string]int{"almanac": 1, "cellar": 19} {
		ask := func(s *served, project, name string) []string {
			t.Helper()
			parameters := `[{"name": "set", "map": {"slow": "true"}}]`
			if s == drawn {
				parameters = "[]" // what is drawn is asked for only to see what is not
			}
			res, err := s.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: chart,
				Env: map[string]string{"ARGOCD_APP_PROJECT_NAME": project, "ARGOCD_APP_NAME": name, "ARGOCD_APP_NAMESPACE": "shop",
					"ARGOCD_APP_PARAMETERS": parameters}})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		one := ask(servers[0], "default", "shop")
		if other := ask(servers[1], "default", "shop"); !slices.Equal(one, other) {
			t.Errorf("%s: two servers:\n%s\n%s", chart, one, other)
		}
		generated, again := textsOf(t, one), textsOf(t, ask(drawn, "default", "shop"))
		for text := range textsOf(t, ask(drawn, "default", "shop")) {
			if again[text] { // a date that is the derived one by chance is not, twice
				delete(generated, text)
			}
		}
		if len(generated) < least {
			t.Errorf("%s: %d generated values, want %d or more: %v", chart, len(generated), least, generated)
		}
		for _, application := range [][2]string{{"team", "shop"}, {"default", "mart"}} {
			for text := range textsOf(t, ask(servers[1], application[0], application[1])) {
				if generated[text] {
					t.Errorf("%s: %s has a value of another Application: %s", chart, application, text)
				}
			}
		}
		if chart == "cellar" {
			checkChain(t, one)
		}
	}
}

// textsOf are the texts in manifests, each once.
func textsOf(t *testing.T, manifests []string) map[string]bool {
	t.Helper()
	texts := map[string]bool{}
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case string:
			texts[v] = true
		case []any:
			for _, item := range v {
				add(item)
			}
		case map[string]any:
			for _, item := range v {
				add(item)
			}
		}
	}
	for _, m := range manifests {
		var doc any
		if err := yaml.Unmarshal([]byte(m), &doc); err != nil {
			t.Fatal(err)
		}
		add(doc)
	}
	return texts
}

// checkChain verifies the certificate of the Secret shop-tls against its authority.
func checkChain(t *testing.T, manifests []string) {
	t.Helper()
	for _, m := range manifests {
		var secret struct {
			Metadata struct{ Name string }
			Data     map[string]string
		}
		if err := yaml.Unmarshal([]byte(m), &secret); err != nil {
			t.Fatal(err)
		}
		if secret.Metadata.Name != "shop-tls" {
			continue
		}
		pem := func(key string) []byte {
			text, err := base64.StdEncoding.DecodeString(secret.Data[key])
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		pair, err := tls.X509KeyPair(pem("tls.crt"), pem("tls.key"))
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem("ca.crt"))
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: "shop", Roots: roots}); err != nil {
			t.Error(err)
		}
		return
	}
	t.Error("there is no Secret shop-tls")
}
