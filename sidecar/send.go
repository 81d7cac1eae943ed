package sidecar

import (
	"cmp"
	"context"
	"math"
	"sync"

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
//
// A project has at most half of the memory, or one response: the large responses of one project
// leave room for those of others. Of those waiting, the response of the project with the least
// memory comes first, then of the one that was served least recently.
type sender struct {
	limit int64

	mu       sync.Mutex
	used     int64
	count    int // of the responses that got memory
	projects map[string]*memoryShare
	waiting  []*sending // in order of arrival
}

// memoryShare is what the responses of a project have of the memory.
type memoryShare struct {
	responses int // waiting or in transit
	used      int64
	served    int // when it last got memory, as counted by the sender
}

// sending is a response that waits for memory.
type sending struct {
	project string
	need    int64
	ready   chan struct{} // closed when it has its memory
}

// smallResponse is the size up to which a response is not counted.
const smallResponse = 64 << 10

func newSender(limit int64) *sender {
	if limit <= 0 {
		limit = math.MaxInt64
	}
	return &sender{limit: limit, projects: map[string]*memoryShare{}}
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
	w := &sending{project: req.tenant.project(), need: min(need, s.limit), ready: make(chan struct{})}
	s.mu.Lock()
	if s.projects[w.project] == nil {
		s.projects[w.project] = &memoryShare{}
	}
	s.projects[w.project].responses++
	s.waiting = append(s.waiting, w)
	s.wake()
	s.mu.Unlock()
	select {
	case <-w.ready:
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting = remove(s.waiting, w)
		select {
		case <-w.ready: // both happened
			s.free(w.project, w.need)
		default:
			s.free(w.project, 0)
		}
		s.wake()
		return timeoutError(ctx, req.dir, waitingForResponses)
	}
	req.response = w.need
	return nil
}

// wake gives memory to waiting responses. One that does not fit is not overtaken by others than
// those that its own project must wait for.
func (s *sender) wake() {
	for {
		var next *sending
		for _, w := range s.waiting {
			of := s.projects[w.project]
			if w.project != "" && of.used > 0 && of.used+w.need > s.limit/2 {
				continue
			}
			if next == nil || cmp.Or(cmp.Compare(of.used, s.projects[next.project].used), of.served-s.projects[next.project].served) < 0 {
				next = w
			}
		}
		if next == nil || next.need > s.limit-s.used {
			return
		}
		s.waiting = remove(s.waiting, next)
		s.used += next.need
		s.count++
		of := s.projects[next.project]
		of.used, of.served = of.used+next.need, s.count
		close(next.ready)
	}
}

// free ends a response, and the memory that it has.
func (s *sender) free(project string, bytes int64) {
	of := s.projects[project]
	s.used, of.used = s.used-bytes, of.used-bytes
	if of.responses--; of.responses == 0 {
		delete(s.projects, project)
	}
}

// release releases the reservation of a request.
func (s *sender) release(req *request) {
	if req.response > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free(req.tenant.project(), req.response)
		req.response = 0
		s.wake()
	}
}

// bytes returns the memory of responses in transit, and countWaiting the number of those that
// wait for memory.
func (s *sender) bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

func (s *sender) countWaiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
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
