package sidecar

import (
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// TestDigests says which differences between repositories a remembered answer
// notices, by what was asked of the first.
func TestDigests(t *testing.T) {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s), Mode: 0o644} }
	link := func(to string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
	}
	run := &fstest.MapFile{Data: []byte("a"), Mode: 0o755}
	two := fstest.MapFS{"d/a": text("a"), "d/b": text("b"), "x": text("a"), "y": text("b")}
	with := func(name string, f *fstest.MapFile) fstest.MapFS {
		all := fstest.MapFS{}
		for n, f := range two {
			all[n] = f
		}
		if all[name] = f; f == nil {
			delete(all, name)
		}
		return all
	}
	for name, tt := range map[string]struct {
		q             question
		before, after fs.FS
		same          bool
	}{
		"nothing, file":               {question{readFile, "x"}, two, with("z", text("")), true},
		"nothing, directory":          {question{readDir, "d"}, two, with("z", text("")), true},
		"content":                     {question{readFile, "x"}, two, with("x", text("c")), false},
		"content, through a link":     {question{readFile, "l"}, with("l", link("x")), with("l", link("y")), false},
		"a retargeted link":           {question{readLink, "l"}, with("l", link("x")), with("l", link("y")), false},
		"a file becomes a link":       {question{lstat, "x"}, two, with("x", link("y")), false},
		"a link becomes a file":       {question{readLink, "l"}, with("l", link("x")), with("l", text("x")), false},
		"a link in a directory":       {question{readDir, "d"}, two, with("d/b", link("a")), false},
		"a directory in a directory":  {question{readDir, "d"}, two, with("d/b", nil), false},
		"a name in a directory":       {question{readDir, "d"}, two, with("d/c", text("")), false},
		"a size in a directory":       {question{readDir, "d"}, two, with("d/b", text("larger")), true},
		"mode":                        {question{stat, "x"}, two, with("x", run), false},
		"size, nobody read it":        {question{stat, "x"}, two, with("x", text("larger")), false},
		"content, nobody read it":     {question{stat, "x"}, two, with("x", text("b")), true},
		"gone":                        {question{readFile, "x"}, two, with("x", nil), false},
		"gone, by stat":               {question{stat, "x"}, two, with("x", nil), false},
		"empty and gone":              {question{readFile, "x"}, with("x", text("")), with("x", nil), false},
		"still gone":                  {question{stat, "nowhere"}, two, with("z", text("")), true},
		"a file becomes a directory":  {question{stat, "x"}, two, with("x", &fstest.MapFile{Mode: fs.ModeDir | 0o755}), false},
		"its name in its own content": {question{readLink, "l"}, with("l", link("x")), with("l", link("")), false},
	} {
		if got := digestOf(tt.before, tt.q) == digestOf(tt.after, tt.q); got != tt.same {
			t.Errorf("%s: the same is %v, want %v", name, got, tt.same)
		}
	}
	missing := reply{Fault: &fault{Op: "open", Path: "x", Text: "x", Kind: notExist}}
	wrong := reply{Fault: &fault{Op: "open", Path: "x", Text: "x", Kind: invalid}}
	if missing.digest() == wrong.digest() {
		t.Error("what is missing is as what cannot be asked for")
	}
	if said := (reply{Data: append([]byte{byte(notExist), 1}, 'x')}); said.digest() == missing.digest() {
		t.Error("a file can look as if it were missing")
	}
}

// quiet is a stream on which a message takes some time.
type quiet time.Duration

func (q quiet) Recv() (*wire.AppStreamRequest, error) {
	time.Sleep(time.Duration(q))
	return nil, errors.New("over")
}

// TestPaced counts the time that a message takes, and not the time in which
// nobody reads.
func TestPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalled := 0
		inTheWay := true
		waits := func(q quiet) {
			inPace(q, time.Minute, func() bool { return inTheWay }, func(since time.Time) {
				if time.Since(since) != time.Minute {
					t.Errorf("it was waited for %s", time.Since(since))
				}
				stalled++
			}).Recv()
			time.Sleep(time.Hour)
			synctest.Wait()
		}
		if waits(quiet(59 * time.Second)); stalled != 0 {
			t.Error("the time after a message counts")
		}
		if waits(quiet(61 * time.Second)); stalled != 1 {
			t.Error("the time of a message does not count")
		}
		inTheWay = false
		if waits(quiet(59 * time.Minute)); stalled != 1 {
			t.Error("it counts though nobody minds")
		}
	})
}

// TestClock makes sure that what is measured is measured with the clock that
// nobody can set: a jump of the other one makes no answer old and no request late.
func TestClock(t *testing.T) {
	s := newServer(Config{Cache: 1 << 20, CacheAge: time.Hour, Timeout: time.Hour, Render: time.Hour, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	in := Input{Repo: fstest.MapFS{}, Dir: "app", Env: map[string]string{}}
	s.results.get(t.Context(), subject{dir: "app"}, in, func(Input) (answer, error) { return answer{}, nil })
	times := map[string]time.Time{"the age of an answer": s.results.find(subject{dir: "app"}, in).made}
	ctx, cancel := s.limitTime(t.Context())
	defer cancel()
	times["a request"], _ = ctx.Deadline()
	rendering, err := s.places.enter(t.Context(), tenant{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer rendering.leave()
	times["a rendering"] = rendering.until
	for what, at := range times {
		if !strings.Contains(at.String(), " m=") {
			t.Errorf("%s is measured with the clock on the wall", what)
		}
	}
}
