package sidecar_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// rawConn is a client that writes the frames that it likes. Errors do not matter: the server may
// hang up.
type rawConn struct {
	net.Conn
	*http2.Framer
}

func dialRaw(t *testing.T, socket string) rawConn {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	c := rawConn{conn, http2.NewFramer(conn, conn)}
	io.WriteString(conn, http2.ClientPreface)
	c.WriteSettings()
	go io.Copy(io.Discard, conn)
	return c
}

// plainHeaders are those of a request for manifests.
var plainHeaders = sync.OnceValue(func() []byte { return headers() })

// headers are those of a request for manifests, and more.
func headers(more ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"},
		{":path", "/" + wire.ConfigManagementPluginService_ServiceDesc.ServiceName + "/GenerateManifest"},
		{":authority", "x"}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
		e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	for i := 0; i+1 < len(more); i += 2 {
		e.WriteField(hpack.HeaderField{Name: more[i], Value: more[i+1]})
	}
	return b.Bytes()
}

func (c rawConn) open(stream uint32, more ...string) {
	block := plainHeaders()
	if len(more) > 0 {
		block = headers(more...)
	}
	c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block, EndHeaders: true})
}

// streams is how many a connection opens: more than the server lets it have at a time.
func streams() uint32 {
	if golden.WholeCorpus() {
		return 10_000
	}
	return 2000
}

// frameAttacks are what a client does with its connection.
var frameAttacks = map[string]func(c rawConn){
	"the preface and nothing more": func(rawConn) {},
	"garbage":                      func(c rawConn) { c.Write(bytes.Repeat([]byte("garbage"), 10_000)) },
	"headers without end": func(c rawConn) {
		c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers()[:10]})
	},
	"continuations without end": func(c rawConn) {
		c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers()})
		more := bytes.Repeat([]byte{0x40, 1, 'a', 1, 'b'}, 1000)
		for range 20_000 {
			if c.WriteContinuation(1, false, more) != nil {
				return
			}
		}
	},
	"streams and resets": func(c rawConn) {
		for i := range streams() {
			c.open(2*i + 1)
			if c.WriteRSTStream(2*i+1, http2.ErrCodeCancel) != nil {
				return
			}
		}
	},
	"many streams": func(c rawConn) {
		for i := range streams() {
			c.open(2*i + 1)
		}
	},
	"pings": func(c rawConn) {
		for range 10_000 {
			if c.WritePing(false, [8]byte{}) != nil {
				return
			}
		}
	},
	"settings": func(c rawConn) {
		for i := range uint32(10_000) {
			if c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: i}) != nil {
				return
			}
		}
	},
	"empty data": func(c rawConn) {
		c.open(1)
		for range 10_000 {
			if c.WriteData(1, false, nil) != nil {
				return
			}
		}
	},
	"a window of no bytes": func(c rawConn) {
		c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		c.open(1)
		c.WriteData(1, true, nil)
	},
	"a message that never comes": func(c rawConn) {
		for i := range uint32(200) {
			c.open(2*i + 1)
			c.WriteData(2*i+1, false, binary.BigEndian.AppendUint32([]byte{0}, 100<<20))
		}
	},
	"a message of four gigabytes": func(c rawConn) {
		c.open(1)
		c.WriteData(1, false, []byte{0, 0xff, 0xff, 0xff, 0xff})
	},
	"an unknown compression": func(c rawConn) {
		c.open(1, "grpc-encoding", "x")
		c.WriteData(1, true, []byte{1, 0, 0, 0, 1, 0})
	},
	"a deadline that has passed": func(c rawConn) { c.open(1, "grpc-timeout", "1n") },
	"a deadline without end":     func(c rawConn) { c.open(1, "grpc-timeout", "99999999H") },
	"a deadline that is none":    func(c rawConn) { c.open(1, "grpc-timeout", "-1S") },
}

// TestHostileFrames: clients that misuse HTTP/2 or gRPC hold nothing that others need, and leave
// nothing when they are gone.
func TestHostileFrames(t *testing.T) {
	for name, attack := range frameAttacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewRegistry()
			h := start(t, func(c *sidecar.Config) { c.Metrics, c.Parallel, c.Memory = registry, 2, 1<<20 })
			var all []rawConn
			for range 8 {
				c := dialRaw(t, h.socket)
				all = append(all, c)
				go attack(c)
			}
			for range 5 {
				got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"})
				if err != nil || len(got) != 1 {
					t.Errorf("a good request: %q, %v", got, err)
				}
			}
			for _, c := range all {
				c.Close()
			}
			eventually(t, "nothing is left", func() bool {
				return metric(t, registry, "ladder_repository_bytes") == 0 && metric(t, registry, "ladder_requests_waiting") == 0 &&
					metric(t, registry, "ladder_requests_working") == 0
			})
		})
	}
}

// TestLargeFrames: neither the metadata of a call nor a message take memory that nothing counts.
func TestLargeFrames(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	call := func(t *testing.T, chunk []byte, with ...grpc.CallOption) error {
		t.Helper()
		stream, err := wire.NewConfigManagementPluginServiceClient(h.Conn()).GenerateManifest(t.Context(), with...)
		if err != nil {
			return err
		}
		stream.Send(&wire.AppStreamRequest{
			Request: &wire.AppStreamRequest_Metadata{Metadata: &wire.ManifestRequestMetadata{AppRelPath: "app", Checksum: good().Checksum}}})
		stream.Send(&wire.AppStreamRequest{Request: &wire.AppStreamRequest_File{File: &wire.File{Chunk: chunk}}})
		_, err = stream.CloseAndRecv()
		return err
	}
	if err := call(t, good().Tgz); err != nil {
		t.Error(err)
	}
	wants(t, call(t, make([]byte, 50<<20)), codes.ResourceExhausted, "received message larger than max")
	// A message that a client compresses counts as what it expands to.
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	message, err := proto.Marshal(&wire.AppStreamRequest{Request: &wire.AppStreamRequest_File{File: &wire.File{Chunk: make([]byte, 50<<20)}}})
	if err != nil {
		t.Fatal(err)
	}
	z.Write(message)
	z.Close()
	c := dialRaw(t, h.socket)
	c.open(1, "grpc-encoding", "gzip")
	c.WriteData(1, true, append(binary.BigEndian.AppendUint32([]byte{1}, uint32(bomb.Len())), bomb.Bytes()...))

	ctx := metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("x", 1<<20))
	stream, err := wire.NewConfigManagementPluginServiceClient(h.Conn()).GenerateManifest(ctx)
	if err == nil {
		_, err = stream.CloseAndRecv()
	}
	if err == nil || !strings.Contains(err.Error(), "header list size") {
		t.Errorf("metadata of a megabyte: %v", err)
	}
	if _, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"}); err != nil {
		t.Error(err)
	}
}
