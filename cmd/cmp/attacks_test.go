//go:build load

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// BenchmarkAttacks sends all hostile repositories to one server, two at a time, while
// a good tenant asks again and again, and reports what became of both:
//
//	go test -tags load ./cmd/cmp -run '^$' -bench Attacks -benchtime 1x
//
// TestHostileRepositories looks at each answer.
func BenchmarkAttacks(b *testing.B) {
	var leaks, lost atomic.Int64
	listener := listen(b, func() { leaks.Add(1) }) // something was fetched
	s := serveProgram(b, "cmp", "LADDER_SERVE_WORKER_MEMORY=201326592", "LADDER_SERVE_TIMEOUT=10s", "LADDER_SERVE_PARALLEL=2",
		"LADDER_SERVE_CACHE_BYTES=0", "PLANTED="+planted)
	archive, err := sidecartest.Pack(componentsDir)
	if err != nil {
		b.Fatal(err)
	}
	all := hostileRepositories(listener)
	names := make(chan string)
	var hostile sync.WaitGroup
	for i := range 2 {
		hostile.Go(func() {
			for name := range names {
				out, err := s.GenerateManifest(b.Context(), sidecartest.Request{Archive: sidecartest.PackEntries(all[name].repo...), Dir: "app",
					Chunk: 1 << 20, Env: map[string]string{"ARGOCD_APP_NAME": fmt.Sprint(name, i)}})
				if text := strings.Join(out, "") + status.Convert(err).Message(); strings.Contains(text, planted) || strings.Contains(text, "PATH=") {
					leaks.Add(1)
				}
				if status.Code(err) == codes.Unavailable {
					lost.Add(1)
				}
			}
		})
	}
	stop := make(chan struct{})
	var good sync.WaitGroup
	var took []time.Duration
	good.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			began := time.Now()
			if _, err := s.GenerateManifest(b.Context(),
				sidecartest.Request{Archive: archive, Dir: "shop", Env: map[string]string{"ARGOCD_APP_NAME": "shop"}}); err != nil {
				b.Errorf("the good tenant: %v", err)
				return
			}
			took = append(took, time.Since(began))
		}
	})
	for _, name := range slices.Sorted(maps.Keys(all)) {
		names <- name
	}
	close(names)
	hostile.Wait()
	close(stop)
	good.Wait()
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(all)), "cases")
	b.ReportMetric(float64(lost.Load()), "lost")
	b.ReportMetric(float64(leaks.Load()), "leaks")
	b.ReportMetric(float64(len(took)), "good")
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "median-ms")
	b.ReportMetric(took[len(took)-1].Seconds(), "slowest-s")
}
