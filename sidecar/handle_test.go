package sidecar_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

func TestGenerate(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for _, dir := range []string{"app", "app/", "./app", "app/sub/.."} {
		got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: dir})
		if err != nil || len(got) != 1 || got[0] != "kind: A\n" {
			t.Errorf("%s: got %q, %v", dir, got, err)
		}
	}
}

// TestRequestsWithoutWork leave a line each in a log of all, and count.
func TestRequestsWithoutWork(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	h := start(t, func(c *sidecar.Config) {
		c.Metrics, c.Log = registry, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	request := sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"ARGOCD_APP_NAME": "shop"}}
	if _, err := h.MatchRepository(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if _, err := h.GetParametersAnnouncement(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	h.stop()
	<-h.served
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "ladder_requests_total" {
				for _, l := range m.GetLabel() {
					counted[l.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	for _, task := range []string{"match", "parameters"} {
		if want := `level=DEBUG msg="request answered" application=shop component=app task=` + task; !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
		if counted[task] != 1 {
			t.Errorf("%s was counted %v times", task, counted[task])
		}
	}
}

func TestMatchAndParameters(t *testing.T) {
	t.Parallel()
	for _, discovery := range []bool{false, true} {
		h := start(t, func(c *sidecar.Config) { c.Discovery = discovery })
		check, err := h.CheckPluginConfiguration(t.Context())
		if err != nil || check.GetIsDiscoveryConfigured() != discovery {
			t.Errorf("discovery %v: CheckPluginConfiguration = %v, %v", discovery, check, err)
		}
		for dir, there := range map[string]bool{"app": true, "other": false} {
			match, err := h.MatchRepository(t.Context(), sidecartest.Request{Archive: good(), Dir: dir})
			if err != nil || match.GetIsSupported() != (there && discovery) || match.GetIsDiscoveryEnabled() != discovery {
				t.Errorf("discovery %v: MatchRepository(%s) = %v, %v", discovery, dir, match, err)
			}
		}
		params, err := h.GetParametersAnnouncement(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"})
		if err != nil || len(params) != 1 || params[0].GetName() != "color" {
			t.Errorf("GetParametersAnnouncement = %v, %v", params, err)
		}
	}
}

// TestFaultsOfAMatch makes sure that they end one request and not the server.
func TestFaultsOfAMatch(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := start(t, func(c *sidecar.Config) {
		c.Discovery = true
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.Tasks = sidecartest.Tasks{Match: func(_ context.Context, in task.Input) (bool, error) {
			if in.Dir == "app" {
				panic("index out of range")
			}
			return false, errors.New("values.yaml:3: wrong")
		}}
	})
	for dir, want := range map[string]string{
		"app": "rpc error: code = Internal desc = app: internal error: index out of range; " +
			"this is a bug of the plugin, its log has the details",
		"other": "rpc error: code = InvalidArgument desc = values.yaml:3: wrong",
	} {
		if _, err := h.MatchRepository(t.Context(), sidecartest.Request{Archive: good(), Dir: dir}); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", dir, err, want)
		}
		code, message, _ := strings.Cut(strings.TrimPrefix(want, "rpc error: code = "), " desc = ")
		if !strings.Contains(log.String(), fmt.Sprintf("component=%s code=%s error=%q", dir, code, message)) {
			t.Errorf("%s is not in the log:\n%s", dir, log.String())
		}
	}
}

// TestSecretsStayOutOfTheLog renders with a secret in every input and looks for
// it in the log.
func TestSecretsStayOutOfTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := start(t, func(c *sidecar.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	archive := sidecartest.PackEntries(file("app/manifest.yaml", "password: hunter2\n"))
	env := map[string]string{"ARGOCD_APP_NAME": "shop", "ARGOCD_ENV_TOKEN": "hunter2", "ARGOCD_APP_PARAMETERS": "hunter2"}
	if _, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "app", Env: env}); err != nil {
		t.Fatal(err)
	}
	h.stop()
	<-h.served
	if !strings.Contains(log.String(), "application=shop component=app") {
		t.Errorf("the request is not in the log:\n%s", log.String())
	}
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("a secret is in the log:\n%s", log.String())
	}
}
