package random

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
)

// Stream is an endless sequence of bytes, the key stream of AES-256 in counter
// mode. Each value is read from the start of its own Stream.
type Stream struct {
	cipher cipher.Stream
}

func newStream(key []byte) *Stream {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key length is valid
	}
	return &Stream{cipher.NewCTR(block, make([]byte, aes.BlockSize))}
}

// Read fills p; it never fails.
func (s *Stream) Read(p []byte) (int, error) {
	clear(p)
	s.cipher.XORKeyStream(p, p)
	return len(p), nil
}

// Bytes returns the next bytes.
func (s *Stream) Bytes(count int) []byte {
	p := make([]byte, count)
	s.cipher.XORKeyStream(p, p)
	return p
}

// Below returns a uniformly distributed number from 0 to most-1: numbers that would
// favor small ones are rejected. most must be positive.
func (s *Stream) Below(most uint64) uint64 {
	var b [8]byte
	// 2^64 modulo most: the number of values to reject at the top.
	rest := -most % most
	for {
		s.Read(b[:])
		if n := binary.BigEndian.Uint64(b[:]); n <= ^rest {
			return n % most
		}
	}
}

// The alphabets of Helm's functions.
const (
	digits  = "0123456789"
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	others  = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

	// Numeric, Alpha, AlphaNum and ASCII are what randNumeric, randAlpha, randAlphaNum
	// and randAscii choose from.
	Numeric  = digits
	Alpha    = letters
	AlphaNum = digits + letters
	ASCII    = digits + letters + others
)

// Text returns count characters of an alphabet; none if count is negative, as in
// Helm.
func (s *Stream) Text(alphabet string, count int) string {
	text := make([]byte, max(count, 0))
	for i := range text {
		text[i] = alphabet[s.Below(uint64(len(alphabet)))]
	}
	return string(text)
}

// Base64 returns count bytes in base64, as randBytes does.
func (s *Stream) Base64(count int) string {
	return base64.StdEncoding.EncodeToString(s.Bytes(count))
}

// UUID returns a UUID of version 4 (RFC 9562).
func (s *Stream) UUID() string {
	b := s.Bytes(16)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	text := hex.EncodeToString(b)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// Shuffle returns the characters of a text in random order, uniformly distributed.
func (s *Stream) Shuffle(text string) string {
	runes := []rune(text)
	for i := len(runes) - 1; i > 0; i-- {
		j := s.Below(uint64(i) + 1)
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}
