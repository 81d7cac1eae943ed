package fetch

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"strings"
	"testing"
)

// TestNearestSigner finds the entry for an address, however that is written.
func TestNearestSigner(t *testing.T) {
	t.Parallel()
	var policy Policy
	for _, address := range []string{"https://*", "oci://*", "oci://*.example.com", "oci://ghcr.io", "oci://ghcr.io/org/*", "oci://ghcr.io/org/app", "https://charts.example.com/stable", "oci://docker.io/org"} {
		policy = append(policy, Signer{Address: address})
	}
	for address, want := range map[string]string{
		"oci://ghcr.io/org/app":                       "oci://ghcr.io/org/app",
		"oci://GHCR.io:443/Org//app":                  "oci://ghcr.io/org/app",
		"oci://ghcr.io./org/other":                    "oci://ghcr.io/org/*",
		"oci://ghcr.io/organisation/app":              "oci://ghcr.io",
		"oci://index.docker.io/org/app":               "oci://docker.io/org",
		"oci://a.example.com/x":                       "oci://*.example.com",
		"oci://example.com/x":                         "oci://*",
		"http://charts.example.com/stable/app":        "https://charts.example.com/stable",
		"http://charts.example.com:80/Stable/app":     "https://charts.example.com/stable",
		"https://charts.example.com/%73table/app?a=b": "https://charts.example.com/stable",
		"https://charts.example.com/stable-2/app":     "https://*",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := policy.signer(u); got.Address != want {
			t.Errorf("%s: %s, want %s", address, got.Address, want)
		}
	}
	if _, found := policy[5:6].signer(&url.URL{Scheme: "oci", Host: "ghcr.io", Path: "/org/other"}); found {
		t.Error("an entry for another chart")
	}
}

// TestHalfASigner has an entry by which nothing could be verified.
func TestHalfASigner(t *testing.T) {
	t.Parallel()
	for _, s := range []Signer{{Address: "oci://ghcr.io"}, {Address: "ghcr.io", Key: []byte("x")}, {Address: "oci://ghcr.io", Key: []byte("x"), Keyring: []byte("x")}} {
		if err := (Config{Verify: Policy{s}}).Check(); err == nil || !strings.Contains(err.Error(), "needs a valid address and either a keyring or a key") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestReadPolicy has what people write wrong in a policy, each with its line.
func TestReadPolicy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := newKey(t)
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	team, ring := newSigner(t)
	var secret bytes.Buffer
	if err := team.SerializePrivate(&secret, nil); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/cosign.pub", string(publicPEM(t, key)))
	write(t, dir+"/cosign.key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
	write(t, dir+"/team.gpg", string(ring))
	write(t, dir+"/secret.gpg", secret.String())
	entry := func(address, rest string) string { return "- address: " + address + "\n  " + rest + "\n" }
	good := entry("oci://ghcr.io/org/*", "cosign: {key: cosign.pub, signedAs: oci://ghcr.io/upstream}") + entry("https://charts.example.com", "provenance: {keyring: "+dir+"/team.gpg}")
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"good":       {good, nil},
		"empty":      {"", []string{"policy.yaml: verify: the policy has no entries"}},
		"no yaml":    {"- a: [", []string{"not valid YAML"}},
		"two faults": {entry("ssh://x", "cosign: {key: cosign.pub}") + entry("oci://a.example.com", "cosign: {key: missing.pub}"), []string{"policy.yaml:2: verify[0].address:", "policy.yaml:4: verify[1].cosign.key: " + dir + "/missing.pub cannot be read: no such file"}},
		"unknown":    {entry("oci://a.example.com", "cosine: {key: cosign.pub}"), []string{"policy.yaml:3: verify[0].cosine:"}},
		"neither":    {"- address: oci://a.example.com\n", []string{"policy.yaml:2: verify[0]: an entry needs either"}},
		"both":       {entry("oci://a.example.com", "cosign: {key: cosign.pub}\n  provenance: {keyring: team.gpg}"), []string{"needs either provenance or cosign"}},
		"private":    {entry("oci://a.example.com", "cosign: {key: cosign.key}"), []string{"cosign.key is not a public key"}},
		"secret":     {entry("oci://a.example.com", "provenance: {keyring: secret.gpg}"), []string{"secret.gpg contains a private key"}},
		"no keyring": {entry("oci://a.example.com", "provenance: {keyring: cosign.pub}"), []string{"cosign.pub is not a keyring"}},
		"no name":    {entry("oci://a.example.com", "provenance: {}"), []string{"the file name is missing"}},
		"not oci":    {entry("https://a.example.com", "cosign: {key: cosign.pub}"), []string{"write an oci:// address, or provenance"}},
		"twice":      {good + entry("oci://GHCR.io/org/*", "cosign: {key: cosign.pub}"), []string{"policy.yaml:6: verify[2].address: oci://GHCR.io/org/* has an entry already"}},
		"signed as":  {entry("oci://a.example.com", "cosign: {key: cosign.pub, signedAs: ghcr.io/org}"), []string{"write the address that was signed"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := "verify:\n" + c.text
			if name == "empty" {
				text = ""
			}
			write(t, dir+"/policy.yaml", text)
			policy, err := ReadPolicy(dir + "/policy.yaml")
			if c.want == nil {
				if err != nil || len(policy) != 2 || policy[0].SignedAs == "" {
					t.Errorf("%+v, %v", policy, err)
				}
				return
			}
			if err == nil {
				t.Fatal("it is taken")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(c.want) {
				t.Errorf("%d faults: %v", len(lines), err)
			}
			for i, want := range c.want {
				if !strings.Contains(lines[min(i, len(lines)-1)], want) {
					t.Errorf("%v\nwant %s", err, want)
				}
			}
		})
	}
}
