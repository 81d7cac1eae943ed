package sidecar

import (
	"context"
	"math"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	protobuf "google.golang.org/protobuf/proto"

	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// sender sends responses, and limits the memory of those in transit. gRPC accepts
// messages of any size immediately, and buffers them until the client has read
// them.
type sender struct {
	limit   int64
	memory  *semaphore.Weighted
	bytes   atomic.Int64
	waiting atomic.Int64
}

// smallResponse is the size up to which a response is not counted.
const smallResponse = 64 << 10

func newSender(limit int64) *sender {
	if limit <= 0 {
		limit = math.MaxInt64
	}
	return &sender{limit: limit, memory: semaphore.NewWeighted(limit)}
}

// reserve waits for the memory of a response: its manifests, which may not be in the
// cache, and the message. A response that exceeds the limit reserves all of it. A
// request with a reservation does not reserve more.
func (s *sender) reserve(ctx context.Context, req *request, a task.Response) error {
	need := int64(0)
	for _, m := range a.Output.Manifests {
		need += 2 * int64(len(m))
	}
	if req.response > 0 || need <= 2*smallResponse {
		return nil
	}
	need = min(need, s.limit)
	s.waiting.Add(1)
	err := s.memory.Acquire(ctx, need)
	s.waiting.Add(-1)
	if err != nil {
		return timeoutError(ctx, req.dir, waitingForResponses)
	}
	req.response = need
	s.bytes.Add(need)
	return nil
}

// release releases the reservation of a request.
func (s *sender) release(req *request) {
	if req.response > 0 {
		s.memory.Release(req.response)
		s.bytes.Add(-req.response)
		req.response = 0
	}
}

// send sends manifests. For a large response it returns when gRPC has released its
// memory, or when ctx ends.
func (s *sender) send(ctx context.Context, req *request, to grpc.ServerStream, manifests []string) error {
	res := &wire.ManifestResponse{Manifests: manifests}
	if req.response == 0 {
		return to.SendMsg(res)
	}
	m := &trackedMessage{ManifestResponse: res, released: make(chan struct{})}
	if err := to.SendMsg(m); err != nil {
		return err
	}
	select {
	case <-m.released:
		return nil
	case <-ctx.Done():
		return timeoutError(ctx, req.dir, sendingResponse)
	}
}

// trackedMessage is a message that reports when gRPC has released its bytes to their
// buffer pool. It implements mem.BufferPool.
type trackedMessage struct {
	*wire.ManifestResponse
	released chan struct{}
}

func (m *trackedMessage) Get(n int) *[]byte { return mem.DefaultBufferPool().Get(n) }

func (m *trackedMessage) Put(b *[]byte) {
	mem.DefaultBufferPool().Put(b)
	close(m.released)
}

// codec is gRPC's codec, extended for tracked messages.
type codec struct{ encoding.CodecV2 }

func newCodec() encoding.CodecV2 { return codec{encoding.GetCodecV2(proto.Name)} }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*trackedMessage)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	b := m.Get(protobuf.Size(m.ManifestResponse))
	if _, err := (protobuf.MarshalOptions{UseCachedSize: true}).MarshalAppend((*b)[:0], m.ManifestResponse); err != nil {
		m.Put(b)
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(b, m)}, nil
}
