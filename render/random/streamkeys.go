package random

import (
	//lint:ignore SA1019 charts can ask for such keys
	"crypto/dsa"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"math/big"

	"filippo.io/keygen"
)

// Since Go 1.26, its own functions ignore the source of randomness, and before,
// each release could generate other keys. C2SP's det-keygen specifies how to derive
// RSA and ECDSA keys from a secret, with test vectors: primes are candidates of an
// HMAC_DRBG, tried in order as in FIPS 186-5 A.1.3, so a key is as strong as the
// secret, which is 256 bits of a Stream.

// RSA returns a private key of 2048 bits or more.
func (s *Stream) RSA(bits int) (*rsa.PrivateKey, error) {
	return keygen.RSA(bits, s.Bytes(KeySize))
}

// ECDSA returns a private key on P-256.
func (s *Stream) ECDSA() (*ecdsa.PrivateKey, error) {
	return keygen.ECDSA(elliptic.P256(), s.Bytes(KeySize))
}

// Ed25519 returns a private key, which by definition is a hash of its seed (RFC
// 8032).
func (s *Stream) Ed25519() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(s.Bytes(ed25519.SeedSize))
}

// The DSA parameters shared by all keys, as FIPS 186-4 allows: they are public, and
// finding them would take as long as the rest of many charts. They were not chosen:
// crypto/dsa generates them for a Stream whose key is the SHA-256 hash of the text
// "ladder dsa parameters v1".
var dsaParameters = dsa.Parameters{
	P: number("ed3e5f892d5252ec4a6609260528d7e28f564c28e68c554b8c050dfebff60488835e859541e9ed22173395e038a62677" +
		"c71f5476699c926b30ae6e5d9cc4deb7f859023b4ae03a7a792d52f05b9b561fff06d0ce98481582284b6c81aaefb3a9" +
		"0cd28ba15bd16446a321efdd3675bcc06c75a8189abdbbaf1c7f595557021e7597b267cd231715d3a36a7df0b83b4b14" +
		"dfbfa53002a12626db5fe7621ea7ca021d3899daed61a827947bf67b889d3c231c4145dae5117037e49aafb4dde27ef8" +
		"1daa22c951a3dc96af14ce10e1bce272856b5ae337bf8a4456a197aec62ab945836bb062e022fe97caf7b137ede78683" +
		"b094543f0ebac611136aab623a733723"),
	Q: number("bec11b57777b8f0352080b7b81b219e8840d158a221c1737c26c6c76cbc406c9"),
	G: number("2aaf772252f5af09cdc99283941525ffcb83ba8f8f1b4d4f5816173543cbd75b18d5f5bee8781ad64e8b206d70afa54c" +
		"dc12f328ff8aab145160ee2adf3cba4b90692be939feabe557c5865b73a700f87d4294afc66f4785b6c2d27667f57bc8" +
		"459d152fc2461ca768b22322364e8e861c8d1368f4219a36c22d0d4aefb835a9703f2e2fc840f22c331508b255e1a616" +
		"4e81ef8614c499b514fb588a311e7ec39749bc1347ebf42d25084462c86043b841b728da6b48adc27da74d9651db023f" +
		"9f8acd7430fad798241ceee5cc80b87953dcd5499d0d6e41d8123e6523554f278e873ed4094de9a31cb579276b9a3cd6" +
		"376402a483681f8e042d884a186e0f6a"),
}

func number(digits string) *big.Int {
	n, ok := new(big.Int).SetString(digits, 16)
	if !ok {
		panic("not a number: " + digits)
	}
	return n
}

// DSA returns a private key of 2048 and 256 bits. X is from 1 to Q-1, computed from
// 64 more bits than Q has, modulo Q-1 (FIPS 186-4 B.1.1).
func (s *Stream) DSA() *dsa.PrivateKey {
	key := &dsa.PrivateKey{PublicKey: dsa.PublicKey{Parameters: dsaParameters}}
	one := big.NewInt(1)
	key.X = new(big.Int).SetBytes(s.Bytes((key.Q.BitLen() + 64) / 8))
	key.X.Mod(key.X, new(big.Int).Sub(key.Q, one)).Add(key.X, one)
	key.Y = new(big.Int).Exp(key.G, key.X, key.P)
	return key
}
