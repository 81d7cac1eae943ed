package repository

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"testing"
	"testing/fstest"
)

// TestReadFiles makes sure that files that are asked for together are the same as one after the other,
// are recorded as such, and come in replies of limited size.
func TestReadFiles(t *testing.T) {
	repo := fstest.MapFS{"dir": {Mode: fs.ModeDir | 0o755}}
	names := []string{"missing", "dir", "zero\x00byte"}
	for i := range 2 * maxNames {
		names = append(names, fmt.Sprint("file", i))
		repo[fmt.Sprint("file", i)] = &fstest.MapFile{Data: bytes.Repeat([]byte{byte(i)}, i*40)}
	}
	repo["file3"] = &fstest.MapFile{Data: make([]byte, maxTogether+1)}
	repo["zero\x00byte"] = &fstest.MapFile{Data: []byte("zero")}
	together, single := Observe(repo), Observe(repo)
	largest, questions := 0, 0
	asked := FS(func(q Question) Reply {
		r := together.FS(q)
		sum := 0
		for _, f := range r.Files {
			sum += len(f.Data)
		}
		questions++
		if n := len(r.Files); n > 1 {
			largest = max(largest, sum-len(r.Files[n-1].Data))
		}
		return r
	})
	read := asked.ReadFiles(names)
	for i, name := range names {
		got, err := read(i)
		want, wantErr := single.ReadFile(name)
		if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) ||
			errors.Is(err, fs.ErrNotExist) != errors.Is(wantErr, fs.ErrNotExist) {
			t.Fatalf("%q: %d bytes, %v; want %d, %v", name, len(got), err, len(want), wantErr)
		}
	}
	if largest > maxTogether {
		t.Errorf("a reply has %d bytes before its last file", largest)
	}
	if questions > 20 {
		t.Errorf("%d questions for %d files", questions, len(names))
	}
	got, _ := together.Seen()
	want, _ := single.Seen()
	if !maps.Equal(got, want) {
		t.Errorf("%d questions are recorded, want the same %d", len(got), len(want))
	}
}
