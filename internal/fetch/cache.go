package fetch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// store is the cache on disk: blobs/ has what was fetched, each under its digest,
// and refs/ what Refs came to, each under the digest of the Ref. A file appears
// whole or not at all, and none is ever changed in place, so that any number of
// processes can share a store without locks. Whatever is wrong with it, fetching
// goes on without.
type store struct {
	dir     string // empty is no store
	max     int64
	log     *slog.Logger
	metrics *metrics
	said    sync.Once
	mu      sync.Mutex // one eviction at a time in this process
	bytes   int64      // at the last look
}

// record is what a Ref came to.
type record struct {
	// Ref is for people who look.
	Ref     string    `json:"ref"`
	Version string    `json:"version,omitempty"`
	Digest  string    `json:"digest"`
	At      time.Time `json:"at"`
	// Whole says that a chart was looked into before it was put here.
	Whole bool `json:"whole,omitempty"`
}

const (
	// mostRecords is how many records a store keeps; each takes some 300 bytes.
	mostRecords = 20_000
	// abandoned is the age from which on a half-written file is nobody's.
	abandoned = time.Hour
)

func openStore(config Cache, log *slog.Logger, m *metrics) *store {
	s := &store{dir: config.Dir, max: cmp.Or(config.MaxBytes, DefaultCacheBytes), log: log, metrics: m}
	if s.dir == "" {
		return s
	}
	for _, sub := range []string{"blobs", "refs"} {
		if err := os.MkdirAll(filepath.Join(s.dir, sub), 0o700); err != nil {
			s.complain(err)
		}
	}
	s.evict("")
	return s
}

// complain says once that the store cannot be written.
func (s *store) complain(err error) {
	s.metrics.events.WithLabelValues(string(unwritten)).Inc()
	s.said.Do(func() {
		s.log.Warn("the cache of what is fetched cannot be written, so that it is fetched again each time; name another directory with --remote-cache", "directory", s.dir, "error", err)
	})
}

func (s *store) blobPath(digest string) string {
	return filepath.Join(s.dir, "blobs", strings.Replace(digest, ":", "-", 1))
}

// refPath is where the record of a Ref is. Scopes keep what tenants fetch with their own
// credentials apart: what one of them may see, another may not.
func (s *store) refPath(scope string, ref remote.Ref) string {
	ref.URL = strings.TrimSuffix(ref.URL, "/")
	text, err := json.Marshal(ref)
	if err != nil {
		panic(err) // strings only, which JSON can always write
	}
	sum := sha256.Sum256(append([]byte(scope), text...))
	return filepath.Join(s.dir, "refs", hex.EncodeToString(sum[:])+".json")
}

// lookup finds what a Ref came to.
func (s *store) lookup(scope string, ref remote.Ref) (record, bool) {
	if s.dir == "" {
		return record{}, false
	}
	path := s.refPath(scope, ref)
	data, err := readBounded(path, mostRecord)
	if err != nil {
		return record{}, false
	}
	var r record
	if json.Unmarshal(data, &r) != nil || !isDigest(r.Digest) {
		s.drop(path)
		return record{}, false
	}
	return r, true
}

// mostRecord is more than the largest record that is written.
const mostRecord = 64 << 10

// readBounded reads a file that others may have written.
func readBounded(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most))
}

// isDigest keeps what stands in a file from becoming a path.
func isDigest(text string) bool {
	digits, found := strings.CutPrefix(text, "sha256:")
	return found && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}

// blob reads what has a digest. What is there and has not is dropped.
func (s *store) blob(digest string) ([]byte, bool) {
	if s.dir == "" || !isDigest(digest) {
		return nil, false
	}
	path := s.blobPath(digest)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	if remote.Digest(data) != digest {
		s.drop(path)
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // what is used last stays longest; read-only is no matter
	return data, true
}

// open opens what has a digest, as a file whose bytes were compared with it. What is
// there and has not is dropped. The file can be read on when it is evicted.
func (s *store) open(digest string) (*os.File, error) {
	if s.dir == "" || !isDigest(digest) {
		return nil, fs.ErrNotExist
	}
	path := s.blobPath(digest)
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	got, err := digestOf(file)
	if err != nil || got != digest {
		file.Close()
		s.drop(path)
		return nil, fs.ErrNotExist
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	return file, nil
}

// digestOf is the digest of what a file has.
func digestOf(file *os.File) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, 1<<62)); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// spool makes a file for what comes, which adopt takes.
func (s *store) spool() (*os.File, error) {
	return os.CreateTemp(filepath.Join(s.dir, "blobs"), wholefile.Unfinished+"*")
}

