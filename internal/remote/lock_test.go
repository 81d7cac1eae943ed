package remote_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// TestLocks reads testdata/lock/*.lock. What is wrong with one stands in its
// want.txt; one that is right is written as it was.
func TestLocks(t *testing.T) {
	files, err := filepath.Glob("testdata/lock/*.lock")
	if err != nil || len(files) == 0 {
		t.Fatalf("no locks: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lock, err := remote.ParseLock(filepath.Base(file), text)
			var faults strings.Builder
			for _, f := range finding.Of(err) {
				faults.WriteString(f.Error() + "\n")
			}
			golden.File(t, strings.TrimSuffix(file, ".lock")+".want.txt", faults.String())
			if err != nil || len(lock.Entries) == 0 {
				return
			}
			again, err := lock.Text()
			if diff := gocmp.Diff(string(text), string(again)); diff != "" || err != nil {
				t.Errorf("%v (-was +is):\n%s", err, diff)
			}
		})
	}
}

// FuzzParseLock reads any text: a lock that is read is written so that it is read as
// the same.
func FuzzParseLock(f *testing.F) {
	files, err := filepath.Glob("testdata/lock/*.lock")
	if err != nil || len(files) == 0 {
		f.Fatalf("no locks: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lock, err := remote.ParseLock("fuzz.lock", text)
		if err != nil {
			return
		}
		written, err := lock.Text()
		if err != nil {
			t.Fatal(err)
		}
		again, err := remote.ParseLock("fuzz.lock", written)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, written)
		}
		if text, err := again.Text(); err != nil || string(text) != string(written) {
			t.Errorf("%v, at first:\n%s\nthen:\n%s", err, written, text)
		}
	})
}

func content(version, data string) remote.Content {
	return remote.Content{Version: version, Digest: remote.Digest([]byte(data)), Data: []byte(data)}
}

// TestEntries: the names of files tell people what they are, and nothing secret is
// in a lock.
func TestEntries(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, tt := range []struct {
		ref     remote.Ref
		version string
		url     string
		file    string
	}{
		{remote.Ref{Kind: remote.Chart, URL: "https://user:hunter2@charts.example.com", Chart: "redis", Version: "17.x"}, "17.3.2",
			"https://charts.example.com", ".ladder/charts/redis-17.3.2-3a6eb0790f39.tgz"},
		{remote.Ref{Kind: remote.Chart, URL: "@bitnami", Chart: "redis"}, "17.3.2+build/1", "@bitnami",
			".ladder/charts/redis-17.3.2+build-1-3a6eb0790f39.tgz"},
		{remote.Ref{Kind: remote.Repository, URL: "https://oauth2:hunter2@github.com/org/repo.git", Version: "main"}, commit,
			"https://github.com/org/repo.git", ".ladder/git/repo-0123456789ab-3a6eb0790f39.tgz"},
		{remote.Ref{Kind: remote.File, URL: "https://example.com/a/crds.yaml?token=hunter2"}, "", "https://example.com/a/crds.yaml?token=***",
			".ladder/files/crds-3a6eb0790f39.yaml"},
		{remote.Ref{Kind: remote.File, URL: "https://example.com/../..%2f..%2f"}, "", "https://example.com/../..%2f..%2f",
			".ladder/files/2f-3a6eb0790f39.2f"},
		{remote.Ref{Kind: remote.File, URL: "https://example.com/"}, "", "https://example.com/", ".ladder/files/example-3a6eb0790f39.com"},
	} {
		e := remote.NewEntry(tt.ref, content(tt.version, "data"))
		if e.URL != tt.url {
			t.Errorf("%s: the address is %s, want %s", tt.ref, e.URL, tt.url)
		}
		lock := remote.Lock{Entries: []remote.Entry{e}}
		text, err := lock.Text()
		if err != nil || strings.Contains(string(text), "hunter2") {
			t.Errorf("%s: %v\n%s", tt.ref, err, text)
		}
		read, err := remote.ParseLock("ladder.lock", text)
		if err != nil {
			t.Errorf("%s: %v", tt.ref, err)
			continue
		}
		if found, ok := read.Find(tt.ref); !ok || found.Digest != e.Digest {
			t.Errorf("%s is not found in its lock\n%s", tt.ref, text)
		}
		if e.File != tt.file {
			t.Errorf("%s: the file is %s, want %s", tt.ref, e.File, tt.file)
		}
		other := tt.ref
		other.URL += "&x=y"
		if _, ok := read.Find(other); ok {
			t.Errorf("%s is found as %s", other.URL, tt.ref)
		}
	}
}

// TestRotatedCredentials: another password does not make another address.
func TestRotatedCredentials(t *testing.T) {
	ref := func(user string) remote.Ref {
		return remote.Ref{Kind: remote.File, URL: "https://" + user + "example.com/a.yaml?version=1"}
	}
	lock := remote.Lock{Entries: []remote.Entry{remote.NewEntry(ref("me:old@"), content("", "data"))}}
	for _, user := range []string{"", "me:new@", "me:old@"} {
		if _, ok := lock.Find(ref(user)); !ok {
			t.Errorf("with %q it is another", user)
		}
	}
}

