package fetch

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"
	helmrepo "helm.sh/helm/v4/pkg/repo/v1"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/remote"
)

// exactVersion says whether a chart's version is one, and no range of them.
func exactVersion(version string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	return err == nil
}

// chartOfRepository fetches a chart of a repository with an index.yaml, of the
// version that Helm would take.
func (e *errand) chartOfRepository() (remote.Content, error) {
	index, err := e.index(true)
	if err != nil {
		return remote.Content{}, err
	}
	listed, err := index.choose(e.ref)
	if err != nil && index.remembered {
		// Perhaps the version is newer than the index.
		if index, err = e.index(false); err == nil {
			listed, err = index.choose(e.ref)
		}
	}
	if err != nil {
		return remote.Content{}, err
	}
	digest := ""
	if listed.Digest != "" {
		digest = "sha256:" + strings.ToLower(strings.TrimPrefix(listed.Digest, "sha256:"))
		if !isDigest(digest) {
			return remote.Content{}, failed(broken, "ask those who run "+e.host(), "the index of %s has the digest %q of %s %s, which is none (sha256: and 64 hexadecimal digits)", e.host(), short(listed.Digest), e.ref.Chart, listed.Version)
		}
	}
	exact := e.ref
	exact.Version = listed.Version
	return e.exactly(exact, digest, func() (remote.Content, error) {
		return e.packed(exact, listed, digest)
	})
}

// packed downloads a chart from where the index says that it is.
func (e *errand) packed(exact remote.Ref, listed *helmrepo.ChartVersion, digest string) (remote.Content, error) {
	none := remote.Content{}
	if len(listed.URLs) == 0 {
		return none, failed(broken, "ask those who run it", "the index of %s has no address of %s %s", e.host(), exact.Chart, exact.Version)
	}
	address, err := helmrepo.ResolveReferenceURL(e.ref.URL, listed.URLs[0])
	if err != nil {
		return none, failed(broken, "ask those who run it", "the index of %s has no good address of %s %s", e.host(), exact.Chart, exact.Version)
	}
	at, fault := parseAddress(address)
	if fault != "" {
		return none, failed(notAllowed, "ask those who run it", "the address that the index of %s has of %s %s %s", e.host(), exact.Chart, exact.Version, fault)
	}
	allowed := e.f.allow.allows(at)
	if at.Scheme == "oci" {
		if !allowed {
			return none, failed(notAllowed, "add "+at.Scheme+"://"+at.Host+path.Dir(at.Path)+" to the allow-list if you trust it",
				"the index of %s has the chart at %s, which is not allowed", e.host(), address)
		}
		return e.elsewhere(at, exact, digest)
	}
	switch {
	case !allowed && digest == "":
		return none, failed(notAllowed, "add "+at.Scheme+"://"+at.Host+path.Dir(at.Path)+" to the allow-list if you trust it",
			"the index of %s has the chart at %s without a digest, which is not allowed", e.host(), address)
	case sameOrigin(at, e.at):
	case allowed:
		if err := e.visit(at); err != nil {
			return none, err
		}
	default:
		e.at, e.credential = at, credential{}
	}
	e.verified = digest != ""
	data, err := e.get(address)
	if err != nil {
		return none, err
	}
	content := remote.Content{Version: exact.Version, Digest: remote.Digest(data), Data: data}
	if digest != "" && content.Digest != digest {
		return none, failed(broken, "ask those who run "+e.host(), "what is at %s has the digest %s, and the index says %s", address, content.Digest, digest)
	}
	if err := packedChart(data, e.host()); err != nil {
		return none, err
	}
	if other := remote.OtherChart(data, exact.Chart, exact.Version); other != "" {
		return none, failed(broken, "ask those who run "+e.host(), "what the index of %s has at %s is wrong: %s", e.host(), address, other)
	}
	return content, nil
}

// elsewhere fetches from a registry a chart that an index has there.
func (e *errand) elsewhere(at *url.URL, exact remote.Ref, digest string) (remote.Content, error) {
	dir, name := path.Split(at.Path)
	version := exact.Version
	if chart, tag, found := strings.Cut(name, ":"); found {
		name, version = chart, strings.ReplaceAll(tag, "_", "+")
	}
	if err := e.visit(at); err != nil {
		return remote.Content{}, err
	}
	repository, err := e.repository(dir + name)
	if err != nil {
		return remote.Content{}, err
	}
	content, manifest, err := e.pull(repository, tagOf(version))
	if err == nil && digest != "" && content.Digest != digest && manifest != digest {
		err = failed(broken, "ask those who run "+e.host(), "the chart in the registry has the digest %s, and the index says %s", content.Digest, digest)
	}
	if other := remote.OtherChart(content.Data, exact.Chart, exact.Version); err == nil && other != "" {
		err = failed(broken, "ask those who run "+e.host(), "the chart in the registry is wrong: %s", other)
	}
	content.Version = exact.Version
	return content, err
}

