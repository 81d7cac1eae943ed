package fetch

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// TestArchive has the digest of an archive, which must never change: lock files
// of people hold such digests.
func TestArchive(t *testing.T) {
	t.Parallel()
	var all files
	for i := range 3 {
		all.entries = append(all.entries, entry{path: fmt.Sprintf("dir/%d.yaml", 3-i), data: strings.Repeat("kind: ConfigMap\n", 10_000)})
	}
	all.entries = append(all.entries, entry{path: "a/run.sh", data: "#!/bin/sh\n", executable: true}, entry{path: "link", link: "dir/1.yaml"},
		entry{path: strings.Repeat("long/", 60) + "é.yaml", data: "x"})
	data, err := all.archive()
	if err != nil {
		t.Fatal(err)
	}
	const want = "sha256:4b753ea0b8402c890cce096e58b3b65d28d7a776f4e3d6b0f58e7b6f78ef28ad"
	if got := remote.Digest(data); got != want {
		t.Errorf("the digest is %s, and was %s", got, want)
	}
}

func TestLinksInside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at, link string
		want     bool
	}{
		{"a", "b", true},
		{"dir/a", "../b", true},
		{"dir/a", "../../b", false},
		{"a", "../b", false},
		{"a", "/etc/passwd", false},
		{"a", "b/../../c", false},
		{"dir/deep/a", "../link/../c", false}, // link may lead elsewhere
		{"dir/deep/a", "../../x/y", true},
		{"dir/a", "..", true},
		{"a", "..", false},
		{"a", ".", true},
	} {
		if got := inside(c.at, c.link); got != c.want {
			t.Errorf("%s to %s: %v", c.at, c.link, got)
		}
	}
}

func TestAddressesOfModules(t *testing.T) {
	t.Parallel()
	above, err := url.Parse("https://git.example.com/org/repo?submodules=true")
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"../other.git":                   "https://git.example.com/org/other.git",
		"../../elsewhere/x":              "https://git.example.com/elsewhere/x",
		"../../../../x":                  "https://git.example.com/x",
		"./below":                        "https://git.example.com/org/repo/below",
		"https://git.example.com/b.git":  "https://git.example.com/b.git",
		"git@git.example.com:org/b.git":  "uses ssh",
		"ssh://git@git.example.com/b":    "uses ssh",
		"https://user:hunter2@host/b":    "contains a user",
		"file:///etc":                    "is not a URL",
		"https://git.example.com/../../": "has . or ..",
	} {
		at, fault := moduleAddress(above, address)
		if fault == "" {
			fault = at.String()
		}
		if !strings.HasPrefix(fault, want) {
			t.Errorf("%s: %s, want %s", address, fault, want)
		}
	}
}

// pack is a pack of git that has one object of a type, of a size as its header
// says it.
func pack(t *testing.T, kind byte, size int, extra, content []byte) []byte {
	t.Helper()
	out := bytes.NewBufferString("PACK\x00\x00\x00\x02\x00\x00\x00\x01")
	head := kind<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		out.WriteByte(head | 128)
		head = byte(size & 127)
	}
	out.WriteByte(head)
	out.Write(extra)
	z := zlib.NewWriter(out)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	z.Close()
	return out.Bytes()
}

// TestBombs has packs that are small and unpack to a lot.
func TestBombs(t *testing.T) {
	t.Parallel()
	f := newInternet(t).fetcher(Config{Allow: []string{"https://git.example.com"}, Limits: Limits{Unpacked: 1 << 20}})
	at, err := url.Parse("https://git.example.com/repo")
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.begin(t.Context(), remote.Ref{Kind: remote.Repository}, at)
	if err != nil {
		t.Fatal(err)
	}
	const blob, delta = 3, 7
	deltaTo := func(size uint64) []byte { return binary.AppendUvarint([]byte{1}, size) }
	for name, c := range map[string]struct {
		pack []byte
		want string
	}{
		"small":         {pack(t, blob, 5, nil, []byte("hello")), ""},
		"large":         {pack(t, blob, 2<<20, nil, make([]byte, 2<<20)), "unpacks to more than 1048576 bytes"},
		"large delta":   {pack(t, delta, 6, make([]byte, 20), deltaTo(1<<33)), "unpacks to more than"},
		"no delta":      {pack(t, delta, 0, make([]byte, 20), nil), "unpacks to more than"},
		"many":          {append([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"), pack(t, blob, 5, nil, []byte("hello"))[12:]...), "is invalid"},
		"another thing": {[]byte("<html>"), "is invalid"},
		"nothing":       {nil, "is invalid"},
	} {
		err := e.measure(c.pack)
		if c.want == "" && err != nil || c.want != "" && !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestWrongRepositories has servers that are none of git. A real one is asked in
// conformance/sources.
func TestWrongRepositories(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	answer := ""
	n.host("git.example.com", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = w.Write([]byte(answer))
	})
	f := n.fetcher(Config{Allow: []string{"https://git.example.com"}, Limits: Limits{Bytes: 4096}})
	ref := remote.Ref{Kind: remote.Repository, URL: "https://git.example.com/repo", Version: "main"}
	for text, want := range map[string]string{
		"":                                "the response of git.example.com is invalid",
		"<html>log in</html>":             "the response of git.example.com is invalid",
		"001e# service=git-upload-pack\n": "is invalid",
	} {
		answer = text
		refuse(t, f, ref, "broken", want)
	}
	answer = strings.Repeat("x", 5000)
	if _, err := f.Fetch(t.Context(), ref); err == nil {
		t.Error("it is fetched")
	}
}
