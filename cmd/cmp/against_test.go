package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// againstEnv names two programs to compare: this one, and one built from another
// commit.
const againstEnv = "LADDER_AGAINST"

// BenchmarkAgainst asks the servers of two programs in turn, on request only, and
// reports the median of each and their ratio:
//
//	LADDER_AGAINST=./cmp,./cmp-before go test ./cmd/cmp -run '^$' -bench Against -benchtime 200x
//
// Cold renders everything, warm gets a new commit with the same component.
func BenchmarkAgainst(b *testing.B) {
	programs := strings.Split(os.Getenv(againstEnv), ",")
	if len(programs) != 2 {
		b.Log("this compares two programs, which " + againstEnv + " names, with a comma between")
		return
	}
	archive, err := sidecartest.Pack(componentsDir)
	if err != nil {
		b.Fatal(err)
	}
	for name, cache := range map[string]string{"cold": "0", "warm": "134217728"} {
		for _, dir := range []string{"shop", "beacon-operator"} {
			b.Run(name+"/"+dir, func(b *testing.B) {
				var servers []*served
				for _, program := range programs {
					servers = append(servers, serveProgram(b, program, "LADDER_SERVE_PARALLEL=1", "LADDER_SERVE_CACHE_BYTES="+cache))
				}
				took := make([][]float64, len(servers))
				for i := range b.N + 5 { // the first few are not counted
					for n, s := range servers {
						began := time.Now()
						if _, err := s.GenerateManifest(b.Context(), sidecartest.Request{Archive: archive, Dir: dir,
							Env: map[string]string{"ARGOCD_APP_NAME": dir, "ARGOCD_APP_REVISION": strconv.Itoa(i)}}); err != nil {
							b.Fatal(err)
						}
						if i >= 5 {
							took[n] = append(took[n], time.Since(began).Seconds()*1000)
						}
					}
				}
				for _, all := range took {
					slices.Sort(all)
				}
				first, second := took[0][len(took[0])/2], took[1][len(took[1])/2]
				b.ReportMetric(first, "ms")
				b.ReportMetric(second, "ms-other")
				b.ReportMetric(first/second, "ratio")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
