package node

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// Charts ask for tags that the suites do not have, and for digests that nobody has.
func TestRegistryAnswersAnyTag(t *testing.T) {
	image, err := random.Image(1000, 2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s, err := serveImages(dir, filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := s.put("quay.io/some/program", image); err != nil {
		t.Fatal(err)
	}
	ask := func(ref string) error {
		parsed, err := name.ParseReference("registry.invalid/"+ref, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		found, err := remote.Image(parsed, remote.WithTransport(overSocket(filepath.Join(dir, "socket"))))
		if err != nil {
			return err
		}
		return validate.Image(found)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"some/program:v1", "some/program:v2.0.0-rc.1", "some/program@" + digest.String()} {
		if err := ask(ref); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
	unknown := "sha256:" + strings.Repeat("0", 64)
	for _, ref := range []string{"some/program:v1@" + unknown, "other/program:v1"} {
		if err := ask(ref); err == nil {
			t.Errorf("%s: an image that is not there is served", ref)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "registry.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"some/program@" + unknown + " cannot be had", "other/program:v1 is not served"} {
		if !strings.Contains(string(log), want) {
			t.Errorf("the log does not say that %s:\n%s", want, log)
		}
	}
}

func overSocket(socket string) http.RoundTripper {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
}
