package repository

import (
	"encoding/binary"
	"hash/maphash"
	"io/fs"
)

// Digest identifies a reply to a question. Replies with equal digests are
// considered equal.
//
// It is valid only within this process, whose seeds are unknown to others. It is
// not a cryptographic hash: whoever found two files with the same digest would get
// the response for the other file, but only in one directory of one Application,
// since results are stored by both. In return it takes a tenth of the time of
// SHA-256, which would be half the cost of a cached response.
type Digest struct {
	sums  [len(seeds)]uint64
	size  int
	fault bool
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// DigestSize is the size of a Digest in memory, in bytes.
const DigestSize = 32

func digestOfBytes(b []byte) Digest {
	d := Digest{size: len(b)}
	for i, seed := range seeds {
		d.sums[i] = maphash.Bytes(seed, b)
	}
	return d
}

// Digest returns the digest of a reply, without what differs between checkouts.
func (r Reply) Digest() Digest {
	if r.Data != nil {
		return digestOfBytes(r.Data)
	}
	var b []byte
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	info := func(i FileInfo) {
		text(i.Base)
		b = binary.AppendVarint(b, i.Len)
		b = binary.AppendUvarint(b, uint64(i.Bits))
	}
	if r.Fault != nil {
		b = append(b, byte(r.Fault.Kind))
		text(r.Fault.Text)
		d := digestOfBytes(b)
		d.fault = true
		return d
	}
	for _, e := range r.Entries {
		// The size of a file is part of its own reply.
		info(FileInfo{Base: e.Base, Bits: e.Bits})
	}
	if r.Info != (FileInfo{}) {
		info(r.Info)
	}
	b = append(b, r.Target...)
	return digestOfBytes(b)
}

// digester is a repository that caches digests of its replies.
type digester interface {
	digest(Question) Digest
}

func digestOf(repo fs.FS, q Question) Digest {
	if known, ok := repo.(digester); ok {
		return known.digest(q)
	}
	return Ask(repo, q).Digest()
}
