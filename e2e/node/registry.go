package node

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// images is a registry on a Unix socket that serves every repository whatever host the
// client takes it for.
type images struct {
	server    *http.Server
	transport *http.Transport
}

func serveImages(dir, socket string) (*images, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	out, err := os.Create(filepath.Join(dir, "registry.log"))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	s := &images{
		server: &http.Server{Handler: registry.New(registry.Logger(log.New(out, "", log.Ltime)), registry.WithBlobHandler(registry.NewDiskBlobHandler(dir)))},
		transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}},
	}
	go s.server.Serve(listener)
	return s, nil
}

// put stores an image under the name that Pods ask for.
func (s *images) put(ref string, image v1.Image) error {
	asked, err := name.ParseReference(ref)
	if err != nil {
		return fmt.Errorf("image %s: %w", ref, err)
	}
	here, err := name.ParseReference("registry.invalid/"+asked.Context().RepositoryStr()+":"+asked.Identifier(), name.Insecure)
	if err != nil {
		return fmt.Errorf("image %s: %w", ref, err)
	}
	if err := remote.Write(here, image, remote.WithTransport(s.transport)); err != nil {
		return fmt.Errorf("image %s: %w", ref, err)
	}
	return nil
}

func (s *images) close() error { return s.server.Close() }
