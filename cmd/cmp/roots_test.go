package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/fetch"
)

// rootsEnv makes the test a process of its own, since a process looks for the
// system's certificates once.
const rootsEnv = "LADDER_TEST_ROOTS"

// validated is the CA of Let's Encrypt.
const validated = "ISRG Root X1"

// TestPublicRoots validates a public CA where the system has no certificates, as in
// the image, and where it has its own.
func TestPublicRoots(t *testing.T) {
	if how := os.Getenv(rootsEnv); how != "" {
		validate(t, how)
		return
	}
	own := t.TempDir() + "/own.pem"
	if err := os.WriteFile(own, otherCA(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for how, tt := range map[string]struct {
		file string
		want string
	}{
		"without": {"/nowhere", "certificate signed by unknown authority"},
		"with":    {"/nowhere", "valid"},
		"own":     {own, "certificate signed by unknown authority"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPublicRoots$", "-test.v")
		cmd.Env = []string{rootsEnv + "=" + how, "SSL_CERT_DIR=/nowhere", "SSL_CERT_FILE=" + tt.file, "HOME=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("the public CA: "+tt.want)) {
			t.Errorf("%s: %v, want %s\n%s", how, err, tt.want, out)
		}
	}
}

// validate says whether this process takes a public CA for valid, after it was made
// ready to fetch.
func validate(t *testing.T, how string) {
	if how != "without" {
		in := flags.Fetching{Config: fetch.Config{Allow: []string{"https://charts.example.com"},
			Limits: fetch.Limits{Time: time.Second, Bytes: 1 << 20}}, OnFailure: string(fetch.Fail)}
		if f, err := in.Fetcher(nil, nil); err != nil || f == nil {
			t.Fatal(f, err)
		}
	}
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if cert.Subject.CommonName != validated {
			continue
		}
		_, err = cert.Verify(x509.VerifyOptions{}) // against the system's, as a fetch does
		t.Log("the public CA: " + validity(err))
	}
}

// otherCA is another certificate than the one that is validated, for a file.
func otherCA(t *testing.T) []byte {
	for root := range bundle.Roots() {
		if cert, err := x509.ParseCertificate(root.Certificate); err == nil && cert.Subject.CommonName != validated {
			return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	t.Fatal("there is no other")
	return nil
}

func validity(err error) string {
	if err == nil {
		return "valid"
	}
	return strings.TrimPrefix(err.Error(), "x509: ")
}