// adopt makes what a spool has that which has a digest.
func (s *store) adopt(file, digest string) error {
	if err := os.Rename(file, s.blobPath(digest)); err != nil {
		return err
	}
	s.evict(s.blobPath(digest))
	return nil
}

func (s *store) drop(path string) {
	s.metrics.events.WithLabelValues(string(corrupt)).Inc()
	_ = os.Remove(path)
}

// recall finds what a Ref came to, as lookup does. What cannot be it, such as half of
// a chart, which others may have put there, is dropped with all that came to it.
func (s *store) recall(scope string, ref remote.Ref) (record, bool) {
	known, found := s.lookup(scope, ref)
	if !found || ref.Kind != remote.Chart {
		return known, found
	}
	data, there := s.blob(known.Digest)
	if there && (remote.BrokenChart(data) != "" || remote.OtherChart(data, path.Base(ref.Chart), "") != "") {
		s.forget(known.Digest)
		return record{}, false
	}
	return known, true
}

// forget drops what has a digest, and the records that say it.
func (s *store) forget(digest string) {
	s.drop(s.blobPath(digest))
	refs, _ := listed(filepath.Join(s.dir, "refs"))
	for _, ref := range refs {
		var r record
		if data, err := readBounded(ref.path, mostRecord); err == nil && json.Unmarshal(data, &r) == nil && r.Digest == digest {
			_ = os.Remove(ref.path)
		}
	}
}

// put keeps what a Ref came to.
func (s *store) put(scope string, ref remote.Ref, c remote.Content, at time.Time) {
	if s.dir == "" || int64(len(c.Data)) > s.max {
		return
	}
	blob := s.blobPath(c.Digest)
	if info, err := os.Stat(blob); err != nil || info.Size() != int64(len(c.Data)) {
		if err := replace(blob, c.Data); err != nil {
			s.complain(err)
			return
		}
		s.evict(blob)
	}
	s.record(scope, ref, c, at)
}

// record keeps what a Ref came to, whose data is there.
func (s *store) record(scope string, ref remote.Ref, c remote.Content, at time.Time) {
	text, err := json.Marshal(record{Ref: finding.Harmless(ref.String()), Version: c.Version, Digest: c.Digest, At: at.UTC(), Whole: true})
	if err == nil {
		err = replace(s.refPath(scope, ref), append(text, '\n'))
	}
	if err != nil {
		s.complain(err)
	}
}

// replace writes a file that others see whole or not at all.
func replace(path string, data []byte) error {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return wholefile.Replace(dir, filepath.Base(path), data, 0o600)
}

// evict makes room: what was used longest ago goes, but for keep. Others may be at
// the same; then a little more goes than must.
func (s *store) evict(keep string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	blobs, sum := listed(filepath.Join(s.dir, "blobs"))
	for _, b := range blobs {
		if sum <= s.max {
			break
		}
		if b.path == keep {
			continue
		}
		if err := os.Remove(b.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.complain(err)
			break
		}
		sum -= b.size
		s.metrics.events.WithLabelValues(string(evicted)).Inc()
	}
	s.bytes = sum
	if refs, _ := listed(filepath.Join(s.dir, "refs")); len(refs) > mostRecords {
		for _, r := range refs[:len(refs)-mostRecords] {
			_ = os.Remove(r.path)
		}
	}
}

// stored is a file of the store.
type stored struct {
	path string
	size int64
	used time.Time
}

// listed are the files of a directory, those first that were used longest ago.
// Half-written files that nobody writes any more are removed.
func listed(dir string) (all []stored, sum int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), wholefile.Unfinished) {
			if time.Since(info.ModTime()) > abandoned {
				_ = os.Remove(path)
			}
			continue
		}
		all = append(all, stored{path, info.Size(), info.ModTime()})
		sum += info.Size()
	}
	slices.SortFunc(all, func(a, b stored) int { return a.used.Compare(b.used) })
	return all, sum
}

// size is that of the blobs.
func (s *store) size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}
