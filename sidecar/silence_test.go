package sidecar_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// TestSilence lets 32 clients open their requests and send nothing for longer than
// the stall timeout, as Argo CD's do while they pack a large repository on a busy
// machine; a half of them names the component before. They hold no memory
// meanwhile, and are answered when they have sent what they have.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		h := bubble(t, sidecar.Config{Memory: 1 << 20, Stall: 15 * time.Second, Timeout: time.Hour, Metrics: registry, Tasks: sidecartest.Tasks{
			Generate: func(context.Context, task.Input) (task.Output, error) {
				return task.Output{Manifests: []string{"ok"}}, nil
			}}})
		var all sync.WaitGroup
		for i := range 32 {
			all.Go(func() {
				stream, err := wire.NewConfigManagementPluginServiceClient(h.Conn()).GenerateManifest(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				archive := pack(map[string]string{"app/manifest.yaml": fmt.Sprint(i)})
				meta := begin(fmt.Sprint(i), archive)
				if i%2 == 0 {
					stream.Send(meta)
				}
				time.Sleep(5 * time.Minute)
				if i%2 == 1 {
					stream.Send(meta)
				}
				stream.Send(chunk(archive.Tgz))
				if _, err := stream.CloseAndRecv(); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(4 * time.Minute)
		if got := metric(t, registry, "ladder_repository_bytes"); got != 0 {
			t.Errorf("who has sent nothing holds %v bytes", got)
		}
		all.Wait()
	})
}

// begin is the first message of a request.
func begin(app string, archive sidecartest.Archive) *wire.AppStreamRequest {
	return &wire.AppStreamRequest{Request: &wire.AppStreamRequest_Metadata{Metadata: &wire.ManifestRequestMetadata{AppRelPath: "app",
		Checksum: archive.Checksum,
		Env:      []*wire.EnvEntry{{Name: "ARGOCD_APP_NAME", Value: app}}}}}
}

func chunk(text []byte) *wire.AppStreamRequest {
	return &wire.AppStreamRequest{Request: &wire.AppStreamRequest_File{File: &wire.File{Chunk: text}}}
}

// TestClientsThatStall sends a part of a repository and then nothing. That is
// nobody's matter until another waits for the memory: then it has to go on within
// the stall timeout, or the other gets it.
func TestClientsThatStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		h := bubble(t, sidecar.Config{Memory: 1 << 20, Stall: 15 * time.Second, Timeout: time.Hour, Metrics: registry, Tasks: sidecartest.Tasks{
			Generate: func(context.Context, task.Input) (task.Output, error) {
				return task.Output{Manifests: []string{"ok"}}, nil
			}}})
		// Random bytes do not shrink: all but the end has to be unpacked.
		large := func(seed byte) sidecartest.Archive {
			text := make([]byte, 900<<10)
			rand.NewChaCha8([32]byte{seed}).Read(text)
			return pack(map[string]string{"app/manifest.yaml": "kind: A\n", "text": string(text)})
		}
		stalls := func(app string, archive sidecartest.Archive, pause time.Duration) error {
			stream, err := wire.NewConfigManagementPluginServiceClient(h.Conn()).GenerateManifest(t.Context())
			if err != nil {
				return err
			}
			stream.Send(begin(app, archive))
			half := len(archive.Tgz) / 2
			stream.Send(chunk(archive.Tgz[:half]))
			time.Sleep(pause)
			stream.Send(chunk(archive.Tgz[half:]))
			_, err = stream.CloseAndRecv()
			return err
		}
		if err := stalls("alone", large(1), 10*time.Minute); err != nil {
			t.Errorf("nobody waited for it: %v", err)
		}
		time.Sleep(time.Minute) // what it sent is forgotten
		held := make(chan error, 1)
		go func() { held <- stalls("holding", large(2), 10*time.Minute) }()
		synctest.Wait()
		time.Sleep(5 * time.Minute)
		start := time.Now()
		if _, err := h.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: large(3), Dir: "app", Env: map[string]string{"ARGOCD_APP_NAME": "next"}}); err != nil {
			t.Errorf("the next: %v", err)
		}
		if took := time.Since(start); took > 15*time.Second {
			t.Errorf("the next waited for %s", took)
		}
		wants(t, <-held, codes.DeadlineExceeded, "bytes of the repository, and then nothing for 5m")
	})
}
