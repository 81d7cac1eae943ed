package fetch

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// Policy lists the charts that must be signed, with their signers. It belongs to
// the platform: files of a repository cannot change it.
type Policy []Signer

// Signer is an entry of a Policy: the signer of charts at and below a URL. Either
// Keyring or Key is set.
type Signer struct {
	// Address is a URL as in Config.Allow. The URL of a chart consists of its
	// repository and its name.
	Address string
	// Keyring contains OpenPGP public keys, binary or armored, one of which must
	// have signed the provenance file of a chart.
	Keyring []byte `json:",omitempty"`
	// Key is a public key (PEM: ECDSA, RSA or Ed25519) with which cosign must have
	// signed the manifest of a chart in a registry.
	Key []byte `json:",omitempty"`
	// SignedAs is the repository in cosign signatures, as a URL as in Config.Allow.
	// Empty means the repository that the chart is fetched from.
	SignedAs string `json:",omitempty"`
}

// policyFile is the format of a policy file.
type policyFile struct {
	Verify []policyEntry `yaml:"verify"`
}

type policyEntry struct {
	Address    string `yaml:"address"`
	Provenance *struct {
		Keyring string `yaml:"keyring"`
	} `yaml:"provenance"`
	Cosign *struct {
		Key      string `yaml:"key"`
		SignedAs string `yaml:"signedAs"`
	} `yaml:"cosign"`
}

// ReadPolicy reads a Policy from a YAML file, with its keys, which are relative to
// its directory. The error joins all findings.
func ReadPolicy(name string) (Policy, error) {
	file := settings.File{Name: name, Rule: "bad-verify-policy", Description: "a policy of --remote-verify"}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, file.Fault(0, "", "the policy cannot be read: "+causeOf(err), "name a readable file")
	}
	root, err := file.Parse(text)
	if err != nil {
		return nil, err
	}
	var contents policyFile
	if root != nil {
		if faults := file.Check(root, contents, nil); len(faults) > 0 {
			return nil, errors.Join(faults...)
		}
		if err := root.Decode(&contents); err != nil {
			return nil, file.Fault(root.Line, "", "the policy cannot be read: "+err.Error(), "correct it")
		}
	}
	if len(contents.Verify) == 0 {
		return nil, file.Fault(0, "verify", "the policy has no entries, so nothing would be verified", "write entries, or drop --remote-verify")
	}
	lines := linesOf(root)
	var policy Policy
	var faults []error
	for i, entry := range contents.Verify {
		fault := func(field, message, remedy string) {
			faults = append(faults, file.Fault(lines[i], strings.TrimSuffix(fmt.Sprintf("verify[%d].%s", i, field), "."), message, remedy))
		}
		if slices.ContainsFunc(policy, func(s Signer) bool { return s.pattern().same(patternOf(entry.Address)) }) {
			fault("address", entry.Address+" has an entry already", "keep one of the two")
		}
		policy = append(policy, entry.signer(name, fault))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return policy, nil
}

// signer reads the key of an entry, and reports problems of the entry to fault.
func (entry policyEntry) signer(policy string, fault func(field, message, remedy string)) Signer {
	signer := Signer{Address: entry.Address}
	at, wrong := parsePattern(entry.Address)
	if wrong != "" {
		fault("address", fmt.Sprintf("%q %s", finding.WithoutCredentials(entry.Address), wrong), "write an address such as https://charts.example.com or oci://ghcr.io/org/*")
	}
	switch {
	case (entry.Provenance == nil) == (entry.Cosign == nil):
		fault("", "an entry needs either provenance or cosign", "write provenance: {keyring: FILE} or cosign: {key: FILE}")
	case entry.Provenance != nil:
		if signer.Keyring, wrong = readKey(policy, entry.Provenance.Keyring, keyringFault); wrong != "" {
			fault("provenance.keyring", wrong, "name a file that gpg --export has written")
		}
	default:
		if signer.Key, wrong = readKey(policy, entry.Cosign.Key, keyFault); wrong != "" {
			fault("cosign.key", wrong, "name the cosign.pub that cosign generate-key-pair or cosign public-key has written")
		}
		if at.scheme != "oci" && at.scheme != "" {
			fault("cosign", "cosign signs artifacts in a registry, and "+entry.Address+" is not one", "write an oci:// address, or provenance")
		}
		signer.SignedAs = entry.Cosign.SignedAs
		if as, wrong := parsePattern(signer.SignedAs); signer.SignedAs != "" && (wrong != "" || as.scheme != "oci") {
			fault("cosign.signedAs", fmt.Sprintf("%q is not the address of a registry", finding.WithoutCredentials(signer.SignedAs)), "write the address that was signed, such as oci://ghcr.io/org/*")
		}
	}
	return signer
}

