package fetch

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"maps"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// cosignKeys are those of the team whose signatures are asked for, and that of somebody else.
type cosignKeys struct {
	team, rsa, ed25519 crypto.Signer
	other              crypto.Signer
}

func newCosignKeys(t *testing.T) cosignKeys {
	t.Helper()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return cosignKeys{team: newKey(t), rsa: rsaKey, ed25519: ed, other: newKey(t)}
}

// cosignTest is a chart with signatures, and the error that they lead to.
type cosignTest struct {
	key      crypto.Signer // of the policy; nil is the team's
	signedAs string
	// push puts signatures beside the chart, whose manifest has a digest.
	push func(s *shelf, digest string) []layerOf
	rule string
	text string
}

const signPredicate = "https://sigstore.dev/cosign/sign/v1"

// signedCharts are signed as they must be.
func signedCharts(t *testing.T, k cosignKeys) map[string]cosignTest {
	return map[string]cosignTest{
		"signed": {push: func(_ *shelf, d string) []layerOf { return []layerOf{cosigned(t, k.team, d, signedRepository)} }},
		"signed with a tag": {push: func(_ *shelf, d string) []layerOf {
			return []layerOf{cosigned(t, k.team, d, signedRepository+":1.0.0")}
		}},
		"signed with RSA":     {key: k.rsa, push: func(_ *shelf, d string) []layerOf { return []layerOf{cosigned(t, k.rsa, d, signedRepository)} }},
		"signed with Ed25519": {key: k.ed25519, push: func(_ *shelf, d string) []layerOf { return []layerOf{cosigned(t, k.ed25519, d, signedRepository)} }},
		"signed by others, too": {push: func(_ *shelf, d string) []layerOf {
			return []layerOf{cosigned(t, k.other, d, signedRepository), {mediaType: "text/plain", data: "x"}, cosigned(t, k.team, d, signedRepository)}
		}},
		"a mirror": {signedAs: "oci://upstream.example.org/charts/*", push: func(_ *shelf, d string) []layerOf {
			return []layerOf{cosigned(t, k.team, d, "upstream.example.org/charts/app")}
		}},
	}
}

// unsignedCharts have no signature, one by somebody else, or one of something else.
func unsignedCharts(t *testing.T, k cosignKeys) map[string]cosignTest {
	return map[string]cosignTest{
		"unsigned":                    {push: func(*shelf, string) []layerOf { return nil }, rule: "unverified", text: "the chart is not signed: registry.example.com has neither the tag sha256-"},
		"unsigned in an old registry": {push: func(s *shelf, _ string) []layerOf { s.old = true; return nil }, rule: "unverified", text: "; fix: sign it by its digest with cosign sign --key"},
		"another key": {push: func(_ *shelf, d string) []layerOf { return []layerOf{cosigned(t, k.other, d, signedRepository)} },
			rule: "unverified", text: "none of the 1 signatures of the chart's manifest sha256:"},
		"another digest": {push: func(s *shelf, _ string) []layerOf {
			old := s.push("charts/app", "0.9.0", chartConfig, layerOf{mediaType: chartLayer, data: string(chartArchive(t, "app", "0.9.0"))})
			return []layerOf{cosigned(t, k.team, old, signedRepository)}
		}, rule: "unverified", text: "the key has signed another manifest, sha256:"},
		"another repository": {push: func(_ *shelf, d string) []layerOf {
			return []layerOf{cosigned(t, k.team, d, "registry.example.com/staging/app")}
		}, rule: "unverified", text: "the key has signed it for another repository, registry.example.com/staging/app"},
		"not of the mirror": {signedAs: "oci://upstream.example.org/charts/*", push: func(_ *shelf, d string) []layerOf {
			return []layerOf{cosigned(t, k.team, d, "upstream.example.org/staging/app")}
		}, rule: "unverified", text: "another repository, upstream.example.org/staging/app"},
	}
}

// forgedSignatures are changed, too large or too many.
func forgedSignatures(t *testing.T, k cosignKeys) map[string]cosignTest {
	return map[string]cosignTest{
		"no signature": {push: func(_ *shelf, d string) []layerOf {
			l := cosigned(t, k.team, d, signedRepository)
			l.annotations = nil
			return []layerOf{l}
		}, rule: "unverified", text: "it was not made with the key of the policy"},
		"a payload cut off": {push: func(_ *shelf, d string) []layerOf {
			l := cosigned(t, k.team, d, signedRepository)
			l.data = l.data[:len(l.data)-10]
			return []layerOf{l}
		}, rule: "unverified", text: "it was not made with the key of the policy"},
		"a payload cut off and signed": {push: func(_ *shelf, d string) []layerOf {
			return []layerOf{signedLayer(t, k.team, cosigned(t, k.team, d, signedRepository).data[:150])}
		}, rule: "unverified", text: "the key has signed something other than an image"},
		"a payload of another type": {push: func(_ *shelf, d string) []layerOf {
			return []layerOf{signedLayer(t, k.team, strings.Replace(cosigned(t, k.team, d, signedRepository).data, "container image", "blob", 1))}
		}, rule: "unverified", text: "something other than an image"},
		"a large payload": {push: func(_ *shelf, d string) []layerOf {
			return []layerOf{signedLayer(t, k.team, strings.Repeat(" ", maxSigned+1))}
		}, rule: "too-large", text: "a signature in registry.example.com has 1048577 bytes"},
		"a thousand signatures": {push: func(_ *shelf, d string) []layerOf {
			var all []layerOf
			for i := range 1000 {
				all = append(all, layerOf{payloadType, fmt.Sprint(i), map[string]string{signatureKey: "AA=="}})
			}
			return append(all, cosigned(t, k.team, d, signedRepository))
		}, rule: "unverified", text: "none of the 32 signatures"},
		"a large manifest of signatures": {push: func(_ *shelf, d string) []layerOf {
			return []layerOf{{payloadType, "x", map[string]string{"padding": strings.Repeat("x", maxManifest)}}}
		}, rule: "too-large", text: "the manifest of app in registry.example.com has 41"},
	}
}

