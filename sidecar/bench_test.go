package sidecar_test

import (
	"context"
	"fmt"
	"io/fs"
	"testing"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// BenchmarkWarm is a request whose response is remembered, each for a new commit:
// what the server does besides rendering. bench/servers has the whole way, with
// Argo CD's client.
func BenchmarkWarm(b *testing.B) {
	for _, size := range []struct {
		name         string
		files, bytes int
	}{{"small", 17, 400}, {"large", 20, 250_000}} {
		b.Run(size.name, func(b *testing.B) {
			var files []sidecartest.Entry
			for i := range size.files {
				files = append(files, file(fmt.Sprintf("app/templates/%d.yaml", i), text(i, size.bytes)))
			}
			h := start(b, func(c *sidecar.Config) {
				c.Cache = 64 << 20
				c.Tasks = sidecartest.Tasks{Generate: func(_ context.Context, in task.Input) (task.Output, error) {
					var out task.Output
					err := fs.WalkDir(in.Repo, in.Dir, func(name string, d fs.DirEntry, err error) error {
						if err != nil || d.IsDir() {
							return err
						}
						text, err := fs.ReadFile(in.Repo, name)
						out.Manifests = append(out.Manifests, string(text))
						return err
					})
					return out, err
				}}
			})
			ask := func(commit int) {
				archive := sidecartest.PackEntries(append(files, file("commit", fmt.Sprint(commit)))...)
				b.StartTimer()
				defer b.StopTimer()
				if _, err := h.GenerateManifest(b.Context(), sidecartest.Request{Archive: archive, Dir: "app"}); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			ask(-1)
			b.ResetTimer()
			b.StopTimer()
			for i := range b.N {
				ask(i)
			}
		})
	}
}

// text is so many bytes, much like manifests.
func text(seed, bytes int) string {
	var s []byte
	for i := 0; len(s) < bytes; i++ {
		s = fmt.Appendf(s, "  key-%d: value %d of %d\n", i, i*seed%97, seed)
	}
	return string(s)
}
