package fetch

import (
	"fmt"
	"net/url"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"helm.sh/helm/v4/pkg/provenance"
	helmregistry "helm.sh/helm/v4/pkg/registry"
	"oras.land/oras-go/v2/content"
	orasremote "oras.land/oras-go/v2/registry/remote"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// maxSigned limits the size of a provenance file, payload or bundle, in bytes.
const maxSigned = 1 << 20

// scopeOf returns the scope of a Ref's records in the store. For charts it includes
// the policy, so that unverified content is never used under a policy. An index may
// refer to any URL, so the whole policy counts for each chart.
func (f *Fetcher) scopeOf(ref remote.Ref) string {
	if ref.Kind != remote.Chart {
		return f.scope
	}
	return f.scope + f.config.Verify.name()
}

// signers returns the required signers of a chart: for the requested URL, and for
// the URL it is downloaded from.
func (e *attempt) signers(from *url.URL) []Signer {
	addresses := []*url.URL{from}
	if named, fault := parseAddress(e.ref.URL); fault == "" {
		addresses = append(addresses, named.JoinPath(e.ref.Chart))
	}
	var all []Signer
	for _, at := range addresses {
		s, found := e.f.config.Verify.signer(at)
		if found && !slices.ContainsFunc(all, func(other Signer) bool { return other.Address == s.Address }) {
			all = append(all, s)
		}
	}
	return all
}

// unsigned is the failure of a chart without a valid signature.
func unsigned(s Signer, remedy, format string, args ...any) *failure {
	return failed(unverified, remedy, "%s; the policy (--remote-verify) requires a signature for %s", fmt.Sprintf(format, args...), s.Address)
}

// The remedies for missing signatures.
const (
	signByHelm   = "publish it with helm package --sign by a key of the keyring, with its .prov next to it, or correct the policy"
	signByCosign = "sign it by its digest with cosign sign --key and the private half of the key in the policy, or correct the policy"
)

// verifyFile verifies a chart of a repository by its provenance file.
func (e *attempt) verifyFile(at *url.URL, packed []byte) error {
	for _, s := range e.signers(at) {
		if s.Keyring == nil {
			return unsigned(s, "write provenance for its repository into the policy", "the chart is not in a registry, which cosign requires")
		}
		provenanceURL := *at
		provenanceURL.Path, provenanceURL.RawPath = at.Path+".prov", ""
		if at.RawPath != "" {
			provenanceURL.RawPath = at.RawPath + ".prov"
		}
		statement, err := e.getAtMost(provenanceURL.String(), maxSigned)
		if err != nil {
			if why := e.failureOf(err); why.outcome != missing && why.outcome != denied {
				return why
			}
			return unsigned(s, signByHelm, "the chart has no provenance file: %s returned %d for %s", at.Host, e.status(), provenanceURL.Path)
		}
		if err := verifyProvenance(s, statement, packed); err != nil {
			return err
		}
	}
	return nil
}

// verifyManifest verifies a chart of a registry, by its manifest and layers.
func (e *attempt) verifyManifest(repository *orasremote.Repository, at ocispec.Descriptor, layers []ocispec.Descriptor, packed []byte) error {
	from := &url.URL{Scheme: "oci", Host: e.at.Host, Path: "/" + repository.Reference.Repository}
	for _, s := range e.signers(from) {
		verify := e.verifyCosign
		if s.Keyring != nil {
			verify = e.verifyProvenanceLayer
		}
		if err := verify(s, repository, at, layers, packed); err != nil {
			return err
		}
	}
	return nil
}

// verifyProvenanceLayer verifies by the provenance layer that helm push adds.
func (e *attempt) verifyProvenanceLayer(s Signer, repository *orasremote.Repository, _ ocispec.Descriptor, layers []ocispec.Descriptor, packed []byte) error {
	i := slices.IndexFunc(layers, func(l ocispec.Descriptor) bool { return l.MediaType == helmregistry.ProvLayerMediaType })
	if i < 0 {
		return unsigned(s, signByHelm, "the chart in %s has no provenance file (a layer that helm push makes of the .prov)", e.host())
	}
	if layers[i].Size < 0 || layers[i].Size > maxSigned {
		return failed(tooLarge, "contact its publisher", "the provenance file has %d bytes, more than %d", layers[i].Size, maxSigned)
	}
	statement, err := content.FetchAll(e.ctx, repository.Blobs(), layers[i])
	if err != nil {
		return e.failureOf(err)
	}
	return verifyProvenance(s, statement, packed)
}

// verifyProvenance verifies a chart by its provenance file, like helm verify. The name
// of the archive in the file is that of helm package for this chart and version.
func verifyProvenance(s Signer, statement, packed []byte) error {
	ring, err := keyring(s.Keyring)
	if err != nil {
		return unsigned(s, signByHelm, "the keyring cannot be read: %s", short(err.Error()))
	}
	name, version := remote.ChartName(packed)
	archive := name + "-" + version + ".tgz"
	_, err = (&provenance.Signatory{KeyRing: ring}).Verify(packed, statement, archive)
	if err != nil {
		return unsigned(s, signByHelm, "the provenance file of %s cannot be verified with the keyring: %s", short(archive), short(err.Error()))
	}
	return nil
}
