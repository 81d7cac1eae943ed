package sidecar_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// endless renders the directory "good", and all others without end.
func endless(ended *atomic.Int64) func(context.Context, sidecar.Input) (sidecar.Output, error) {
	return func(ctx context.Context, in sidecar.Input) (sidecar.Output, error) {
		if in.Dir != "good" {
			<-ctx.Done()
			ended.Add(1)
			return sidecar.Output{}, ctx.Err()
		}
		return sidecar.Output{Manifests: []string{"ok"}}, nil
	}
}

// TestEndlessOnesLeaveRoom asks for components without end, as many and as often
// as can be. Others are answered in the time that Argo CD gives them by default:
// if these are new, when the time of those that came before is over; and at once
// when they are known.
func TestEndlessOnesLeaveRoom(t *testing.T) {
	for _, parallel := range []int{1, 2} {
		t.Run(fmt.Sprint(parallel), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ended atomic.Int64
				h := bubble(t, sidecar.Config{Parallel: parallel, Render: 25 * time.Second, Tasks: sidecar.Tasks{Generate: endless(&ended)}})
				ask := func(ctx context.Context, dir string) error {
					ctx, cancel := context.WithTimeout(ctx, time.Minute)
					defer cancel()
					_, err := h.GenerateManifest(ctx, sidecartest.Request{Archive: good(), Dir: dir, Env: map[string]string{"ARGOCD_APP_NAME": dir}})
					return err
				}
				all, stop := context.WithCancel(t.Context())
				defer stop()
				hostile := func(dir string) {
					for all.Err() == nil {
						ask(all, dir)
					}
				}
				for i := range parallel {
					go hostile(fmt.Sprint("first", i))
				}
				synctest.Wait()
				if err := ask(t.Context(), "good"); err != nil {
					t.Errorf("behind %d that nobody knew: %v", parallel, err)
				}
				for i := range 6 {
					go hostile(fmt.Sprint("hostile", i))
				}
				time.Sleep(10 * time.Minute) // of the bubble's clock: each has been ended
				before := ended.Load()
				for range 20 {
					start := time.Now()
					err := ask(t.Context(), "good")
					if took := time.Since(start); err != nil || parallel > 1 && took > time.Second || took > 25*time.Second {
						t.Errorf("after %s: %v", took, err)
					}
					time.Sleep(7 * time.Second)
				}
				if ended.Load() == before {
					t.Error("who had to be ended once is never rendered again")
				}
			})
		})
	}
}

// TestMended renders a component again that had to be ended, and then treats it
// as any other.
func TestMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		h := bubble(t, sidecar.Config{Parallel: 2, Render: time.Second, Metrics: registry, Tasks: sidecar.Tasks{
			Generate: func(ctx context.Context, in sidecar.Input) (sidecar.Output, error) {
				if in.Env["DO"] == "loop" {
					<-ctx.Done()
				}
				return sidecar.Output{Manifests: []string{"ok"}}, ctx.Err()
			}}})
		for i, step := range []struct {
			do   string
			want float64
		}{{"", 0}, {"loop", 1}, {"loop", 1}, {"", 0}} {
			_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": step.do}})
			if step.do == "loop" {
				wants(t, err, codes.DeadlineExceeded, "app: rendering took 1s when it was stopped, and may take 1s; raise --render-timeout, or end what runs without end in its templates")
			} else if err != nil {
				t.Error(err)
			}
			if got := metric(t, registry, "ladder_components_suspected"); got != step.want {
				t.Errorf("step %d: %v are suspected, want %v", i, got, step.want)
			}
		}
	})
}
