package helm

import (
	"context"
	"crypto/rand"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/random"
)

// BenchmarkKeys renders a chart with four certificates, each of which has an RSA key of
// 2048 bits: drawn as Helm does, derived, and derived again by a process that has done
// so before. How long a key takes is up to its primes, so each round is for an
// Application that chance has named. It counts the time of the processors, which others on the machine do not
// disturb.
func BenchmarkKeys(b *testing.B) {
	s, err := random.ParseSeed([]byte(strings.Repeat("0123456789abcdef", 2)))
	if err != nil {
		b.Fatal(err)
	}
	chart := fstest.MapFS{
		"Chart.yaml": {Data: []byte("apiVersion: v2\nname: shop\nversion: 1.0.0\n")},
		"templates/tls.yaml": {Data: []byte(`{{ range list "a" "b" "c" "d" }}---
{apiVersion: v1, kind: Secret, metadata: {name: {{ . }}}, stringData: {key: {{ (genSelfSignedCert . nil nil 90).Key | quote }}}}
{{ end }}`)},
	}
	derived := func(application string, keys *random.Keys) random.Source {
		key := s.Key(random.Owner{Project: "default", Name: application, Namespace: "shop"})
		return random.Source{Key: &key, Now: time.Unix(1_800_000_000, 0), Keys: keys}
	}
	known := random.NewKeys(4)
	for _, tt := range []struct {
		name string
		of   func() random.Source
	}{
		{"drawn", func() random.Source { return random.Source{} }},
		{"derived", func() random.Source { return derived(rand.Text(), nil) }},
		{"remembered", func() random.Source { return derived("shop", known) }},
	} {
		b.Run(tt.name, func(b *testing.B) {
			opt := Options{Name: "shop", Namespace: "shop", KubeVersion: "1.36.0", Random: random.New(tt.of())}
			if _, err := Render(context.Background(), input.Source{FS: chart, Dir: "."}, opt); err != nil { // fills what is remembered
				b.Fatal(err)
			}
			before := cpu(b)
			round := 0
			for b.Loop() {
				round++
				opt.Random = random.New(tt.of())
				if _, err := Render(context.Background(), input.Source{FS: chart, Dir: "."}, opt); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/1000/float64(round), "cpu-ms/op")
		})
	}
}

// cpu is how long this process has run on a processor.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
