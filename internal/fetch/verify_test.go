package fetch

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"helm.sh/helm/v4/pkg/provenance"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// shelf is a registry that has what is pushed to it, each repository by its path.
type shelf struct {
	t         *testing.T
	tags      map[string]string   // repository:tag to the digest of a manifest
	content   map[string]string   // by digest
	referrers map[string][]string // descriptors by what they refer to
	old       bool                // it knows no referrers
}

func newShelf(t *testing.T) *shelf {
	return &shelf{t: t, tags: map[string]string{}, content: map[string]string{}, referrers: map[string][]string{}}
}

// layerOf is a layer with its content.
type layerOf struct {
	mediaType, data string
	annotations     map[string]string
}

// push puts a manifest under a tag, and returns its digest.
func (s *shelf) push(repository, tag, config string, layers ...layerOf) string {
	var list []any
	for _, l := range layers {
		s.content[remote.Digest([]byte(l.data))] = l.data
		list = append(list, map[string]any{"mediaType": l.mediaType, "digest": remote.Digest([]byte(l.data)), "size": len(l.data), "annotations": l.annotations})
	}
	manifest := text(s.t, map[string]any{"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest,
		"config": map[string]any{"mediaType": config, "digest": remote.Digest([]byte("{}")), "size": 2}, "layers": list})
	digest := remote.Digest([]byte(manifest))
	s.content[digest] = manifest
	s.tags[repository+":"+tag] = digest
	return digest
}

