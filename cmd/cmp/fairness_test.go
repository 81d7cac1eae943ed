//go:build load

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// endless are templates whose rendering has no end, by what they take meanwhile.
var endless = map[string]string{
	"time":   `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`,
	"memory": `{{ $all := until 3000000 }}{{ range until 100000 }}{{ range $all }}{{ end }}{{ end }}`,
	"output": `{{ range until 100 }}{{ repeat 100000 "x" }}{{ end }}{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`,
}

// BenchmarkGoodTenant asks for a small chart, of a new commit each time, while
// eight Applications of other projects are rendered that have no end and are new
// each time, too. It says how long the slowest answer took, and the first in a
// server that has just started.
//
//	go test -tags load ./cmd/cmp -run '^$' -bench GoodTenant -benchtime 20x
func BenchmarkGoodTenant(b *testing.B) {
	for _, tenants := range []string{"nobody", "one project", "eight projects"} {
		for takes, template := range endless {
			if tenants == "nobody" && takes != "time" {
				continue
			}
			b.Run(tenants+"/"+takes, func(b *testing.B) {
				s := startServe(b, "LADDER_SERVE_PARALLEL=2")
				ctx, stop := context.WithCancel(b.Context())
				var all sync.WaitGroup
				b.Cleanup(func() { stop(); all.Wait() })
				for i := range 8 {
					project := "evil"
					switch tenants {
					case "nobody":
						continue
					case "eight projects":
						project += fmt.Sprint(i)
					}
					all.Go(func() {
						for n := 0; ctx.Err() == nil; n++ {
							s.GenerateManifest(ctx, sidecartest.Request{Dir: "app",
								Archive: sidecartest.PackEntries(templated(fmt.Sprintf("{{/* %d %d */}}%s", i, n, template))...),
								Env: map[string]string{"ARGOCD_APP_NAME": fmt.Sprintf("evil-%d-%d", i, n), "ARGOCD_APP_PROJECT_NAME": project,
									"ARGOCD_APP_SOURCE_REPO_URL": fmt.Sprint("https://git.example.com/", i)}})
						}
					})
				}
				ask := func(n int) time.Duration {
					start := time.Now()
					_, err := s.GenerateManifest(b.Context(), sidecartest.Request{Dir: "app", Archive: sidecartest.PackEntries(
						templated(fmt.Sprintf("%sdata: {a: \"%d\", b: %s}\n", configMap, n, strings.Repeat("x", 50_000)))...),
						Env: map[string]string{"ARGOCD_APP_NAME": "good", "ARGOCD_APP_PROJECT_NAME": "good",
							"ARGOCD_APP_SOURCE_REPO_URL": "https://git.example.com/good"}})
					if err != nil {
						b.Fatal(err)
					}
					return time.Since(start)
				}
				time.Sleep(50 * time.Millisecond) // all have asked
				first := ask(0)
				slowest := time.Duration(0)
				for n := range b.N {
					slowest = max(slowest, ask(n+1))
					time.Sleep(300 * time.Millisecond)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(first.Seconds(), "first-s")
				b.ReportMetric(slowest.Seconds(), "slowest-s")
			})
		}
	}
}
