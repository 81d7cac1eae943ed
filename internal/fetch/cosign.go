package fetch

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	orasremote "oras.land/oras-go/v2/registry/remote"
)

// Signatures of cosign by a key of its own, in the two forms that it stores them in. The
// libraries of sigstore are for Go 1.27, and for much that a public key does not need, so
// that the few lines of cryptography here are the standard library's.
//
//   - A tag of the manifest's digest names an image whose layers are payloads, with the
//     signature as an annotation (cosign/specs/SIGNATURE_SPEC.md). Cosign up to 2.
//   - A referrer of the manifest has a bundle of sigstore: a DSSE envelope
//     (secure-systems-lab/dsse, protocol.md) with a statement of in-toto. Cosign from 3.
const (
	payloadType       = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureKey      = "dev.cosignproject.cosign/signature"
	claimType         = "cosign container image signature"
	bundleType        = "application/vnd.dev.sigstore.bundle.v0.3+json"
	statementType     = "application/vnd.in-toto+json"
	predicateKey      = "dev.sigstore.bundle.predicateType"
	signPredicateType = "https://sigstore.dev/cosign/sign/v1"
)

// mostSignatures is how many signatures of each form are looked at for one chart: who can
// write to a repository can add any number, and each is a request.
const mostSignatures = 32

// candidates are the signatures of a manifest, and what is wrong with them.
type candidates struct {
	signer Signer
	key    any
	digest string // of the manifest, that must be signed
	where  *url.URL
	seen   int
	more   bool // there are others
	faults []string
}

// byCosign verifies the manifest of a chart.
func (e *attempt) byCosign(s Signer, repository *orasremote.Repository, at ocispec.Descriptor, _ []ocispec.Descriptor, _ []byte) error {
	key, err := publicKey(s.Key)
	if err != nil {
		return unsigned(s, signByCosign, "the key of the policy %s", err)
	}
	c := &candidates{signer: s, key: key, digest: at.Digest.String(), where: &url.URL{Scheme: "oci", Host: e.at.Host, Path: "/" + repository.Reference.Repository}}
	for _, look := range []func(*orasremote.Repository, ocispec.Descriptor, *candidates) (bool, error){e.byTag, e.byReferrers} {
		good, err := look(repository, at, c)
		if good || err != nil {
			return err
		}
	}
	if c.seen == 0 {
		return unsigned(s, signByCosign, "the chart is not signed: %s has neither the tag %s nor a bundle of sigstore for its manifest", e.host(), signatureTag(at))
	}
	slices.Sort(c.faults)
	faults := short(strings.Join(slices.Compact(c.faults), ", "))
	if c.more {
		faults += fmt.Sprintf("; only the first %d are checked", mostSignatures)
	}
	return unsigned(s, signByCosign, "none of the %d signatures of the chart's manifest %s is good: %s", c.seen, c.digest, faults)
}

// signatureTag is the tag that cosign gives to the signatures of a manifest.
func signatureTag(at ocispec.Descriptor) string {
	return strings.Replace(at.Digest.String(), ":", "-", 1) + ".sig"
}

// byTag looks at the signatures under a tag.
func (e *attempt) byTag(repository *orasremote.Repository, at ocispec.Descriptor, c *candidates) (bool, error) {
	_, manifest, err := e.manifest(repository, signatureTag(at))
	if err != nil {
		return false, unlessMissing(err)
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType != payloadType {
			continue
		}
		if c.seen == mostSignatures {
			c.more = true
			break
		}
		c.seen++
		payload, err := e.small(repository, layer)
		if err != nil {
			return false, err
		}
		fault := c.claim(payload, layer.Annotations[signatureKey])
		if fault == "" {
			return true, nil
		}
		c.faults = append(c.faults, fault)
	}
	return false, nil
}

// byReferrers looks at the bundles that refer to a manifest.
func (e *attempt) byReferrers(repository *orasremote.Repository, at ocispec.Descriptor, c *candidates) (bool, error) {
	var all []ocispec.Descriptor
	enough := errors.New("enough")
	err := repository.Referrers(e.ctx, at, bundleType, func(page []ocispec.Descriptor) error {
		for _, referrer := range page {
			if of := referrer.Annotations[predicateKey]; of != "" && of != signPredicateType {
				continue // something else that was said of it
			}
			if len(all) == mostSignatures {
				c.more = true
				return enough
			}
			all = append(all, referrer)
		}
		return nil
	})
	if err != nil && !c.more {
		return false, unlessMissing(e.failureOf(err), broken, denied) // as registries do that know none
	}
	for _, referrer := range all {
		_, manifest, err := e.manifest(repository, referrer.Digest.String())
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(manifest.Layers, func(l ocispec.Descriptor) bool { return l.MediaType == bundleType })
		if i < 0 {
			continue
		}
		bundle, err := e.small(repository, manifest.Layers[i])
		if err != nil {
			return false, err
		}
		fault, is := c.bundle(bundle)
		if is && fault == "" {
			return true, nil
		}
		if is {
			c.seen++
			c.faults = append(c.faults, fault)
		}
	}
	return false, nil
}

