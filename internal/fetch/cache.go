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

// store is the cache on disk: blobs/ contains content under its digest, and refs/
// the results of Refs under the digests of the Refs. Files are created atomically
// and never modified, so any number of processes can share a store without locks.
// Errors of the store do not prevent fetching.
type store struct {
	dir     string // empty means no store
	max     int64
	log     *slog.Logger
	metrics *metrics
	logOnce sync.Once
	mu      sync.Mutex // serializes evictions of this process
	bytes   int64      // last measured size
}

// record is the result of a Ref.
type record struct {
	// Ref is for debugging.
	Ref     string    `json:"ref"`
	Version string    `json:"version,omitempty"`
	Digest  string    `json:"digest"`
	At      time.Time `json:"at"`
	// Whole means that a chart was verified to be complete.
	Whole bool `json:"whole,omitempty"`
}

const (
	// maxRecords is the maximum number of records; each takes some 300 bytes.
	maxRecords = 20_000
	// abandonedAge is the age at which a partial file is removed.
	abandonedAge = time.Hour
)

func openStore(config Cache, log *slog.Logger, m *metrics) *store {
	s := &store{dir: config.Dir, max: cmp.Or(config.MaxBytes, DefaultCacheBytes), log: log, metrics: m}
	if s.dir == "" {
		return s
	}
	for _, sub := range []string{"blobs", "refs"} {
		if err := os.MkdirAll(filepath.Join(s.dir, sub), 0o700); err != nil {
			s.logWriteError(err)
		}
	}
	s.evict("")
	return s
}

// logWriteError logs once that the store cannot be written to.
func (s *store) logWriteError(err error) {
	s.metrics.events.WithLabelValues(string(unwritten)).Inc()
	s.logOnce.Do(func() {
		s.log.Warn("the cache for fetched content cannot be written, so everything is fetched again each time; "+
			"name another directory with --remote-cache", "directory", s.dir, "error", err)
	})
}

func (s *store) blobPath(digest string) string {
	return filepath.Join(s.dir, "blobs", strings.Replace(digest, ":", "-", 1))
}

// refPath returns the path of a Ref's record. Scopes separate what tenants fetch
// with their own credentials, since other tenants may not have access to it.
func (s *store) refPath(scope string, ref remote.Ref) string {
	ref.URL = strings.TrimSuffix(ref.URL, "/")
	text, err := json.Marshal(ref)
	if err != nil {
		panic(err) // strings always encode
	}
	sum := sha256.Sum256(append([]byte(scope), text...))
	return filepath.Join(s.dir, "refs", hex.EncodeToString(sum[:])+".json")
}

// lookup returns the record of a Ref.
func (s *store) lookup(scope string, ref remote.Ref) (record, bool) {
	if s.dir == "" {
		return record{}, false
	}
	path := s.refPath(scope, ref)
	data, err := readBounded(path, maxRecord)
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

// maxRecord exceeds the size of any record.
const maxRecord = 64 << 10

// readBounded reads a file with a size limit, since others may have written it.
func readBounded(path string, maxBytes int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxBytes))
}

// isDigest validates a digest from a file before it is used in a path.
func isDigest(text string) bool {
	digits, found := strings.CutPrefix(text, "sha256:")
	return found && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}

// blob reads content by digest. Corrupted content is removed.
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
	_ = os.Chtimes(path, now, now) // marks it as recently used; a read-only store does not matter
	return data, true
}

// open opens content by digest as a verified file. Corrupted content is removed.
// The file remains readable after its eviction.
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

// digestOf returns the digest of a file.
func digestOf(file *os.File) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, 1<<62)); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// spool creates a file for incoming content, to be passed to adopt.
func (s *store) spool() (*os.File, error) {
	return os.CreateTemp(filepath.Join(s.dir, "blobs"), wholefile.TempPrefix+"*")
}

// adopt moves a spooled file into the store under its digest.
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

// verifiedLookup returns what lookup returns after checking the content. Invalid
// content, such as a truncated chart written by another process, is removed with all
// its records.
func (s *store) verifiedLookup(scope string, ref remote.Ref) (record, bool) {
	known, found := s.lookup(scope, ref)
	if !found || ref.Kind != remote.Chart {
		return known, found
	}
	data, there := s.blob(known.Digest)
	if there && (remote.BrokenChart(data) != "" || remote.OtherChart(data, path.Base(ref.Chart), "") != "") {
		s.remove(known.Digest)
		return record{}, false
	}
	return known, true
}

// remove removes content by digest, with its records.
func (s *store) remove(digest string) {
	s.drop(s.blobPath(digest))
	refs, _ := listFiles(filepath.Join(s.dir, "refs"))
	for _, ref := range refs {
		var r record
		if data, err := readBounded(ref.path, maxRecord); err == nil && json.Unmarshal(data, &r) == nil && r.Digest == digest {
			_ = os.Remove(ref.path)
		}
	}
}

// put stores the result of a Ref.
func (s *store) put(scope string, ref remote.Ref, c remote.Content, at time.Time) {
	if s.dir == "" || int64(len(c.Data)) > s.max {
		return
	}
	blob := s.blobPath(c.Digest)
	if info, err := os.Stat(blob); err != nil || info.Size() != int64(len(c.Data)) {
		if err := replace(blob, c.Data); err != nil {
			s.logWriteError(err)
			return
		}
		s.evict(blob)
	}
	s.record(scope, ref, c, at)
}

// record stores the record of a Ref whose content is in the store.
func (s *store) record(scope string, ref remote.Ref, c remote.Content, at time.Time) {
	text, err := json.Marshal(record{Ref: finding.Sanitize(ref.String()), Version: c.Version, Digest: c.Digest, At: at.UTC(), Whole: true})
	if err == nil {
		err = replace(s.refPath(scope, ref), append(text, '\n'))
	}
	if err != nil {
		s.logWriteError(err)
	}
}

// replace writes a file atomically.
func replace(path string, data []byte) error {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return wholefile.Replace(dir, filepath.Base(path), data, 0o600)
}

// evict removes the least recently used content except keep. If several processes
// evict concurrently, they remove slightly too much.
func (s *store) evict(keep string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	blobs, sum := listFiles(filepath.Join(s.dir, "blobs"))
	for _, b := range blobs {
		if sum <= s.max {
			break
		}
		if b.path == keep {
			continue
		}
		if err := os.Remove(b.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.logWriteError(err)
			break
		}
		sum -= b.size
		s.metrics.events.WithLabelValues(string(evicted)).Inc()
	}
	s.bytes = sum
	if refs, _ := listFiles(filepath.Join(s.dir, "refs")); len(refs) > maxRecords {
		for _, r := range refs[:len(refs)-maxRecords] {
			_ = os.Remove(r.path)
		}
	}
}

// storedFile is a file of the store.
type storedFile struct {
	path string
	size int64
	used time.Time
}

// listFiles returns the files of a directory, least recently used first. It removes
// abandoned partial files.
func listFiles(dir string) (all []storedFile, sum int64) {
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
		if strings.HasPrefix(e.Name(), wholefile.TempPrefix) {
			if time.Since(info.ModTime()) > abandonedAge {
				_ = os.Remove(path)
			}
			continue
		}
		all = append(all, storedFile{path, info.Size(), info.ModTime()})
		sum += info.Size()
	}
	slices.SortFunc(all, func(a, b storedFile) int { return a.used.Compare(b.used) })
	return all, sum
}

// size returns the total size of the blobs.
func (s *store) size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}
