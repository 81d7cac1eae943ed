package random

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// MinSeedBytes is the minimum length of a seed: that of a Stream's key.
const MinSeedBytes = 32

// SeedVersion is the derivation version of new seeds.
const SeedVersion = "v1"

// versionLength is the maximum length of a version, as in "v12".
const versionLength = 3

// Seed is the secret from which the Keys of all Applications are derived: the same secret and the
// same identity give the same passwords, keys and identifiers, on every machine and on every day,
// and without the secret they cannot be distinguished from random ones.
//
// There are three steps, each of them HKDF-SHA256 (RFC 5869):
//
//	seed, Application                   -> Key     one per Application
//	Key, what a value is for            -> Stream  one per value
//	Stream                              -> a text, a number, a private key
//
// With a Key, only the values of that Application can be computed, so a process
// that renders one Application needs only its Key.
//
// Derived values must never change: they are in use as passwords of databases.
// Every info string contains the version, and testdata/seedvectors.txt contains a value
// of every kind. A change of any value requires a new version, which a seed names
// (ParseSeed), and the old version is kept.
type Seed struct {
	extracted []byte // by HKDF
}

// ParseSeed parses the content of a seed file: at least MinSeedBytes bytes, optionally
// after the version of the derivation, as in "v1:". A trailing line break is
// ignored, because editors and shells add one. Errors do not contain any of it.
func ParseSeed(content []byte) (Seed, error) {
	secret := bytes.TrimRight(content, "\r\n")
	if version, rest, found := bytes.Cut(secret, []byte(":")); found && isVersion(version) {
		if string(version) != SeedVersion {
			return Seed{}, fmt.Errorf("the seed names a version of the derivation that is unknown to this program, which knows %s; "+
				"fix: run the version of Ladder that created the seed, or a later one", SeedVersion)
		}
		secret = rest
	}
	if len(secret) < MinSeedBytes {
		return Seed{}, fmt.Errorf("the seed has %d bytes and needs at least %d; fix: make one with cmp seed", len(secret), MinSeedBytes)
	}
	extracted, err := hkdf.Extract(sha256.New, secret, []byte("ladder seed "+SeedVersion))
	if err != nil {
		return Seed{}, fmt.Errorf("derive from the seed: %w", err)
	}
	return Seed{extracted}, nil
}

func isVersion(text []byte) bool {
	if len(text) < 2 || len(text) > versionLength || text[0] != 'v' {
		return false
	}
	for _, c := range text[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// NewSeed formats random bytes as a seed for Parse.
func NewSeed(random [MinSeedBytes]byte) string {
	return SeedVersion + ":" + hex.EncodeToString(random[:]) + "\n"
}

// Fingerprint identifies a seed without helping to guess it. It is for logs, to
// compare replicas.
func (s Seed) Fingerprint() string {
	return hex.EncodeToString(expand(s.extracted, "fingerprint", nil)[:4])
}

// Owner is the Application that owns secrets, as set by Argo CD: nothing from the
// repository is part of it.
type Owner struct {
	// Project is the AppProject.
	Project string
	// Name is the Application's name with the namespace that Argo CD adds as a
	// prefix if the Application is outside Argo CD's own ("team-a_shop").
	Name string
	// Namespace is the destination namespace.
	Namespace string
}

// Key derives the secret of an Application.
func (s Seed) Key(of Owner) Key {
	var k Key
	copy(k.secret[:], expand(s.extracted, "application", []string{of.Project, of.Name, of.Namespace}))
	return k
}

// KeySize is the length of a Key in bytes.
const KeySize = 32

// Key is the secret of an Application. Its printed form reveals nothing.
type Key struct {
	secret [KeySize]byte
}

// KeyFrom returns the Key with the given Bytes.
func KeyFrom(b []byte) (Key, error) {
	var k Key
	if len(b) != KeySize {
		return k, fmt.Errorf("the key of an Application has %d bytes, want %d", len(b), KeySize)
	}
	copy(k.secret[:], b)
	return k, nil
}

// Bytes returns the Key for sending it to another process.
func (k Key) Bytes() []byte { return bytes.Clone(k.secret[:]) }

// String keeps a Key out of logs.
func (k Key) String() string { return "Key" }

// GoString keeps it out of them, too.
func (k Key) GoString() string { return "Key" }

// Stream derives the Stream of a value. identity is the purpose of the value, in
// parts; Streams with different lists are independent.
func (k Key) Stream(identity ...string) *Stream {
	return newStream(expand(k.secret[:], "value", identity))
}

// expand derives a secret of KeySize bytes. The info string contains the parts with
// their lengths, so that it is unambiguous.
func expand(secret []byte, purpose string, parts []string) []byte {
	info := []byte("ladder seed " + SeedVersion + " " + purpose)
	for _, p := range parts {
		info = binary.BigEndian.AppendUint64(info, uint64(len(p)))
		info = append(info, p...)
	}
	out, err := hkdf.Expand(sha256.New, secret, string(info), KeySize)
	if err != nil {
		panic(err) // fails only for more than 255 hashes
	}
	return out
}
