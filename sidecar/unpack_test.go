package sidecar_test

import (
	"archive/tar"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/repository"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// TestBadStreams sends what a broken or hostile repository would. Each must be
// refused with one line that says what is wrong, and only then.
func TestBadStreams(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *sidecar.Config) { c.Limits = repository.Limits{Bytes: 1 << 20, Files: 100} })
	truncated := good().Tgz[:40]
	tests := []struct {
		name    string
		archive sidecartest.Archive
		dir     string
		code    codes.Code
		message string
	}{
		{"wrong checksum", sidecartest.Archive{Tgz: good().Tgz, Checksum: "00"}, "app", codes.DataLoss,
			"the repository arrived damaged: its checksum is "},
		{"no gzip", sidecartest.Seal([]byte("hello, this is no archive")), "app", codes.InvalidArgument, "the stream is not a gzip file: "},
		{"empty", sidecartest.Seal(nil), "app", codes.InvalidArgument, "the stream is not a gzip file: "},
		{"truncated", sidecartest.Seal(truncated), "app", codes.InvalidArgument, "the stream is not a tar file: "},
		{"dot dot", sidecartest.PackEntries(file("../evil", "x")), "app", codes.InvalidArgument,
			`the repository contains "../evil", which leads outside the repository`},
		{"dot dot inside", sidecartest.PackEntries(file("app/../../evil", "x")), "app", codes.InvalidArgument,
			`the repository contains "app/../../evil", which leads outside the repository`},
		{"absolute", sidecartest.PackEntries(file("/etc/passwd", "x")), "app", codes.InvalidArgument,
			`the repository contains "/etc/passwd", which leads outside the repository`},
		{"symlink out", sidecartest.PackEntries(link("app/manifest.yaml", "../../secret")), "app", codes.InvalidArgument,
			`the repository contains the symlink "app/manifest.yaml" to "../../secret", which leads outside the repository`},
		{"absolute symlink", sidecartest.PackEntries(link("app/manifest.yaml", "/proc/self/environ")), "app", codes.InvalidArgument,
			`the repository contains the symlink "app/manifest.yaml" to "/proc/self/environ", which leads outside the repository`},
		{"file below symlink", sidecartest.PackEntries(link("app", "elsewhere"), file("app/x", "x")), "app", codes.InvalidArgument,
			`the repository contains files below "app", which is not a directory`},
		{"hard link out",
			sidecartest.PackEntries(sidecartest.Entry{Header: tar.Header{Name: "app/x", Typeflag: tar.TypeLink, Linkname: "../../etc/passwd"}}),
			"app", codes.InvalidArgument, "which leads outside the repository"},
		{"hard link to nothing",
			sidecartest.PackEntries(sidecartest.Entry{Header: tar.Header{Name: "app/x", Typeflag: tar.TypeLink, Linkname: "app/y"}}), "app",
			codes.InvalidArgument, "which is not a regular file"},
		{"device", sidecartest.PackEntries(sidecartest.Entry{Header: tar.Header{Name: "app/zero", Typeflag: tar.TypeChar}}), "app",
			codes.InvalidArgument, `the repository contains "app/zero", which is neither file, directory nor link`},
		{"pipe", sidecartest.PackEntries(sidecartest.Entry{Header: tar.Header{Name: "app/pipe", Typeflag: tar.TypeFifo}}), "app",
			codes.InvalidArgument, "which is neither file, directory nor link"},
		{"directory and file", sidecartest.PackEntries(file("app/x/y", "x"), file("app/x", "x")), "app", codes.InvalidArgument,
			`the repository contains "app/x" twice`},
		{"too large", sidecartest.PackEntries(file("app/zeros", strings.Repeat("0", 2<<20))), "app", codes.ResourceExhausted,
			"the repository is too large for this plugin: more than 1048576 bytes"},
		{"too many", manyFiles(101), "app", codes.ResourceExhausted, "the repository is too large for this plugin: more than 100 files"},
		{"application outside", good(), "../app", codes.InvalidArgument, `the application's path "../app" leaves the repository`},
		{"application absolute", good(), "/app", codes.InvalidArgument, `the application's path "/app" leaves the repository`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: tt.archive, Dir: tt.dir})
			s, _ := status.FromError(err)
			if err == nil || s.Code() != tt.code || !strings.Contains(s.Message(), tt.message) {
				t.Fatalf("got %q, %v\nwant %s: %s", got, err, tt.code, tt.message)
			}
			if strings.Contains(s.Message(), "\n") {
				t.Errorf("more than a line: %q", s.Message())
			}
		})
	}
	if got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"}); err != nil {
		t.Errorf("after all that: %q, %v", got, err)
	}
}

func manyFiles(n int) sidecartest.Archive {
	var entries []sidecartest.Entry
	for i := range n {
		entries = append(entries, file(fmt.Sprintf("app/%d", i), ""))
	}
	return sidecartest.PackEntries(entries...)
}

// TestErrorAfterWholeStream sends much more than fits into the windows of the
// connection. A server that answered before it has read all of that would make
// the client report a broken stream instead of the reason.
func TestErrorAfterWholeStream(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 4<<20) // random, so that it does not shrink
	random := rand.NewChaCha8([32]byte{})
	random.Read(noise)
	archive := sidecartest.PackEntries(file("../evil", "x"), file("app/noise", string(noise)))
	h := start(t, nil)
	for range 5 {
		_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "app"})
		if s, _ := status.FromError(err); s.Code() != codes.InvalidArgument {
			t.Fatalf("got %v, want the reason", err)
		}
		_, err = h.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: sidecartest.Archive{Tgz: archive.Tgz, Checksum: "0"}, Dir: "../app"})
		if s, _ := status.FromError(err); s.Code() != codes.DataLoss {
			t.Fatalf("got %v, want the reason", err)
		}
	}
}

func TestLinksInside(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	archive := sidecartest.PackEntries(
		file("shared/base.yaml", "kind: Shared\n"),
		link("app", "apps/current"),
		link("apps/current", "one"),
		link("apps/one/manifest.yaml", "../../shared/base.yaml"),
		link("dangling", "nowhere"),
		sidecartest.Entry{Header: tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "shared/base.yaml"}},
		file(".git/config", "secret"),
	)
	got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "app"})
	if err != nil || got[0] != "kind: Shared\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
