package main

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"sigs.k8s.io/yaml"
)

// operator is the running program.
type operator struct {
	habits  habits
	cluster cluster
	keys    keys
	up      atomic.Pointer[time.Time] // when it had started
}

//go:embed crd.yaml
var crdText []byte

// start does what the operator is used to do before it reconciles.
func (o *operator) start(ctx context.Context) error {
	if o.habits.InstallCRD {
		var crd map[string]any
		if err := yaml.Unmarshal(crdText, &crd); err != nil {
			return err
		}
		if err := o.cluster.write(ctx, "crd", crd); err != nil {
			return err
		}
	}
	for _, r := range o.habits.Require {
		found, err := o.cluster.exists(ctx, r)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s not found in namespace %s; fix: create it", r, o.cluster.namespace)
		}
	}
	for _, r := range o.habits.WaitFor {
		if err := o.wait(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// wait returns once the object is there.
func (o *operator) wait(ctx context.Context, r ref) error {
	for {
		found, err := o.cluster.exists(ctx, r)
		if err != nil || found {
			return err
		}
		slog.Info("waiting", "for", r.String())
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

func (o *operator) started() {
	now := time.Now()
	o.up.Store(&now)
}

// ready says why the operator is not, or nil.
func (o *operator) ready(ctx context.Context) error {
	up := o.up.Load()
	switch {
	case o.habits.NeverReady:
		return fmt.Errorf("not ready by --never-ready")
	case up == nil:
		return fmt.Errorf("not started yet")
	case time.Since(*up) < o.habits.ReadyAfter:
		return fmt.Errorf("not ready until %s after the start", o.habits.ReadyAfter)
	}
	for _, r := range o.habits.ReadyWith {
		found, err := o.cluster.exists(ctx, r)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s not found", r)
		}
	}
	return nil
}

// probes answers /healthz and /readyz.
func (o *operator) probes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := o.ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
