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
	"github.com/ladder-cmp/ladder/internal/sandbox"
)

// Work is the main function of a fetch process: it fetches one source for the
// Fetcher at the other end. First it limits its own process as configured: memory,
// time, files, and access to this machine.
func Work(in io.Reader, out io.Writer) error {
	a := &childHome{write: json.NewEncoder(out), lines: make(chan []byte)}
	go a.listen(in)
	var what fetchOrder
	if err := json.Unmarshal(<-a.lines, &what); err != nil {
		return fmt.Errorf("no order arrived: %w", err)
	}
	confine.Memory(what.Limits.Memory)
	confine.Limits{CPU: what.Limits.Time, FileBytes: max(what.Limits.Bytes, what.Limits.Unpacked+what.Limits.Unpacked/512) + 1<<20, OpenFiles: 128}.Apply()
	f, err := New(Config{Allow: what.Allow, AllowPrivate: what.AllowPrivate, PlainHTTP: what.PlainHTTP, Verify: what.Verify, CAFile: what.CAFile, Limits: what.Limits})
	if err != nil {
		return err
	}
	// The CA certificates were read before, and no remote content yet.
	net.DefaultResolver.PreferGo = true // the C library's loads libraries
	gaps := sandbox.EnterFetcher(resolving...)
	if connectAs != nil {
		f.connect = connectAs
	}
	f.proxy = what.Proxy.ProxyFunc()
	f.home, a.first, a.known = a, what.Credential, what.Index
	ctx, cancel := context.WithDeadline(context.Background(), what.Until)
	defer cancel()
	done := f.do(ctx, what)
	done.Gaps = gaps
	done.Index, done.Downloaded = a.wrote, f.downloaded.Load()
	return a.write.Encode(childMessage{Done: done})
}

// resolving are the files that Go's resolver reads repeatedly: net/conf.go and
// net/dnsclient_unix.go of Go 1.26.
var resolving = []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols", "/etc/mdns.allow"}

// connectAs replaces the network in tests.
var connectAs func(ctx context.Context, dialer *net.Dialer, network, address string) (net.Conn, error)

// do executes the order, and writes the content to its file.
func (f *Fetcher) do(ctx context.Context, what fetchOrder) *doneMessage {
	at, why := f.address(what.Ref)
	if why != nil {
		return &doneMessage{Failure: failureMessageOf(why)}
	}
	got, err := f.try(ctx, what.Ref, at, what.Anew)
	if err == nil && !got.kept {
		_, err = os.NewFile(dataFile, "data").Write(got.Data)
	}
	return &doneMessage{Version: got.Version, Kept: got.kept, Failure: failureMessageOf(err)}
}

// childHome is the home of an attempt in a fetch process.
type childHome struct {
	write *json.Encoder
	lines chan []byte
	first credential // for the URL of the order
	given bool       // whether first was used
	known bool       // whether there is a cached index
	wrote bool       // whether a new one was written
}

// listen reads continuously, so that the process ends with the server.
func (a *childHome) listen(in io.Reader) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		a.lines <- line
	}
}

func (a *childHome) ask(what childMessage) (serverMessage, error) {
	var answer serverMessage
	if err := a.write.Encode(what); err != nil {
		return answer, err
	}
	if err := json.Unmarshal(<-a.lines, &answer); err != nil {
		return answer, err
	}
	return answer, answer.Failure.failure()
}

func (a *childHome) credential(at *url.URL) (credential, error) {
	if !a.given {
		a.given = true
		return a.first, nil
	}
	answer, err := a.ask(childMessage{Address: at.String()})
	return answer.Credential, err
}

func (a *childHome) recorded(ref remote.Ref, sourceSays string, _ bool) (remote.Content, bool, error) {
	answer, err := a.ask(childMessage{Recorded: &recordedMessage{ref, sourceSays}})
	return remote.Content{Version: answer.Version, Digest: answer.Digest}, answer.There, err
}

func (a *childHome) index(string) ([]byte, bool) {
	if !a.known {
		return nil, false
	}
	data, err := io.ReadAll(os.NewFile(indexFile, "index"))
	return data, err == nil
}

func (a *childHome) keepIndex(_ string, data []byte) {
	_, err := os.NewFile(newIndexFile, "index").Write(data)
	a.wrote = err == nil
}

// Open opens the content of a fetch with Process, by its digest. The caller must
// close it. If it is no longer in the cache, the error is fs.ErrNotExist.
func (f *Fetcher) Open(digest string) (*os.File, error) { return f.store.open(digest) }