// packedChart says what is wrong with a chart as it came: a page that says who
// may log in, say, in place of it, or half of it. Whether the chart is good is for
// others.
func packedChart(data []byte, host string) error {
	fault := remote.BrokenChart(data)
	switch {
	case fault == "":
		return nil
	case bytes.HasPrefix(data, gzipMagic):
		return failed(broken, "ask those who publish it whether it is whole there, or try again later", "what %s sends is a damaged chart of %d bytes: %s", host, len(data), short(fault))
	}
	return failed(broken, "look at the address", "what %s sends is no packed chart (%s)", host, beginning(data))
}

// gzipMagic is what every .tgz begins with.
var gzipMagic = []byte{0x1f, 0x8b}

// beginning shows people what some bytes are.
func beginning(data []byte) string {
	switch {
	case len(data) == 0:
		return "it is empty"
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")):
		return "it is a page of HTML"
	}
	return "it is something else"
}

// index is the index of a chart repository, as far as it was looked at.
type index struct {
	host       string
	entries    map[string]json.RawMessage // by chart
	remembered bool                       // from an earlier fetch
}

// choose finds what Helm finds.
func (i index) choose(ref remote.Ref) (*helmrepo.ChartVersion, error) {
	raw, found := i.entries[ref.Chart]
	if !found {
		return nil, failed(missing, "correct the name or the repository", "the index of %s has no chart %s", i.host, ref.Chart)
	}
	var all helmrepo.ChartVersions
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, failed(broken, "ask those who run it", "the entry of %s in the index of %s cannot be read", ref.Chart, i.host)
	}
	all = slices.DeleteFunc(all, func(v *helmrepo.ChartVersion) bool {
		return v == nil || v.Metadata == nil || v.Metadata.Version == ""
	})
	if len(all) == 0 {
		return nil, failed(missing, "correct the name or the repository", "the index of %s has no version of %s", i.host, ref.Chart)
	}
	of := helmrepo.IndexFile{Entries: map[string]helmrepo.ChartVersions{ref.Chart: all}}
	of.SortEntries()
	if !exactVersion(ref.Version) && ref.Version != "" {
		if _, err := semver.NewConstraint(ref.Version); err != nil && !slices.ContainsFunc(all, func(v *helmrepo.ChartVersion) bool { return v.Version == ref.Version }) {
			return nil, failed(badRef, "write a version such as 1.2.3 or a range such as ^1.2", "%q is no version and no range", ref.Version)
		}
	}
	chosen, err := of.Get(ref.Chart, ref.Version)
	if err != nil {
		var versions []string
		for _, v := range all {
			versions = append(versions, v.Version)
		}
		return nil, failed(missing, "take one that it has", "the index of %s has no version of %s that fits; it has %s", i.host, ref.Chart, some(versions))
	}
	return chosen, nil
}

// some names the first few of some versions, which are the newest.
func some(versions []string) string {
	if len(versions) == 0 {
		return "none"
	}
	if len(versions) > 5 {
		return strings.Join(versions[:5], ", ") + " and more"
	}
	return strings.Join(versions, ", ")
}

// index gets the index of the repository, one of earlier if it may be and is
// fresh: a component takes many charts of one repository.
func (e *errand) index(remembered bool) (index, error) {
	address, err := helmrepo.ResolveReferenceURL(e.ref.URL, "index.yaml")
	if err != nil {
		return index{}, failed(badRef, "correct the address", "%s is no address", e.ref.URL)
	}
	if i, found := e.f.indexes.get(address, e.f.now(), e.f.fresh); found && remembered {
		return i, nil
	}
	data, err := e.get(address)
	if err != nil {
		return index{}, err
	}
	var file struct {
		APIVersion string                     `json:"apiVersion"`
		Entries    map[string]json.RawMessage `json:"entries"`
	}
	if json.Valid(data) {
		err = json.Unmarshal(data, &file)
	} else {
		err = yaml.Unmarshal(data, &file)
	}
	if err != nil || file.APIVersion == "" {
		message := "it has no apiVersion"
		if err != nil {
			_, message = object.SyntaxError(err)
		}
		return index{}, failed(broken, "look at the address: its index.yaml must be the index of a chart repository", "the index of %s cannot be read (%s): %s", e.host(), beginning(data), short(message))
	}
	i := index{host: e.host(), entries: file.Entries}
	e.f.indexes.put(address, i, e.f.now())
	return i, nil
}

// indexes are the indexes of a few repositories. They stay in memory, read, since
// large ones take seconds to read.
type indexes struct {
	mu    sync.Mutex
	known map[string]dated
}

type dated struct {
	index
	at time.Time
}

// mostIndexes is how many repositories are remembered. An index of ten thousand
// versions takes some 20 MB.
const mostIndexes = 8

func (x *indexes) get(address string, now time.Time, fresh time.Duration) (index, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d, found := x.known[address]
	d.remembered = true
	return d.index, found && now.Sub(d.at) < fresh
}

func (x *indexes) put(address string, i index, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.known == nil {
		x.known = map[string]dated{}
	}
	x.known[address] = dated{i, now}
	for len(x.known) > mostIndexes {
		oldest := address
		for a, d := range x.known {
			if d.at.Before(x.known[oldest].at) {
				oldest = a
			}
		}
		delete(x.known, oldest)
	}
}