// bundledCharts have their signatures in bundles.
func bundledCharts(t *testing.T, k cosignKeys) map[string]cosignTest {
	return map[string]cosignTest{
		"a bundle": {push: func(s *shelf, d string) []layerOf {
			s.refer("charts/app", d, bundled(t, k.other, d, signPredicate))
			s.refer("charts/app", d, bundled(t, k.team, d, signPredicate))
			return nil
		}},
		"a bundle by another key": {push: func(s *shelf, d string) []layerOf {
			s.refer("charts/app", d, bundled(t, k.other, d, signPredicate))
			return nil
		}, rule: "unverified", text: "it was not made with the key of the policy"},
		"a bundle of another digest": {push: func(s *shelf, d string) []layerOf {
			s.refer("charts/app", d, bundled(t, k.team, remote.Digest([]byte("other")), signPredicate))
			return nil
		}, rule: "unverified", text: "the key has signed another manifest"},
		"a bundle that says something else": {push: func(s *shelf, d string) []layerOf {
			s.refer("charts/app", d, bundled(t, k.team, d, "https://spdx.dev/Document"))
			return nil
		}, rule: "unverified", text: "the chart is not signed"},
		"a thousand bundles": {push: func(s *shelf, d string) []layerOf {
			for i := range 1000 {
				s.refer("charts/app", d, fmt.Sprintf(`[%d]`, i))
			}
			return nil
		}, rule: "unverified", text: "only the first 32 are checked"},
	}
}

// TestCosign has charts in a registry that are signed as they must be, and all that
// people who can write to the registry and do not have the key can do.
func TestCosign(t *testing.T) {
	t.Parallel()
	keys := newCosignKeys(t)
	all := signedCharts(t, keys)
	maps.Copy(all, unsignedCharts(t, keys))
	maps.Copy(all, forgedSignatures(t, keys))
	maps.Copy(all, bundledCharts(t, keys))
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			n, s := newInternet(t), newShelf(t)
			n.host("registry.example.com", s.ServeHTTP)
			archive := chartArchive(t, "app", "1.0.0")
			digest := s.push("charts/app", "1.0.0", chartConfig, layerOf{mediaType: chartLayer, data: string(archive)})
			if layers := c.push(s, digest); layers != nil {
				s.push("charts/app", strings.Replace(digest, ":", "-", 1)+".sig", ocispec.MediaTypeImageConfig, layers...)
			}
			signer := keys.team
			if c.key != nil {
				signer = c.key
			}
			config := Config{Allow: []string{"oci://registry.example.com"}, Cache: Cache{Dir: t.TempDir()}, OnFailure: UseCached}
			ref := remote.Ref{Kind: remote.Chart, URL: "oci://registry.example.com/charts", Chart: "app", Version: "1.0.0"}
			get(t, n.fetcher(config), ref) // into the cache, without a policy

			config.Verify = Policy{{Address: "oci://registry.example.com/charts", Key: publicPEM(t, signer), SignedAs: c.signedAs}}
			f := n.fetcher(config)
			before := len(n.asked("registry.example.com"))
			if c.rule == "" {
				if got := get(t, f, ref); !bytes.Equal(got.Data, archive) {
					t.Error("another chart")
				}
				asked := len(n.asked("registry.example.com"))
				get(t, f, ref)
				if len(n.asked("registry.example.com")) != asked || asked == before {
					t.Error("what was verified is asked for again, or what was not is not")
				}
				return
			}
			recorded := f.Pinned(func(remote.Ref) string { return remote.Digest(archive) })
			for _, fetcher := range []remote.Fetcher{f, f, recorded} {
				refuse(t, fetcher, ref, c.rule, c.text)
			}
			if asked := len(n.asked("registry.example.com")) - before; asked > 3*2*(2*maxSignatures+5) {
				t.Errorf("%d requests", asked)
			}
			config.Offline = true
			offline := n.fetcher(config)
			refuse(t, offline, ref, "offline", "is not in the cache")
			refuse(t, offline.Pinned(func(remote.Ref) string { return remote.Digest(archive) }), ref, "offline", "is not in the cache")
		})
	}
}
