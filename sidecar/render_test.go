package sidecar_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

func TestFaultsOfARendering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := bubble(t, sidecar.Config{
			Tasks: sidecartest.Tasks{Generate: func(ctx context.Context, in task.Input) (task.Output, error) {
				switch in.Env["DO"] {
				case "fail":
					return task.Output{}, errors.New("values.yaml:3: wrong")
				case "panic":
					panic("index out of range")
				case "hang":
					<-ctx.Done()
					return task.Output{}, ctx.Err()
				case "flood":
					return task.Output{Manifests: []string{strings.Repeat("x", 95<<20)}}, nil
				}
				return task.Output{Manifests: []string{"ok"}}, nil
			}},
		})
		ask := func(do string) error {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := h.GenerateManifest(ctx, sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": do}})
			return err
		}
		for do, want := range map[string]string{
			"fail": "rpc error: code = InvalidArgument desc = values.yaml:3: wrong",
			"panic": "rpc error: code = Internal desc = app: internal error: index out of range; " +
				"this is a bug of the plugin, its log has the details",
			"hang": "rpc error: code = DeadlineExceeded desc = app: " +
				"the repo-server's deadline passed while the plugin was rendering: the request had taken 2.",
			"flood": "rpc error: code = ResourceExhausted desc = app: the manifests are 95 MiB; " +
				"the limit is 90 MiB, because Argo CD accepts messages of at most 100 MiB; fix: split the component",
		} {
			if err := ask(do); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v\nwant %s", do, err, want)
			}
		}
		if err := ask(""); err != nil {
			t.Errorf("after all that: %v", err)
		}
	})
}
