package fetch

import (
	"bytes"
	"net/url"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// exactVersion reports whether a chart's version is exact, not a range.
func exactVersion(version string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	return err == nil
}

// chartOfRepository fetches a chart from a repository with an index.yaml, in the
// version that Helm would choose.
func (e *attempt) chartOfRepository() (fetchedContent, error) {
	index, err := e.index(true)
	if err != nil {
		return fetchedContent{}, err
	}
	entry, err := index.choose(e.ref)
	if err != nil && index.cached {
		// The version may be newer than the index.
		if index, err = e.index(false); err == nil {
			entry, err = index.choose(e.ref)
		}
	}
	if err != nil {
		return fetchedContent{}, err
	}
	digest := ""
	if entry.Digest != "" {
		digest = "sha256:" + strings.ToLower(strings.TrimPrefix(entry.Digest, "sha256:"))
		if !isDigest(digest) {
			return fetchedContent{}, failed(broken, "contact its administrator",
				"the index of %s has an invalid digest %q of %s %s (a digest is sha256: and 64 hexadecimal digits)", e.host(),
				short(entry.Digest), e.ref.Chart, entry.Version)
		}
	}
	exact := e.ref
	exact.Version = entry.Version
	return e.fetchExact(exact, digest, func() (remote.Content, error) {
		return e.downloadPackage(exact, entry, digest)
	})
}

// downloadPackage downloads a packaged chart from the URL in the index.
func (e *attempt) downloadPackage(exact remote.Ref, entry listedVersion, digest string) (remote.Content, error) {
	none := remote.Content{}
	if len(entry.URLs) == 0 {
		return none, failed(broken, "contact its administrator", "the index of %s has no URL of %s %s", e.host(), exact.Chart, exact.Version)
	}
	address, err := resolveURL(e.ref.URL, entry.URLs[0])
	if err != nil {
		return none, failed(broken, "contact its administrator", "the index of %s has no valid URL of %s %s",
			e.host(), exact.Chart, exact.Version)
	}
	at, fault := parseAddress(address)
	if fault != "" {
		return none, failed(notAllowed, "contact its administrator", "the URL in the index of %s for %s %s %s", e.host(),
			exact.Chart, exact.Version, fault)
	}
	allowed := e.f.allow.allows(at)
	if at.Scheme == "oci" {
		if !allowed {
			return none, failed(notAllowed, toAllow,
				"the index of %s has the chart at %s, which is not allowed", e.host(), address)
		}
		return e.fromRegistry(at, exact, digest)
	}
	switch {
	case !allowed && digest == "":
		return none, failed(notAllowed, toAllow,
			"the index of %s has the chart at %s without a digest, which is not allowed", e.host(), address)
	case allowed:
		if err := e.visit(at); err != nil {
			return none, err
		}
	case e.credential.covers(at):
		e.at = at
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
		return none, failed(broken, "contact its administrator", "the content of %s has the digest %s, but the index says %s",
			address, content.Digest, digest)
	}
	if err := packedChart(data, e.host()); err != nil {
		return none, err
	}
	if other := remote.OtherChart(data, exact.Chart, exact.Version); other != "" {
		return none, failed(broken, "contact its administrator",
			"the content of %[2]s, from the index of %[1]s, is invalid: %[3]s", e.host(), address, other)
	}
	return content, nil
}

// fromRegistry fetches a chart that an index refers to in a registry.
func (e *attempt) fromRegistry(at *url.URL, exact remote.Ref, digest string) (remote.Content, error) {
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
		err = failed(broken, "contact its administrator", "the chart in the registry has the digest %s, but the index says %s",
			content.Digest, digest)
	}
	if other := remote.OtherChart(content.Data, exact.Chart, exact.Version); err == nil && other != "" {
		err = failed(broken, "contact its administrator", "the chart in the registry is not the requested one: %s", other)
	}
	content.Version = exact.Version
	return content, err
}

// packedChart says why downloaded content is not a packaged chart, such as a login
// page or a truncated file. It does not validate the chart.
func packedChart(data []byte, host string) error {
	fault := remote.BrokenChart(data)
	switch {
	case fault == "":
		return nil
	case bytes.HasPrefix(data, gzipMagic):
		return failed(broken, "check with its publisher that it is complete, or try again later",
			"%s returned a damaged chart of %d bytes: %s", host, len(data), short(fault))
	}
	return failed(broken, "check the URL", "%s returned something other than a packaged chart (%s)", host, describeFormat(data))
}

// gzipMagic is the start of every .tgz.
var gzipMagic = []byte{0x1f, 0x8b}

// describeFormat describes the format of unexpected content in a message.
func describeFormat(data []byte) string {
	switch {
	case len(data) == 0:
		return "empty"
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")):
		return "an HTML page"
	}
	return "unknown format"
}