// refer puts a bundle beside a manifest.
func (s *shelf) refer(repository, to, bundle string) {
	digest := s.push(repository, "unnamed", "application/vnd.oci.empty.v1+json", layerOf{mediaType: bundleType, data: bundle})
	s.referrers[to] = append(s.referrers[to], fmt.Sprintf(`{"mediaType": %q, "artifactType": %q, "digest": %q, "size": %d}`, ocispec.MediaTypeImageManifest, bundleType, digest, len(s.content[digest])))
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	repository := strings.TrimPrefix(path.Dir(path.Dir(r.URL.Path)), "/v2/")
	digest := name
	switch path.Base(path.Dir(r.URL.Path)) {
	case "referrers":
		if !s.old {
			w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
			fmt.Fprintf(w, `{"schemaVersion": 2, "manifests": [%s]}`, strings.Join(s.referrers[name], ","))
			return
		}
		digest = ""
	case "manifests":
		if tagged, found := s.tags[repository+":"+name]; found {
			digest = tagged
		}
		w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
		w.Header().Set("Docker-Content-Digest", digest)
	}
	data, found := s.content[digest]
	if !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	_, _ = w.Write([]byte(data))
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// cosigned is a layer with a payload as cosign writes it, signed.
func cosigned(t *testing.T, key crypto.Signer, digest, reference string) layerOf {
	return signedLayer(t, key, fmt.Sprintf(`{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, reference, digest))
}

func signedLayer(t *testing.T, key crypto.Signer, payload string) layerOf {
	return layerOf{payloadType, payload, map[string]string{signatureKey: sign(t, key, payload)}}
}

func sign(t *testing.T, key crypto.Signer, message string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(message))
	signed, hash := sum[:], crypto.SHA256
	if _, whole := key.(ed25519.PrivateKey); whole {
		signed, hash = []byte(message), 0
	}
	signature, err := key.Sign(rand.Reader, signed, hash)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(signature)
}

// bundled is a bundle of sigstore as cosign 3 writes it.
func bundled(t *testing.T, key crypto.Signer, digest, predicate string) string {
	statement := text(t, map[string]any{"_type": "https://in-toto.io/Statement/v1", "predicateType": predicate, "predicate": map[string]any{},
		"subject": []any{map[string]any{"digest": map[string]string{"sha256": strings.TrimPrefix(digest, "sha256:")}}}})
	return text(t, map[string]any{"mediaType": bundleType, "verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": "x"}},
		"dsseEnvelope": map[string]any{"payload": base64.StdEncoding.EncodeToString([]byte(statement)), "payloadType": statementType,
			"signatures": []any{map[string]any{"sig": sign(t, key, fmt.Sprintf("DSSEv1 %d %s %d %s", len(statementType), statementType, len(statement), statement))}}}})
}

// publicPEM is the public half of a key.
func publicPEM(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

const signedRepository = "registry.example.com/charts/app"

// TestSwappedTag has a registry whose tag leads to another chart than it did, and whose
// signature is that of the one before.
func TestSwappedTag(t *testing.T) {
	t.Parallel()
	n, s, key := newInternet(t), newShelf(t), newKey(t)
	n.host("registry.example.com", s.ServeHTTP)
	signed := s.push("charts/app", "1.0.0", chartConfig, layerOf{mediaType: chartLayer, data: string(chartArchive(t, "app", "1.0.0"))})
	signature := cosigned(t, key, signed, signedRepository)
	s.push("charts/app", strings.Replace(signed, ":", "-", 1)+".sig", ocispec.MediaTypeImageConfig, signature)
	f := n.fetcher(Config{Allow: []string{"oci://registry.example.com"}, Verify: Policy{{Address: "oci://*", Key: publicPEM(t, key)}}})
	ref := remote.Ref{Kind: remote.Chart, URL: "oci://registry.example.com/charts", Chart: "app", Version: "1.0.0"}
	get(t, f, ref)
	swapped := s.push("charts/app", "1.0.0", chartConfig, layerOf{mediaType: chartLayer, data: string(chartArchive(t, "app", "1.0.0")) + "\n"})
	f = n.fetcher(Config{Allow: []string{"oci://registry.example.com"}, Verify: Policy{{Address: "oci://*", Key: publicPEM(t, key)}}})
	refuse(t, f, ref, "unverified", "the chart is not signed")
	s.push("charts/app", strings.Replace(swapped, ":", "-", 1)+".sig", ocispec.MediaTypeImageConfig, signature)
	refuse(t, f, ref, "unverified", "another manifest, "+signed)
}

// newSigner makes a key of OpenPGP, and its public half.
func newSigner(t *testing.T) (*openpgp.Entity, []byte) {
	t.Helper()
	entity, err := openpgp.NewEntity("Team", "", "team@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	var ring bytes.Buffer
	if err := entity.Serialize(&ring); err != nil {
		t.Fatal(err)
	}
	return entity, ring.Bytes()
}

// provenanceOf is the .prov of an archive, as helm package --sign writes it.
func provenanceOf(t *testing.T, by *openpgp.Entity, name string, data []byte) string {
	t.Helper()
	statement, err := (&provenance.Signatory{Entity: by}).ClearSign(data, name, []byte("name: app\n"))
	if err != nil {
		t.Fatal(err)
	}
	return statement
}

// TestProvenance has charts of a chart repository, and of a registry, with provenance
// files that are right and wrong.
func TestProvenance(t *testing.T) {
	t.Parallel()
	team, ring := newSigner(t)
	stranger, _ := newSigner(t)
	archive, older := chartArchive(t, "app", "1.0.0"), chartArchive(t, "app", "0.9.0")
	good := provenanceOf(t, team, "app-1.0.0.tgz", archive)
	for name, c := range map[string]struct{ statement, rule, text string }{
		"signed":           {good, "", ""},
		"unsigned":         {"", "unverified", "no provenance file"},
		"another key":      {provenanceOf(t, stranger, "app-1.0.0.tgz", archive), "unverified", "cannot be verified with the keyring"},
		"another version":  {provenanceOf(t, team, "app-0.9.0.tgz", older), "unverified", `does not contain a SHA for a file named "app-1.0.0.tgz"`},
		"another content":  {provenanceOf(t, team, "app-1.0.0.tgz", older), "unverified", "sum does not match for app-1.0.0.tgz"},
		"of another chart": {provenanceOf(t, team, "other-1.0.0.tgz", archive), "unverified", "does not contain a SHA"},
		"changed":          {strings.Replace(good, "name: app", "name: apq", 1), "unverified", "cannot be verified with the keyring"},
		"cut off":          {good[:len(good)/2], "unverified", "signature block not found"},
		"a page":           {"<html>", "unverified", "signature block not found"},
		"large":            {strings.Repeat("x", maxSigned+1), "too-large", "1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			n, s := newInternet(t), newShelf(t)
			all := map[string]string{"/index.yaml": indexOf("app", release{"1.0.0", "app-1.0.0.tgz", remote.Digest(archive)}), "/app-1.0.0.tgz": string(archive)}
			layers := []layerOf{{mediaType: chartLayer, data: string(archive)}}
			if c.statement != "" {
				all["/app-1.0.0.tgz.prov"] = c.statement
				layers = append(layers, layerOf{mediaType: "application/vnd.cncf.helm.chart.provenance.v1.prov", data: c.statement})
			}
			n.host("charts.example.com", serving(all))
			n.host("registry.example.com", s.ServeHTTP)
			s.push("charts/app", "1.0.0", chartConfig, layers...)
			f := n.fetcher(Config{Allow: []string{"https://charts.example.com", "oci://registry.example.com"},
				Verify: Policy{{Address: "https://charts.example.com", Keyring: ring}, {Address: "oci://registry.example.com/charts", Keyring: ring}}})
			for _, ref := range []remote.Ref{chartRef("https://charts.example.com", "^1"), {Kind: remote.Chart, URL: "oci://registry.example.com/charts", Chart: "app", Version: "1.0.0"}} {
				if c.rule != "" {
					refuse(t, f, ref, c.rule, c.text)
				} else if got := get(t, f, ref); !bytes.Equal(got.Data, archive) {
					t.Error("another chart")
				}
			}
		})
	}
}

// TestVerifiedElsewhere has an index without an entry in the policy, which leads to
// addresses that have one.
func TestVerifiedElsewhere(t *testing.T) {
	t.Parallel()
	n, s, key := newInternet(t), newShelf(t), newKey(t)
	_, ring := newSigner(t)
	archive := chartArchive(t, "app", "1.0.0")
	s.push("charts/app", "1.0.0", chartConfig, layerOf{mediaType: chartLayer, data: string(archive)})
	n.host("registry.example.com", s.ServeHTTP)
	n.host("signed.example.com", serving(map[string]string{"/app.tgz": string(archive)}))
	n.host("charts.example.com", serving(map[string]string{
		"/a/index.yaml": indexOf("app", release{"1.0.0", "oci://registry.example.com/charts/app:1.0.0", remote.Digest(archive)}),
		"/b/index.yaml": indexOf("app", release{"1.0.0", "https://signed.example.com/app.tgz", remote.Digest(archive)})}))
	config := Config{Allow: []string{"https://*", "oci://*"}, Cache: Cache{Dir: t.TempDir()}}
	for _, where := range []string{"a", "b"} {
		ref := chartRef("https://charts.example.com/"+where, "1.0.0")
		config.Verify = nil
		get(t, n.fetcher(config), ref)
		config.Verify = Policy{{Address: "oci://registry.example.com", Key: publicPEM(t, key)}, {Address: "https://signed.example.com", Keyring: ring}}
		refuse(t, n.fetcher(config), ref, "unverified", "requires a signature for")
	}
}

// TestVerifyByProcess has a process verify, for a project with more to fetch from.
func TestVerifyByProcess(t *testing.T) {
	t.Parallel()
	n, s, key := newInternet(t), newShelf(t), newKey(t)
	n.host("registry.example.com", s.ServeHTTP)
	digest := s.push("charts/app", "1.0.0", chartConfig, layerOf{mediaType: chartLayer, data: string(chartArchive(t, "app", "1.0.0"))})
	projects := t.TempDir()
	write(t, projects+"/team/allow", "oci://registry.example.com\n")
	config := Config{Verify: Policy{{Address: "oci://*.example.com/charts/app", Key: publicPEM(t, key)}}, TTL: time.Hour}
	n.apart(&config)
	f, _, err := n.fetcher(config).For(projects, "team")
	if err != nil {
		t.Fatal(err)
	}
	ref := remote.Ref{Kind: remote.Chart, URL: "oci://registry.example.com/charts", Chart: "app", Version: "1.0.0"}
	refuse(t, f, ref, "unverified", "the chart is not signed")
	s.push("charts/app", strings.Replace(digest, ":", "-", 1)+".sig", ocispec.MediaTypeImageConfig, cosigned(t, key, digest, ""))
	get(t, f, ref)
}
