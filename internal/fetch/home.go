package fetch

import (
	"net/url"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// backend is the interface of an attempt to its Fetcher. An attempt in a separate
// process uses a pipe: see Work.
type backend interface {
	// credential returns the credential for an allowed URL.
	credential(at *url.URL) (credential, error)
	// recorded returns the recorded result of an immutable Ref: the Content, without
	// its Data if that is in a file. found is false if the cache does not have the
	// data; the Digest is still set if one was recorded. sourceDigest is the digest
	// announced by the source, or "".
	recorded(ref remote.Ref, sourceDigest string, ignoreCache bool) (got remote.Content, found bool, err error)
	// index returns the cached index of a chart repository, if it has not expired.
	index(address string) ([]byte, bool)
	keepIndex(address string, data []byte)
}

// fetchedContent is the result of an attempt.
type fetchedContent struct {
	remote.Content
	// exact is the immutable Ref to which the attempt's Ref was resolved, if any.
	// recordedDigest is the digest recorded for it.
	exact          *remote.Ref
	recordedDigest string
	// kept means that it is already in the cache.
	kept bool
	// file contains the data if the Content does not. The owner must remove it.
	file string
}

// local is the backend of an attempt in the same process.
type local struct{ f *Fetcher }

func (l local) credential(at *url.URL) (credential, error) { return l.f.credential(at) }

func (l local) recorded(ref remote.Ref, sourceDigest string, ignoreCache bool) (remote.Content, bool, error) {
	f := l.f
	cached, ok := f.cachedRecord(ref)
	if ignoreCache || !ok {
		return remote.Content{}, false, nil
	}
	if sourceDigest != "" && sourceDigest != cached.Digest {
		return remote.Content{}, false, f.changed(ref, cached.Digest, sourceDigest)
	}
	data, found := f.cachedData(cached.Digest)
	if found {
		f.metrics.events.WithLabelValues(string(hit)).Inc()
	}
	return remote.Content{Version: cached.Version, Digest: cached.Digest, Data: data}, found, nil
}

func (l local) index(address string) ([]byte, bool) {
	d, found := l.f.cachedIndex(l.f.scope + address)
	return d.data, found && d.data != nil
}

func (l local) keepIndex(address string, data []byte) {
	l.f.indexes.Add(l.f.scope+address, timedIndex{data: data, at: l.f.now()})
}

// credential returns the credential for a URL; a tenant's own credentials take
// precedence.
func (f *Fetcher) credential(at *url.URL) (credential, error) {
	for _, c := range f.credentials {
		found, err := c.find(at)
		if err != nil || found.Below != "" {
			return found, err
		}
	}
	return credential{}, nil
}

// cachedData returns cached content by digest. If content is kept in files, it is only
// verified.
func (f *Fetcher) cachedData(digest string) ([]byte, bool) {
	if f.config.Process == nil {
		return f.store.blob(digest)
	}
	file, err := f.store.open(digest)
	if err != nil {
		return nil, false
	}
	file.Close()
	return nil, true
}

// cachedRecord returns the record of a Ref. If content is kept in files, it is not
// parsed, which is left to other processes.
func (f *Fetcher) cachedRecord(ref remote.Ref) (record, bool) {
	if f.config.Process == nil {
		return f.store.verifiedLookup(f.scope, ref)
	}
	known, found := f.store.lookup(f.scope, ref)
	return known, found && (known.Whole || ref.Kind != remote.Chart)
}

// fetchExact returns the content of an immutable Ref from the cache if allowed,
// otherwise from load. sourceDigest is the digest announced by the source, or "".
func (e *attempt) fetchExact(ref remote.Ref, sourceDigest string, load func() (remote.Content, error)) (fetchedContent, error) {
	if !isImmutable(ref) {
		content, err := load()
		return fetchedContent{Content: content}, err
	}
	known, there, err := e.backend.recorded(ref, sourceDigest, e.ignoreCache)
	if err != nil {
		return fetchedContent{}, err
	}
	if there {
		return fetchedContent{Content: known, exact: &ref, kept: true}, nil
	}
	content, err := load()
	return fetchedContent{Content: content, exact: &ref, recordedDigest: known.Digest}, err
}

// finish records the result of an attempt, and checks it against the recorded
// digest.
func (f *Fetcher) finish(h fetchedContent) (remote.Content, error) {
	if h.exact != nil && h.recordedDigest != "" && h.recordedDigest != h.Digest {
		return remote.Content{}, f.changed(*h.exact, h.recordedDigest, h.Digest)
	}
	if h.file != "" {
		if err := f.store.adopt(h.file, h.Digest); err != nil {
			return remote.Content{}, err
		}
	}
	if h.exact != nil && !h.kept {
		f.put(*h.exact, h.Content)
	}
	return h.Content, nil
}

// put records the result of a Ref.
func (f *Fetcher) put(ref remote.Ref, c remote.Content) {
	if f.config.Process == nil {
		f.store.put(f.scope, ref, c, f.now())
		return
	}
	f.store.record(f.scope, ref, c, f.now())
}
