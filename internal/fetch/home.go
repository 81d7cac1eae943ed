package fetch

import (
	"net/url"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// home is what an attempt asks of the Fetcher that sent it out. An attempt that is in a
// process of its own asks through a pipe: see Work.
type home interface {
	// credential opens an address that may be fetched from.
	credential(at *url.URL) (credential, error)
	// recorded finds what a Ref that always is the same came to, with its Data unless
	// that is kept in files; only the Digest if the rest is gone. sourceSays is the
	// digest that its source gives, or "".
	recorded(ref remote.Ref, sourceSays string, anew bool) (got remote.Content, there bool, err error)
	// index is the index of a chart repository, if it is known and fresh.
	index(address string) ([]byte, bool)
	keepIndex(address string, data []byte)
}

// fetchedContent is what an attempt brings home.
type fetchedContent struct {
	remote.Content
	// exact is the Ref that always is the same to which the one of the attempt came, if
	// that was found out on the way, and was is the digest that is recorded for it.
	exact *remote.Ref
	was   string
	// kept says that the cache has it already.
	kept bool
	// file has the data, if that is not in the Content. It is removed by who has it.
	file string
}

// local is the home of an attempt in the same process.
type local struct{ f *Fetcher }

func (l local) credential(at *url.URL) (credential, error) { return l.f.credential(at) }

func (l local) recorded(ref remote.Ref, sourceSays string, anew bool) (remote.Content, bool, error) {
	f := l.f
	known, remembered := f.recall(ref)
	if anew || !remembered {
		return remote.Content{}, false, nil
	}
	if sourceSays != "" && sourceSays != known.Digest {
		return remote.Content{}, false, f.changed(ref, known.Digest, sourceSays)
	}
	data, found := f.have(known.Digest)
	if found {
		f.metrics.events.WithLabelValues(string(hit)).Inc()
	}
	return remote.Content{Version: known.Version, Digest: known.Digest, Data: data}, found, nil
}

func (l local) index(address string) ([]byte, bool) {
	d, found := l.f.indexes.get(l.f.scope+address, l.f.now(), l.f.fresh)
	return d.data, found && d.data != nil
}

func (l local) keepIndex(address string, data []byte) {
	l.f.indexes.put(l.f.scope+address, dated{data: data, at: l.f.now()})
}

// credential is what opens an address: of the tenant's own first, if it has some.
func (f *Fetcher) credential(at *url.URL) (credential, error) {
	for _, c := range f.credentials {
		found, err := c.find(at)
		if err != nil || found.below != "" {
			return found, err
		}
	}
	return credential{}, nil
}

// have finds what the cache has under a digest. Where data is kept in files it is only
// looked whether it is there, and is what it was.
func (f *Fetcher) have(digest string) ([]byte, bool) {
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

// recall finds what a Ref came to. Where data is kept in files it is not looked into:
// that is for other processes.
func (f *Fetcher) recall(ref remote.Ref) (record, bool) {
	if f.config.Process == nil {
		return f.store.recall(f.scopeOf(ref), ref)
	}
	known, found := f.store.lookup(f.scopeOf(ref), ref)
	return known, found && (known.Whole || ref.Kind != remote.Chart)
}

// exactly gets what a Ref that always is the same names, from the cache if that
// has it and may be asked, else with load. sourceSays is a digest that the source
// gives, or "".
func (e *attempt) exactly(ref remote.Ref, sourceSays string, load func() (remote.Content, error)) (fetchedContent, error) {
	if !lasting(ref) {
		content, err := load()
		return fetchedContent{Content: content}, err
	}
	known, there, err := e.home.recorded(ref, sourceSays, e.anew)
	if err != nil {
		return fetchedContent{}, err
	}
	if there {
		return fetchedContent{Content: known, exact: &ref, kept: true}, nil
	}
	content, err := load()
	return fetchedContent{Content: content, exact: &ref, was: known.Digest}, err
}

// settle records what an attempt brought home, and finds out whether it is what it was.
func (f *Fetcher) settle(ref remote.Ref, h fetchedContent) (remote.Content, error) {
	if h.exact != nil && h.was != "" && h.was != h.Digest {
		return remote.Content{}, f.changed(*h.exact, h.was, h.Digest)
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

// put records what a Ref came to.
func (f *Fetcher) put(ref remote.Ref, c remote.Content) {
	if f.config.Process == nil {
		f.store.put(f.scopeOf(ref), ref, c, f.now())
		return
	}
	f.store.record(f.scopeOf(ref), ref, c, f.now())
}
