//go:build !race

// The memory of a worker leaves no room for what the race detector takes.

package main

import (
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// TestHostileDiscovery: with --discovery, Argo CD asks about the repositories of all Applications
// that name no plugin, before anybody renders them. None of them takes anything from others.
func TestHostileDiscovery(t *testing.T) {
	s := startServe(t, "LADDER_SERVE_DISCOVERY=true", "LADDER_SERVE_WORKER_MEMORY=201326592", "LADDER_SERVE_TIMEOUT=10m",
		"LADDER_SERVE_PARALLEL=2", "LADDER_SERVE_CACHE_BYTES=0", "PLANTED="+planted)
	good, err := sidecartest.Pack(componentsDir)
	if err != nil {
		t.Fatal(err)
	}
	match := func() {
		t.Helper()
		got, err := s.MatchRepository(t.Context(), sidecartest.Request{Archive: good, Dir: "shop"})
		if err != nil || !got.GetIsSupported() || !got.GetIsDiscoveryEnabled() {
			t.Errorf("a good component: %v, %v", got, err)
		}
	}
	match()
	asked := 0
	for name, hostile := range hostileRepositories("127.0.0.1:1") {
		_, err := s.MatchRepository(t.Context(),
			sidecartest.Request{Archive: sidecartest.PackEntries(hostile.repo...), Dir: "app", Chunk: 1 << 20})
		text := status.Convert(err).Message()
		if strings.Contains(text, "bug of the plugin") || strings.Contains(text, planted) ||
			strings.ContainsAny(text, "\n\x00") || len(text) > 40_000 {
			t.Errorf("%s: %.500s", name, text)
		}
		if asked++; asked%10 == 0 {
			match()
		}
	}
	match()
}
