package node

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// images is a registry on a Unix socket that serves every repository whatever host the
// client takes it for. A repository holds one image, which is what any tag of it names:
// charts ask for versions that the suites do not have. Layers are read from where the
// images have them.
type images struct {
	server  *http.Server
	handler http.Handler
	log     *log.Logger
	blobs   blobs
}

// served is the tag that an image is kept under.
const served = "served"

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
	s := &images{log: log.New(out, "", log.Ltime)}
	s.handler = registry.New(registry.Logger(s.log), registry.WithBlobHandler(&s.blobs))
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve)}
	go s.server.Serve(listener)
	return s, nil
}

// put stores an image under the name that Pods ask for, whose tag is ignored.
func (s *images) put(ref string, image v1.Image) error {
	if err := s.store(ref, image); err != nil {
		return fmt.Errorf("image %s: %w", ref, err)
	}
	return nil
}

func (s *images) store(ref string, image v1.Image) error {
	requests, err := name.ParseReference(ref)
	if err != nil {
		return err
	}
	if err := s.blobs.add(image); err != nil {
		return err
	}
	manifest, err := image.RawManifest()
	if err != nil {
		return err
	}
	kind, err := image.MediaType()
	if err != nil {
		return err
	}
	request := httptest.NewRequest(http.MethodPut, "/v2/"+requests.Context().RepositoryStr()+"/manifests/"+served, bytes.NewReader(manifest))
	request.Header.Set("Content-Type", string(kind))
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, request)
	if answer.Code != http.StatusCreated {
		return fmt.Errorf("the registry answers %d: %s", answer.Code, answer.Body)
	}
	return nil
}

// serve answers a request for any tag with the image of the repository.
func (s *images) serve(w http.ResponseWriter, r *http.Request) {
	repository, wanted, isManifest := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/manifests/")
	if !isManifest {
		s.handler.ServeHTTP(w, r)
		return
	}
	byDigest := strings.Contains(wanted, ":")
	if !byDigest {
		r.URL.Path = "/v2/" + repository + "/manifests/" + served
	}
	answer := &statusWriter{ResponseWriter: w}
	s.handler.ServeHTTP(answer, r)
	switch {
	case answer.status != http.StatusNotFound:
	case byDigest:
		s.log.Printf("image %s@%s cannot be had, since images are made here; fix: set the chart's digest to nothing", repository, wanted)
	default:
		s.log.Printf("image %s:%s is not served; fix: add its repository to real/images/images.yaml", repository, wanted)
	}
}

func (s *images) close() error { return s.server.Close() }

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// blobs finds layers and configurations of images by digest.
type blobs struct {
	open sync.Map // of v1.Hash to blob
}

type blob struct {
	size int64
	read func() (io.ReadCloser, error)
}

func (b *blobs) add(image v1.Image) error {
	config, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	digest, err := image.ConfigName()
	if err != nil {
		return err
	}
	b.open.Store(digest, blob{int64(len(config)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(config)), nil }})
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return err
		}
		size, err := layer.Size()
		if err != nil {
			return err
		}
		b.open.Store(digest, blob{size, layer.Compressed})
	}
	return nil
}

// Stat and Get are how the registry looks for blobs.
func (b *blobs) Stat(_ context.Context, _ string, digest v1.Hash) (int64, error) {
	found, ok := b.open.Load(digest)
	if !ok {
		return 0, registry.ErrNotFound
	}
	return found.(blob).size, nil
}

func (b *blobs) Get(_ context.Context, _ string, digest v1.Hash) (io.ReadCloser, error) {
	found, ok := b.open.Load(digest)
	if !ok {
		return nil, registry.ErrNotFound
	}
	return found.(blob).read()
}