func TestChanges(t *testing.T) {
	entry := func(chart, asked, version string) remote.Entry {
		return remote.NewEntry(remote.Ref{Kind: remote.Chart, URL: "https://charts.example.com", Chart: chart, Version: asked},
			content(version, chart+version))
	}
	before := remote.Lock{Entries: []remote.Entry{entry("kept", "1.0.0", "1.0.0"), entry("newer", "^1", "1.0.0"),
		entry("bumped", "1.0.0", "1.0.0"), entry("gone", "1.0.0", "1.0.0"), entry("spelt", "1.10", "1.10.0"), entry("moved", "1.0.0", "1.0.0")}}
	moved := entry("moved", "1.0.0", "1.0.0")
	moved.File += ".tgz"
	now := remote.Lock{Entries: []remote.Entry{entry("kept", "1.0.0", "1.0.0"), entry("newer", "^1", "1.1.0"),
		entry("bumped", "2.0.0", "2.0.0"), entry("new", "", "3.0.0"), entry("spelt", "1.10.0", "1.10.0"), moved}}
	var got []string
	for _, c := range now.Changes(before) {
		got = append(got, c.String())
	}
	golden.File(t, "testdata/changes.want.txt", strings.Join(got, "\n")+"\n")
	var stale strings.Builder
	for _, f := range before.Stale(now, "shop/ladder.lock", "shop") {
		stale.WriteString(f.Error() + "\n")
	}
	golden.File(t, "testdata/stale.want.txt", stale.String())
}

// only fetches one thing.
type only struct{ ref remote.Ref }

func (o only) Fetch(_ context.Context, ref remote.Ref) (remote.Content, error) {
	if ref != o.ref {
		return remote.Content{}, errors.New("not that")
	}
	return content("1.0.0", "network"), nil
}

// TestSources: what lies beside the component comes first, then the network, and
// else it is said what helps.
func TestSources(t *testing.T) {
	chart := func(name, version string) remote.Ref {
		return remote.Ref{Kind: remote.Chart, URL: "https://charts.example.com", Chart: name, Version: version}
	}
	beside, gone, other := chart("beside", "1"), chart("gone", "1"), chart("other", "1")
	lock := remote.Lock{Entries: []remote.Entry{remote.NewEntry(beside, content("1", "data")), remote.NewEntry(gone, content("1", "gone")),
		remote.NewEntry(other, content("1", "other"))}}
	vendored := &remote.Vendored{Lock: lock, Read: func(file string) ([]byte, error) {
		switch {
		case strings.Contains(file, "gone"):
			return nil, os.ErrNotExist
		case strings.Contains(file, "other"):
			return []byte("not that"), nil
		}
		return []byte("data"), nil
	}, Show: func(file string) string { return "shop/" + file }}
	network := only{chart("far", "1")}
	var got strings.Builder
	for _, tt := range []struct {
		title string
		from  remote.Sources
		ref   remote.Ref
	}{
		{"vendored", remote.Sources{Vendored: vendored, Dir: "shop"}, beside},
		{"vendored, and there is a network", remote.Sources{Vendored: vendored, Network: network, Dir: "shop"}, beside},
		{"the file is gone", remote.Sources{Vendored: vendored, Network: network, Dir: "shop"}, gone},
		{"the file is another", remote.Sources{Vendored: vendored, Network: network, Dir: "shop"}, other},
		{"not vendored", remote.Sources{Vendored: vendored, Dir: "shop"}, chart("far", "1")},
		{"another version is vendored", remote.Sources{Vendored: vendored, Dir: "shop"}, chart("beside", "2")},
		{"no lock", remote.Sources{Dir: "shop"}, beside},
		{"not vendored, and there is a network", remote.Sources{Vendored: vendored, Network: network, Dir: "shop"}, chart("far", "1")},
	} {
		c, err := tt.from.Fetch(t.Context(), tt.ref)
		line := string(c.Data)
		if err != nil {
			line = err.Error()
		}
		got.WriteString(tt.title + ": " + line + "\n")
	}
	golden.File(t, "testdata/sources.want.txt", got.String())
}

// TestRecorder asks for the same several times: a source is asked once, unless who
// asked did not wait for the answer.
func TestRecorder(t *testing.T) {
	ref := remote.Ref{Kind: remote.Chart, URL: "https://charts.example.com", Chart: "a", Version: "1"}
	asked := 0
	r := &remote.Recorder{From: fetching(func(ctx context.Context) (remote.Content, error) {
		asked++
		if asked == 2 {
			panic("a fault of the source")
		}
		return content("1", "data"), ctx.Err()
	})}
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := r.Fetch(left, ref); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = r.Fetch(t.Context(), ref)
	}()
	for range 2 {
		if c, err := r.Fetch(t.Context(), ref); err != nil || string(c.Data) != "data" {
			t.Errorf("%q, %v", c.Data, err)
		}
	}
	if asked != 3 || len(r.Fetched()) != 1 {
		t.Errorf("asked %d times, which brought %v", asked, r.Fetched())
	}
}

type fetching func(context.Context) (remote.Content, error)

func (f fetching) Fetch(ctx context.Context, _ remote.Ref) (remote.Content, error) { return f(ctx) }

// TestExact has what could have come to nothing else.
func TestExact(t *testing.T) {
	chart := func(asked, came string) remote.Fetched {
		return remote.Fetched{Ref: remote.Ref{Kind: remote.Chart, Version: asked}, Content: content(came, "data")}
	}
	for _, tt := range []struct {
		of   remote.Fetched
		want bool
	}{
		{chart("17.1.0", "17.1.0"), true},
		{chart("v17.1.0", "17.1.0"), true},
		{chart("17.1.0", "v17.1.0"), true},
		{chart("17.1", "17.1.0"), false},
		{chart("", "17.1.0"), false},
		{remote.Fetched{Ref: remote.Ref{Kind: remote.Repository, Version: "v1"}, Content: content("1", "data")}, false},
		{remote.Fetched{Ref: remote.Ref{Kind: remote.File}}, true},
	} {
		if got := tt.of.Exact(); got != tt.want {
			t.Errorf("%s that came to %s: %t", tt.of.Ref, tt.of.Content.Version, got)
		}
	}
}