// unlessMissing is no failure if what is asked for is not there, or came to one of the
// other outcomes.
func unlessMissing(err error, others ...outcome) error {
	var why *failure
	if errors.As(err, &why) && (why.outcome == missing || slices.Contains(others, why.outcome)) {
		return nil
	}
	return err
}

// small reads what is signed.
func (e *attempt) small(repository *orasremote.Repository, layer ocispec.Descriptor) ([]byte, error) {
	if layer.Size < 0 || layer.Size > mostSigned {
		return nil, failed(tooLarge, "contact its signer", "a signature in %s has %d bytes, more than %d", e.host(), layer.Size, mostSigned)
	}
	data, err := content.FetchAll(e.ctx, repository.Blobs(), layer)
	if err != nil {
		return nil, e.failureOf(err)
	}
	return data, nil
}

// claim says what is wrong with a payload and its signature. The signature comes first:
// who did not sign it is not listened to.
func (c *candidates) claim(payload []byte, signature string) string {
	if !signedBy(c.key, payload, signature) {
		return "it is not by the key of the policy"
	}
	var said struct {
		Critical struct {
			Identity struct {
				Reference string `json:"docker-reference"`
			}
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			}
			Type string
		}
	}
	err := json.Unmarshal(payload, &said)
	switch critical := said.Critical; {
	case err != nil || critical.Type != claimType:
		return "the key has signed something other than an image"
	case critical.Image.Digest != c.digest:
		return "the key has signed another manifest, " + short(critical.Image.Digest)
	case !c.expects(critical.Identity.Reference):
		return "the key has signed it for another repository, " + short(critical.Identity.Reference) + " (signedAs in the policy says which is meant)"
	}
	return ""
}

// expects says whether a signature is for the repository that it must be for. Cosign
// itself does not compare that, so that what was signed for a test can be put in place of
// what was signed for production. One that names no repository is for any.
func (c *candidates) expects(reference string) bool {
	if reference == "" {
		return true
	}
	reference, _, _ = strings.Cut(reference, "@")
	if i := strings.LastIndex(reference, ":"); i > strings.LastIndex(reference, "/") {
		reference = reference[:i]
	}
	named, fault := parseAddress("oci://" + reference)
	if fault != "" {
		return false
	}
	if c.signer.SignedAs != "" {
		return patternOf(c.signer.SignedAs).matches(plainly(named))
	}
	return patternOf(c.where.String()).same(patternOf(named.String()))
}

// bundle says what is wrong with a bundle; is says whether it is a signature, and not
// something else that was said of the manifest, such as what is in it.
func (c *candidates) bundle(data []byte) (fault string, is bool) {
	var said struct {
		Envelope struct {
			Payload     []byte
			PayloadType string
			Signatures  []struct{ Sig string }
		} `json:"dsseEnvelope"`
	}
	var statement struct {
		PredicateType string
		Subject       []struct{ Digest map[string]string }
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return "a bundle cannot be read", true
	}
	envelope := said.Envelope
	if json.Unmarshal(envelope.Payload, &statement) != nil || envelope.PayloadType != statementType || statement.PredicateType != signPredicateType {
		return "", false
	}
	signed := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(envelope.PayloadType), envelope.PayloadType, len(envelope.Payload), envelope.Payload)
	if len(envelope.Signatures) != 1 || !signedBy(c.key, signed, envelope.Signatures[0].Sig) {
		return "it is not by the key of the policy", true
	}
	for _, subject := range statement.Subject {
		if "sha256:"+subject.Digest["sha256"] == c.digest {
			return "", true
		}
	}
	return "the key has signed another manifest", true
}

// signedBy verifies a signature in Base64 as cosign makes them: over the SHA-256 of the
// message, or with Ed25519 over the message.
func signedBy(key any, message []byte, signature string) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	sum := sha256.Sum256(message)
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, sum[:], raw)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], raw) == nil
	case ed25519.PublicKey:
		return ed25519.Verify(key, message, raw)
	}
	return false
}
