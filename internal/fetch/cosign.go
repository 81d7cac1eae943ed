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

// Verification of cosign signatures with a key, in both of cosign's storage
// formats. The libraries of sigstore require Go 1.27, and much that is not needed
// for a public key, so the standard library's cryptography is used.
//
//   - A tag named after the manifest's digest is an image whose layers are
//     payloads, with the signature as an annotation (cosign/specs/SIGNATURE_SPEC.md).
//     Cosign up to 2.
//   - A referrer of the manifest is a sigstore bundle: a DSSE envelope
//     (secure-systems-lab/dsse, protocol.md) with an in-toto statement. Cosign from
//     3.
const (
	payloadType       = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureKey      = "dev.cosignproject.cosign/signature"
	claimType         = "cosign container image signature"
	bundleType        = "application/vnd.dev.sigstore.bundle.v0.3+json"
	statementType     = "application/vnd.in-toto+json"
	predicateKey      = "dev.sigstore.bundle.predicateType"
	signPredicateType = "https://sigstore.dev/cosign/sign/v1"
)

// maxSignatures limits the signatures of each format to check for a chart: anyone
// who can write to a repository can add any number, and each requires a request.
const maxSignatures = 32

// candidates are the signatures of a manifest, with their problems.
type candidates struct {
	signer        Signer
	key           any
	digest        string // of the manifest to verify
	repository    *url.URL
	seen          int
	limitExceeded bool // whether there are more than maxSignatures
	faults        []string
}

// verifyCosign verifies the manifest of a chart.
func (e *attempt) verifyCosign(s Signer, repository *orasremote.Repository, at ocispec.Descriptor, _ []ocispec.Descriptor, _ []byte) error {
	key, err := publicKey(s.Key)
	if err != nil {
		return unsigned(s, signByCosign, "the key of the policy %s", err)
	}
	c := &candidates{signer: s, key: key, digest: at.Digest.String(), repository: &url.URL{Scheme: "oci", Host: e.at.Host, Path: "/" + repository.Reference.Repository}}
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
	if c.limitExceeded {
		faults += fmt.Sprintf("; only the first %d are checked", maxSignatures)
	}
	return unsigned(s, signByCosign, "none of the %d signatures of the chart's manifest %s is valid: %s", c.seen, c.digest, faults)
}

// signatureTag returns cosign's tag for the signatures of a manifest.
func signatureTag(at ocispec.Descriptor) string {
	return strings.Replace(at.Digest.String(), ":", "-", 1) + ".sig"
}

// byTag checks the signatures under the tag.
func (e *attempt) byTag(repository *orasremote.Repository, at ocispec.Descriptor, c *candidates) (bool, error) {
	_, manifest, err := e.manifest(repository, signatureTag(at))
	if err != nil {
		return false, unlessMissing(err)
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType != payloadType {
			continue
		}
		if c.seen == maxSignatures {
			c.limitExceeded = true
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

// byReferrers checks the bundles that refer to a manifest.
func (e *attempt) byReferrers(repository *orasremote.Repository, at ocispec.Descriptor, c *candidates) (bool, error) {
	var all []ocispec.Descriptor
	enough := errors.New("enough")
	err := repository.Referrers(e.ctx, at, bundleType, func(page []ocispec.Descriptor) error {
		for _, referrer := range page {
			if of := referrer.Annotations[predicateKey]; of != "" && of != signPredicateType {
				continue // another kind of attestation
			}
			if len(all) == maxSignatures {
				c.limitExceeded = true
				return enough
			}
			all = append(all, referrer)
		}
		return nil
	})
	if err != nil && !c.limitExceeded {
		return false, unlessMissing(e.failureOf(err), broken, denied) // such as registries without the referrers API
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
		fault, isSignature := c.bundle(bundle)
		if isSignature && fault == "" {
			return true, nil
		}
		if isSignature {
			c.seen++
			c.faults = append(c.faults, fault)
		}
	}
	return false, nil
}

// unlessMissing drops an error if the requested content does not exist, or for
// other given outcomes.
func unlessMissing(err error, others ...outcome) error {
	var why *failure
	if errors.As(err, &why) && (why.outcome == missing || slices.Contains(others, why.outcome)) {
		return nil
	}
	return err
}

// small reads a signed payload.
func (e *attempt) small(repository *orasremote.Repository, layer ocispec.Descriptor) ([]byte, error) {
	if layer.Size < 0 || layer.Size > maxSigned {
		return nil, failed(tooLarge, "contact its signer", "a signature in %s has %d bytes, more than %d", e.host(), layer.Size, maxSigned)
	}
	data, err := content.FetchAll(e.ctx, repository.Blobs(), layer)
	if err != nil {
		return nil, e.failureOf(err)
	}
	return data, nil
}

// claim says what is wrong with a payload and its signature. It checks the
// signature first, before it parses the payload.
func (c *candidates) claim(payload []byte, signature string) string {
	if !signedBy(c.key, payload, signature) {
		return "it was not made with the key of the policy"
	}
	var document struct {
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
	err := json.Unmarshal(payload, &document)
	switch critical := document.Critical; {
	case err != nil || critical.Type != claimType:
		return "the key has signed something other than an image"
	case critical.Image.Digest != c.digest:
		return "the key has signed another manifest, " + short(critical.Image.Digest)
	case !c.expects(critical.Identity.Reference):
		return "the key has signed it for another repository, " + short(critical.Identity.Reference) + " (set signedAs in the policy to accept it)"
	}
	return ""
}

// expects reports whether a signature is for the required repository. Cosign itself
// does not check this, so a signature for a test repository could be used for
// production. A signature without a repository is accepted for any.
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
		return patternOf(c.signer.SignedAs).matches(normalized(named))
	}
	return patternOf(c.repository.String()).same(patternOf(named.String()))
}

// bundle says what is wrong with a bundle; isSignature reports whether it is a signature,
// not another kind of attestation such as an SBOM.
func (c *candidates) bundle(data []byte) (fault string, isSignature bool) {
	var sigstoreBundle struct {
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
	if err := json.Unmarshal(data, &sigstoreBundle); err != nil {
		return "a bundle cannot be read", true
	}
	envelope := sigstoreBundle.Envelope
	if json.Unmarshal(envelope.Payload, &statement) != nil || envelope.PayloadType != statementType || statement.PredicateType != signPredicateType {
		return "", false
	}
	signed := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(envelope.PayloadType), envelope.PayloadType, len(envelope.Payload), envelope.Payload)
	if len(envelope.Signatures) != 1 || !signedBy(c.key, signed, envelope.Signatures[0].Sig) {
		return "it was not made with the key of the policy", true
	}
	for _, subject := range statement.Subject {
		if "sha256:"+subject.Digest["sha256"] == c.digest {
			return "", true
		}
	}
	return "the key has signed another manifest", true
}

// signedBy verifies a base64 signature in cosign's format: over the SHA-256 of the
// message, or for Ed25519 over the message.
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
