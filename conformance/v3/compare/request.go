package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	grpc_retry "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/retry"

	"github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/util/app/discovery"
	"github.com/argoproj/argo-cd/v3/util/cmp"
	"github.com/argoproj/argo-cd/v3/util/tgzstream"
)

// request is an Application whose manifests are wanted.
type request struct {
	app  string
	root string // the checkout
	path string // of the component below it
	// commit tells revisions apart.
	commit int
	// archive is sent instead of the checkout, unless it is empty.
	archive archive
}

// env is what the repo-server tells a plugin.
func (r request) env() []string {
	revision := fmt.Sprintf("%040x", r.commit)
	return []string{
		"ARGOCD_APP_NAME=" + r.app,
		"ARGOCD_APP_NAMESPACE=" + appNamespace,
		"ARGOCD_APP_PROJECT_NAME=default",
		"ARGOCD_APP_REVISION=" + revision,
		"ARGOCD_APP_REVISION_SHORT=" + revision[:7],
		"ARGOCD_APP_REVISION_SHORT_8=" + revision[:8],
		"ARGOCD_APP_SOURCE_REPO_URL=https://git.example.com/platform.git",
		"ARGOCD_APP_SOURCE_PATH=" + r.path,
		"ARGOCD_APP_SOURCE_TARGET_REVISION=main",
		"KUBE_VERSION=" + kubeVersion,
		"KUBE_API_VERSIONS=v1,apps/v1,batch/v1,networking.k8s.io/v1,policy/v1,rbac.authorization.k8s.io/v1",
	}
}

// ask does with a server what the repo-server does (generateManifestsCMP in
// reposerver/repository, and before it runConfigManagementPluginSidecars): it
// connects, asks whether there is discovery, packs, sends and waits.
func (s *server) ask(ctx context.Context, r request) ([]string, error) {
	appPath := filepath.Join(r.root, r.path)
	conn, plugin, err := discovery.DetectConfigManagementPlugin(ctx, appPath, r.root, s.name, r.env(), nil)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stream, err := plugin.GenerateManifest(ctx, grpc_retry.Disable())
	if err != nil {
		return nil, err
	}
	if r.archive.rest == nil {
		err = cmp.SendRepoStream(ctx, appPath, r.root, stream, r.env(), nil)
	} else {
		err = r.archive.send(stream, r)
	}
	if err != nil {
		return nil, err
	}
	res, err := stream.CloseAndRecv()
	if err != nil {
		return nil, err
	}
	if len(res.GetManifests()) == 0 {
		return nil, fmt.Errorf("no manifests of %s", r.path)
	}
	return res.GetManifests(), nil
}

// archive is a checkout that was packed before.
type archive struct {
	// head is the fixed part of gzip's header, rest all that follows.
	head [10]byte
	rest []byte
}

// pack packs a checkout as Argo CD does.
func pack(root string) (archive, error) {
	file, _, _, err := tgzstream.CompressFiles(root, nil, nil)
	if err != nil {
		return archive{}, err
	}
	defer tgzstream.CloseAndDelete(file)
	text, err := io.ReadAll(file)
	if err != nil {
		return archive{}, err
	}
	a := archive{rest: text[10:]}
	copy(a.head[:], text)
	return a, nil
}

func (a archive) size() int64 { return int64(len(a.head) + len(a.rest)) }

// as is the same archive with the checksum of another commit: gzip keeps a time
// in its header, which nobody reads.
func (a archive) as(commit int) archive {
	binary.LittleEndian.PutUint32(a.head[4:], uint32(commit))
	return a
}

// send does what cmp.SendRepoStream does with a checkout, in pieces of the same
// size.
func (a archive) send(stream cmp.StreamSender, r request) error {
	hash := sha256.New()
	hash.Write(a.head[:])
	hash.Write(a.rest)
	meta := &apiclient.ManifestRequestMetadata{
		AppName: filepath.Base(r.path), AppRelPath: r.path, Checksum: hex.EncodeToString(hash.Sum(nil)), Size_: a.size(),
	}
	for _, e := range r.env() {
		name, value, _ := strings.Cut(e, "=")
		meta.Env = append(meta.Env, &apiclient.EnvEntry{Name: name, Value: value})
	}
	if err := stream.Send(&apiclient.AppStreamRequest{Request: &apiclient.AppStreamRequest_Metadata{Metadata: meta}}); err != nil {
		return err
	}
	if err := stream.Send(cmp.AppFileRequest(a.head[:])); err != nil {
		return err
	}
	for chunk := range slices.Chunk(a.rest, common.GetCMPChunkSize()) {
		if err := stream.Send(cmp.AppFileRequest(chunk)); err != nil {
			return err
		}
	}
	return nil
}

// outcome is what came of many requests.
type outcome struct {
	took   []time.Duration // each, sorted
	all    time.Duration
	memory int64 // the peak
}

func (o outcome) median() time.Duration { return median(o.took) }
func (o outcome) worst() time.Duration  { return o.took[len(o.took)-1] }
func (o outcome) perSecond() float64    { return float64(len(o.took)) / o.all.Seconds() }

func median(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// errTimeout is the end of a server's time.
var errTimeout = errors.New("the server takes too long")

// requestAll makes requests, some at the same time. It gives up, with errTimeout,
// if they are not all answered in a time. That is no deadline of the requests,
// which servers would hear of.
func (s *server) requestAll(ctx context.Context, requests []request, atOnce int, timeout time.Duration) (outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(timeout, func() { cancel(errTimeout) }).Stop()
	var (
		o    outcome
		mu   sync.Mutex
		wg   sync.WaitGroup
		next = make(chan request)
	)
	peak := s.watchMemory()
	start := time.Now()
	for range atOnce {
		wg.Go(func() {
			for r := range next {
				start := time.Now()
				if _, err := s.ask(ctx, r); err != nil {
					cancel(s.explain(err))
				}
				mu.Lock()
				o.took = append(o.took, time.Since(start))
				mu.Unlock()
			}
		})
	}
	for _, r := range requests {
		select {
		case next <- r:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done(): // packing does not end with it, and is not waited for
		return outcome{memory: peak()}, context.Cause(ctx)
	}
	o.all, o.memory = time.Since(start), peak()
	slices.Sort(o.took)
	if err := context.Cause(ctx); err != nil {
		return outcome{memory: o.memory}, err
	}
	return o, nil
}