// linesOf returns the lines of the entries.
func linesOf(root *yaml.Node) []int {
	var lines []int
	for i := 0; i+1 < len(root.Content); i += 2 {
		for _, entry := range root.Content[i+1].Content {
			lines = append(lines, entry.Line)
		}
	}
	return lines
}

// readKey reads a key file of a policy.
func readKey(policy, name string, check func([]byte) string) ([]byte, string) {
	if name == "" {
		return nil, "the file name is missing"
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(policy), name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, name + " cannot be read: " + causeOf(err)
	}
	if fault := check(data); fault != "" {
		return nil, name + " " + fault
	}
	return data, ""
}

// causeOf returns a file error without the file name, which the message contains.
func causeOf(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// keyringFault says why a keyring is invalid. Private keys are refused: the
// keyring is passed to processes that parse untrusted content.
func keyringFault(data []byte) string {
	ring, err := keyring(data)
	switch {
	case err != nil:
		return "is not a keyring of OpenPGP: " + short(err.Error())
	case len(ring) == 0:
		return "contains no key"
	case slices.ContainsFunc(ring, func(e *openpgp.Entity) bool { return e.PrivateKey != nil }):
		return "contains a private key, which is not needed for verification"
	}
	return ""
}

func keyring(data []byte) (openpgp.EntityList, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----BEGIN PGP")) {
		return openpgp.ReadArmoredKeyRing(bytes.NewReader(data))
	}
	return openpgp.ReadKeyRing(bytes.NewReader(data))
}

// keyFault says why a file is not a public key.
func keyFault(data []byte) string {
	if _, err := publicKey(data); err != nil {
		return err.Error()
	}
	return ""
}

// publicKey parses a public key of a type that cosign supports.
func publicKey(data []byte) (any, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, errors.New("is not a public key (PEM, PUBLIC KEY)")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("is not a public key that can be read")
	}
	switch key.(type) {
	case *ecdsa.PublicKey, *rsa.PublicKey, ed25519.PublicKey:
		return key, nil
	}
	return nil, errors.New("is not an ECDSA, RSA or Ed25519 key")
}

// name identifies a policy in the cache; empty if it has no entries.
func (p Policy) name() string {
	if len(p) == 0 {
		return ""
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and lists of strings always encode
	}
	sum := sha256.Sum256(text)
	return "verified by " + hex.EncodeToString(sum[:]) + "\x00"
}

// signer returns the most specific entry for a URL: that with the longest host,
// then with the most path segments, then with the most literal characters. Case and
// the difference between http:// and https:// are ignored, so that no spelling of a
// URL evades its entry.
func (p Policy) signer(u *url.URL) (Signer, bool) {
	var best Signer
	found := false
	for _, s := range p {
		if s.pattern().matches(normalized(u)) && (!found || compareSpecificity(s.pattern(), best.pattern()) > 0) {
			best, found = s, true
		}
	}
	return best, found
}

// pattern returns the address of an entry for comparison.
func (s Signer) pattern() pattern { return patternOf(s.Address) }

func patternOf(address string) pattern {
	u, fault := parseAddress(address)
	if fault != "" {
		return pattern{}
	}
	u = normalized(u)
	return pattern{scheme: u.Scheme, host: hostOf(u), port: portOf(u), segments: segmentsOf(u)}
}

// normalized returns a URL in lower case and with https.
func normalized(u *url.URL) *url.URL {
	plain := &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: strings.ToLower(u.Path)}
	if plain.Scheme == "http" {
		plain.Scheme, plain.Host = "https", strings.TrimSuffix(plain.Host, ":80")
	}
	return plain
}

// same reports whether two patterns are equal; invalid ones are not.
func (p pattern) same(other pattern) bool {
	return p.scheme != "" && p.scheme == other.scheme && p.host == other.host && p.port == other.port && slices.Equal(p.segments, other.segments)
}

// compareSpecificity compares the specificity of two patterns that match the same URL.
func compareSpecificity(a, b pattern) int {
	host := func(p pattern) int {
		if strings.HasPrefix(p.host, "*") {
			return len(p.host)
		}
		return math.MaxInt // a host without a pattern
	}
	letters := func(p pattern) int { return len(strings.ReplaceAll(strings.Join(p.segments, ""), "*", "")) }
	return cmp.Or(cmp.Compare(host(a), host(b)), cmp.Compare(len(a.segments), len(b.segments)), cmp.Compare(letters(a), letters(b)))
}
