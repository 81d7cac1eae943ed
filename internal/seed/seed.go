// Package seed derives what looks random from a secret: the same secret and the same
// identity give the same passwords, keys and identifiers, on every machine and on every
// day, and nobody without the secret can tell them from random ones.
//
// There are three steps, each of them HKDF-SHA256 (RFC 5869):
//
//	seed, Application                   -> Key     one per Application
//	Key, what a value is for            -> Stream  one per value
//	Stream                              -> a text, a number, a private key
//
// Whoever has a Key can compute the values of that Application and nothing of others, so
// that a process which renders one Application needs no more than its Key.
//
// What is derived must never change: values that were derived are in use as passwords of
// databases. The version stands in every info string, and testdata/vectors.txt holds a
// value of every kind. Whatever would change one of them is a new version, which a seed
// names (Parse), and the old version stays.
package seed

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// MinBytes is the length of the shortest seed: as many bytes as a key of a Stream has.
const MinBytes = 32

// Version is the derivation that new seeds name.
const Version = "v1"

// versionLength is the longest version that a seed may name, as in "v12".
const versionLength = 3

// Seed is the secret from which the Keys of all Applications are derived.
type Seed struct {
	extracted []byte // of HKDF
}

// Parse reads the content of a seed file: at least MinBytes bytes, before which the
// version of the derivation may stand, as in "v1:". A line end behind it does not count,
// because editors and shells add one. Errors do not show any of it.
func Parse(content []byte) (Seed, error) {
	secret := bytes.TrimRight(content, "\r\n")
	if version, rest, found := bytes.Cut(secret, []byte(":")); found && isVersion(version) {
		if string(version) != Version {
			return Seed{}, fmt.Errorf("the seed names a version of the derivation that is unknown to this program, which knows %s; fix: run the version of Ladder that made the seed, or a later one", Version)
		}
		secret = rest
	}
	if len(secret) < MinBytes {
		return Seed{}, fmt.Errorf("the seed has %d bytes and needs at least %d; fix: make one with cmp seed new", len(secret), MinBytes)
	}
	extracted, err := hkdf.Extract(sha256.New, secret, []byte("ladder seed "+Version))
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

// New writes a seed of random bytes in the form that Parse reads.
func New(random [MinBytes]byte) string {
	return Version + ":" + hex.EncodeToString(random[:]) + "\n"
}

// Fingerprint tells two seeds apart and does not help to guess either. It is for logs, so
// that replicas can be compared.
func (s Seed) Fingerprint() string {
	return hex.EncodeToString(expand(s.extracted, "fingerprint", nil)[:4])
}

// Application is whom values are for, as Argo CD says: nothing that stands in a repository
// is part of it.
type Application struct {
	// Project is the AppProject.
	Project string
	// Name is the Application's name with the namespace before it that Argo CD puts there
	// when the Application lives outside of Argo CD's own ("team-a_shop").
	Name string
	// Namespace is that of the destination.
	Namespace string
}

// Key derives what all values of an Application are derived from.
func (s Seed) Key(of Application) Key {
	var k Key
	copy(k.secret[:], expand(s.extracted, "application", []string{of.Project, of.Name, of.Namespace}))
	return k
}

// KeySize is the length of a Key in bytes.
const KeySize = 32

// Key is the secret of one Application. Printed it shows nothing.
type Key struct {
	secret [KeySize]byte
}

// KeyFrom is the Key with the Bytes of another.
func KeyFrom(b []byte) (Key, error) {
	var k Key
	if len(b) != KeySize {
		return k, fmt.Errorf("the key of an Application has %d bytes, want %d", len(b), KeySize)
	}
	copy(k.secret[:], b)
	return k, nil
}

// Bytes are for the process that is to have the Key.
func (k Key) Bytes() []byte { return bytes.Clone(k.secret[:]) }

// String keeps a Key out of logs.
func (k Key) String() string { return "Key" }

// GoString keeps it out of them, too.
func (k Key) GoString() string { return "Key" }

// Stream derives the Stream of one value. identity is what the value is for, in parts:
// with any other list of parts, the Stream has nothing in common with this one.
func (k Key) Stream(identity ...string) *Stream {
	return newStream(expand(k.secret[:], "value", identity))
}

// expand derives a secret of KeySize bytes. Parts go into the info string with their
// lengths, so that two lists never read alike.
func expand(secret []byte, purpose string, parts []string) []byte {
	info := []byte("ladder seed " + Version + " " + purpose)
	for _, p := range parts {
		info = binary.BigEndian.AppendUint64(info, uint64(len(p)))
		info = append(info, p...)
	}
	out, err := hkdf.Expand(sha256.New, secret, string(info), KeySize)
	if err != nil {
		panic(err) // only more than 255 hashes are too much
	}
	return out
}
