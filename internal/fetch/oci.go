package fetch

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	orasremote "oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// tagOf returns Helm's tag for a version; tags cannot contain a plus sign.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

// splitDigest splits a version that ends with the digest of a manifest: 1.2.3@sha256:…,
// or only sha256:….
func splitDigest(version string) (tag, manifest string) {
	tag, manifest, found := strings.Cut(version, "@")
	if !found && strings.HasPrefix(version, "sha256:") {
		return "", version
	}
	return tag, manifest
}

// chartOfRegistry fetches a chart from a registry, in the version that Helm would
// choose.
func (e *attempt) chartOfRegistry() (fetchedContent, error) {
	repository, err := e.repository(e.at.Path)
	if err != nil {
		return fetchedContent{}, err
	}
	version, manifest := splitDigest(e.ref.Version)
	reference := manifest
	if manifest == "" {
		if version, err = e.tag(repository, version); err != nil {
			return fetchedContent{}, err
		}
		reference = tagOf(version)
	} else if digest.Digest(manifest).Validate() != nil {
		return fetchedContent{}, failed(badRef, "write sha256: and 64 hexadecimal digits", "%s is not a digest", manifest)
	}
	exact := e.ref
	if manifest == "" {
		exact.Version = version
	}
	return e.fetchExact(exact, "", func() (remote.Content, error) {
		got, _, err := e.pull(repository, reference)
		if manifest == "" {
			got.Version = version
		}
		if err == nil {
			err = e.checkIdentity(got.Data, version)
		}
		return got, err
	})
}

// checkIdentity reports an error if the content of a registry is not the chart of that name
// and version. The version is a tag, which may omit its last parts.
func (e *attempt) checkIdentity(packed []byte, version string) error {
	if v, err := semver.NewVersion(version); err == nil {
		version = v.String()
	}
	if other := remote.OtherChart(packed, path.Base(e.ref.Chart), version); other != "" {
		return failed(broken, "contact its publisher, or correct the name and the version",
			"the chart in %s is not the requested one: %s", e.host(), other)
	}
	return nil
}

// repository returns a repository of the registry, whose client uses the attempt.
func (e *attempt) repository(name string) (*orasremote.Repository, error) {
	repository, err := orasremote.NewRepository(e.origin().Host + "/" + strings.Trim(name, "/"))
	if err != nil || repository.Reference.Reference != "" {
		return nil, failed(badRef, "write oci://HOST/PATH in lower case, and the chart's name",
			"oci://%s/%s is not a URL of a registry", e.at.Host, strings.Trim(name, "/"))
	}
	repository.PlainHTTP = e.origin().Scheme == "http"
	repository.Client = &auth.Client{
		Client: e.client(),
		Cache:  auth.NewCache(),
		Credential: func(_ context.Context, host string) (auth.Credential, error) {
			if host != repository.Reference.Host() {
				return auth.EmptyCredential, nil
			}
			return e.credential.registry(), nil
		},
	}
	return repository, nil
}

// maxTagPages limits the pages of a tag list: an endless one would occupy a place
// in the queue.
const maxTagPages = 500

// tag returns the tag of the requested version. As in Helm, anything that can be
// parsed as a version, even without its last parts, is one; otherwise it is a
// range.
func (e *attempt) tag(repository *orasremote.Repository, version string) (string, error) {
	if _, err := semver.NewVersion(version); err == nil {
		return version, nil
	}
	if version != "" {
		if _, err := semver.NewConstraint(version); err != nil {
			return "", failed(badRef, "write a version such as 1.2.3 or a range such as ^1.2", "%q is neither a version nor a range", version)
		}
	}
	var all []*semver.Version
	seen := 0
	err := repository.Tags(e.ctx, "", func(tags []string) error {
		if seen += max(len(tags), maxVersions/maxTagPages); seen > maxVersions {
			return e.note(failed(tooLarge, "name an exact version",
				"%s has more than %d tags of %s, or sends them in more than %d parts", e.host(), maxVersions, e.ref.Chart, maxTagPages))
		}
		for _, tag := range tags {
			if v, err := semver.StrictNewVersion(strings.ReplaceAll(tag, "_", "+")); err == nil {
				all = append(all, v)
			}
		}
		return nil
	})
	if err != nil {
		return "", e.failureOf(err)
	}
	slices.SortFunc(all, func(a, b *semver.Version) int { return b.Compare(a) })
	var tags []string
	for _, v := range all {
		tags = append(tags, v.String())
	}
	found := bestVersion(tags, version)
	if found < 0 {
		return "", failed(missing, "use an existing version", "%s has no version of %s that fits; it has %s", e.host(),
			e.ref.Chart, newestVersions(tags))
	}
	return tags[found], nil
}

// Types of a chart's parts (helm.sh/helm/v4/pkg/registry).
const (
	configMediaType           = "application/vnd.cncf.helm.config.v1+json"
	chartLayerMediaType       = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	legacyChartLayerMediaType = "application/tar+gzip"
)

// maxManifest is the usual size limit of registries for a manifest.
const maxManifest = 4 << 20

// pull fetches a chart by tag or digest, and returns the digest of its manifest.
// The registry's client verifies all digests.
func (e *attempt) pull(repository *orasremote.Repository, reference string) (remote.Content, string, error) {
	none := remote.Content{}
	at, manifest, err := e.manifest(repository, reference)
	if err != nil {
		return none, "", err
	}
	chart := slices.IndexFunc(manifest.Layers, func(l ocispec.Descriptor) bool {
		return l.MediaType == chartLayerMediaType || l.MediaType == legacyChartLayerMediaType
	})
	if chart < 0 || manifest.Config.MediaType != configMediaType {
		return none, "", failed(broken, "check the URL: the artifact must have been pushed by helm push",
			"%s returned something other than a chart: %s", e.host(), kindOf(at, manifest))
	}
	layer := manifest.Layers[chart]
	if layer.Size < 0 || layer.Size > e.f.limits.Bytes {
		return none, "", failed(tooLarge, moreBytes, "the chart has %d bytes, more than %d", layer.Size, e.f.limits.Bytes)
	}
	packed, err := content.FetchAll(e.ctx, repository.Blobs(), layer)
	if err != nil {
		return none, "", e.failureOf(err)
	}
	got := remote.Content{Version: manifest.Annotations[ocispec.AnnotationVersion], Digest: remote.Digest(packed), Data: packed}
	if err := packedChart(packed, e.host()); err != nil {
		return none, "", err
	}
	return got, at.Digest.String(), nil
}

// manifest fetches a manifest by tag or digest.
func (e *attempt) manifest(repository *orasremote.Repository,
	reference string) (at ocispec.Descriptor, manifest ocispec.Manifest, err error) {
	at, body, err := repository.FetchReference(e.ctx, reference)
	if err != nil {
		return at, manifest, e.failureOf(err)
	}
	defer body.Close()
	if at.Size < 0 || at.Size > maxManifest {
		return at, manifest, failed(tooLarge, "check the URL", "the manifest of %s in %s has %d bytes", e.ref.Chart, e.host(), at.Size)
	}
	data, err := content.ReadAll(body, at)
	if err == nil {
		err = json.Unmarshal(data, &manifest)
	}
	if err != nil {
		return at, manifest, e.failureOf(err)
	}
	return at, manifest, nil
}

func kindOf(at ocispec.Descriptor, manifest ocispec.Manifest) string {
	if manifest.Config.MediaType == "" {
		return at.MediaType
	}
	return manifest.Config.MediaType
}
