package fetch

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// Work is the main function of a fetch process: it fetches one source for the
// Fetcher at the other end. First it limits its own process as configured: memory,
// time, files, and access to this machine.
func Work(in io.Reader, out io.Writer) error {
	a := &childBackend{write: json.NewEncoder(out), lines: make(chan []byte)}
	go a.listen(in)
	var order fetchOrder
	if err := json.Unmarshal(<-a.lines, &order); err != nil {
		return fmt.Errorf("no order arrived: %w", err)
	}
	confine.Memory(order.Limits.Memory)
	confine.Limits{CPU: order.Limits.Time, FileBytes: max(order.Limits.Bytes,
		order.Limits.Unpacked+order.Limits.Unpacked/512) + 1<<20, OpenFiles: 128}.Apply()
	f, err := New(Config{Allow: order.Allow, AllowPrivate: order.AllowPrivate, PlainHTTP: order.PlainHTTP, CAFile: order.CAFile,
		Limits: order.Limits})
	if err != nil {
		return err
	}
	// The CA certificates were read before, and no remote content yet.
	net.DefaultResolver.PreferGo = true // the C library's loads libraries
	gaps := confine.SandboxFetcher(resolverFiles...)
	if connectAs != nil {
		f.connect = connectAs
	}
	f.proxy = order.Proxy.ProxyFunc()
	f.backend, a.first, a.hasIndex = a, order.Credential, order.Index
	ctx, cancel := context.WithDeadline(context.Background(), order.Until)
	defer cancel()
	done := f.do(ctx, order)
	done.Gaps = gaps
	done.Index, done.Downloaded = a.wroteIndex, f.downloaded.Load()
	return a.write.Encode(childMessage{Done: done})
}

// resolverFiles are the files that Go's resolver reads repeatedly: net/conf.go and
// net/dnsclient_unix.go of Go 1.26.
var resolverFiles = []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols", "/etc/mdns.allow"}

// connectAs replaces the network in tests.
var connectAs func(ctx context.Context, dialer *net.Dialer, network, address string) (net.Conn, error)

// do executes the order, and writes the content to its file.
func (f *Fetcher) do(ctx context.Context, order fetchOrder) *doneMessage {
	at, why := f.address(order.Ref)
	if why != nil {
		return &doneMessage{Failure: failureMessageOf(why)}
	}
	got, err := f.try(ctx, order.Ref, at, order.IgnoreCache)
	if err == nil && !got.kept {
		_, err = os.NewFile(dataFile, "data").Write(got.Data)
	}
	return &doneMessage{Version: got.Version, Kept: got.kept, Failure: failureMessageOf(err)}
}

// childBackend is the backend of an attempt in a fetch process.
type childBackend struct {
	write      *json.Encoder
	lines      chan []byte
	first      credential // for the URL of the order
	firstUsed  bool       // whether first was used
	hasIndex   bool       // whether there is a cached index
	wroteIndex bool       // whether a new one was written
}

// listen reads continuously, so that the process ends with the server.
func (a *childBackend) listen(in io.Reader) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		a.lines <- line
	}
}

func (a *childBackend) request(message childMessage) (serverMessage, error) {
	var reply serverMessage
	if err := a.write.Encode(message); err != nil {
		return reply, err
	}
	if err := json.Unmarshal(<-a.lines, &reply); err != nil {
		return reply, err
	}
	return reply, reply.Failure.failure()
}

func (a *childBackend) credential(at *url.URL) (credential, error) {
	if !a.firstUsed {
		a.firstUsed = true
		return a.first, nil
	}
	reply, err := a.request(childMessage{Address: at.String()})
	return reply.Credential, err
}

func (a *childBackend) recorded(ref remote.Ref, sourceDigest string, _ bool) (remote.Content, bool, error) {
	reply, err := a.request(childMessage{Recorded: &recordedMessage{ref, sourceDigest}})
	return remote.Content{Version: reply.Version, Digest: reply.Digest}, reply.There, err
}

func (a *childBackend) index(string) ([]byte, bool) {
	if !a.hasIndex {
		return nil, false
	}
	data, err := io.ReadAll(os.NewFile(indexFile, "index"))
	return data, err == nil
}

func (a *childBackend) keepIndex(_ string, data []byte) {
	_, err := os.NewFile(newIndexFile, "index").Write(data)
	a.wroteIndex = err == nil
}

// Open opens the content of a fetch with Process, by its digest. The caller must
// close it. If it is no longer in the cache, the error is fs.ErrNotExist.
func (f *Fetcher) Open(digest string) (*os.File, error) { return f.store.open(digest) }
