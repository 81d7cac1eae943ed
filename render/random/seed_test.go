package random

import (
	//lint:ignore SA1019 charts can ask for such keys
	"crypto/dsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// known is a Key that everybody knows.
func known(t *testing.T) Key {
	t.Helper()
	var random [MinSeedBytes]byte
	for i := range random {
		random[i] = byte(i)
	}
	s, err := ParseSeed([]byte(NewSeed(random)))
	if err != nil {
		t.Fatal(err)
	}
	return s.Key(Owner{"default", "shop", "shop"})
}

// hashed is for what is too long to be read.
func hashed(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// TestSeedVectors holds what is derived against values that are in use by now. There is no
// way to update the file: a difference means that every database behind a seed would get
// another password. What is to be derived otherwise gets a version of its own.
func TestSeedVectors(t *testing.T) {
	key := known(t)
	stream := func(name string) *Stream { return key.Stream("release", "chart/templates/secret.yaml", name, "0") }
	must := func(text string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	der := func(key any, marshal func() []byte, err error) string {
		t.Helper()
		if err != nil {
			t.Fatalf("%T: %v", key, err)
		}
		return hashed(marshal())
	}
	rsa, rsaErr := stream("rsa").RSA(2048)
	ecdsa, ecdsaErr := stream("ecdsa").ECDSA()
	dsaKey := stream("dsa").DSA()
	var random [MinSeedBytes]byte
	s, err := ParseSeed([]byte(NewSeed(random)))
	got := []string{
		"fingerprint " + must(s.Fingerprint(), err),
		"key " + hex.EncodeToString(key.Bytes()),
		"bytes " + hex.EncodeToString(stream("bytes").Bytes(48)),
		"alphanum " + stream("alphanum").Text(AlphaNum, 40),
		"alpha " + stream("alpha").Text(Alpha, 40),
		"numeric " + stream("numeric").Text(Numeric, 40),
		"ascii " + stream("ascii").Text(ASCII, 40),
		"base64 " + stream("base64").Base64(32),
		"uuid " + stream("uuid").UUID(),
		"shuffle " + stream("shuffle").Shuffle("abcdefghijklmnopqrstuvwxyzäöü"),
		fmt.Sprint("below ", stream("below").Below(1_000_000_007)),
		"bcrypt " + must(stream("bcrypt").bcrypt("correct horse", bcrypt.DefaultCost)),
		"rsa " + der(rsa, func() []byte { return x509.MarshalPKCS1PrivateKey(rsa) }, rsaErr),
		"ecdsa " + der(ecdsa, func() []byte { b, _ := x509.MarshalECPrivateKey(ecdsa); return b }, ecdsaErr),
		"ed25519 " + hashed(stream("ed25519").Ed25519()),
		"dsa " + der(dsaKey, func() []byte {
			b, _ := asn1.Marshal([]*big.Int{dsaKey.P, dsaKey.Q, dsaKey.G, dsaKey.Y, dsaKey.X})
			return b
		}, nil),
	}
	want, err := os.ReadFile("testdata/seedvectors.txt")
	if err != nil {
		t.Error(err)
	}
	if text := strings.Join(got, "\n") + "\n"; text != string(want) {
		t.Errorf("derived\n%s\nwant\n%s", text, want)
	}
}

func TestParseSeed(t *testing.T) {
	long := strings.Repeat("s3cr", 8)
	plain, err := ParseSeed([]byte(long))
	if err != nil {
		t.Fatal(err)
	}
	for _, same := range []string{long + "\n", long + "\r\n", "v1:" + long} {
		if s, err := ParseSeed([]byte(same)); err != nil || s.Fingerprint() != plain.Fingerprint() {
			t.Errorf("%q is another seed: %v", same, err)
		}
	}
	if s, err := ParseSeed([]byte(long + " ")); err != nil || s.Fingerprint() == plain.Fingerprint() {
		t.Errorf("a seed with one character more is the same: %v", err)
	}
	for content, want := range map[string]string{
		"":                    "has 0 bytes and needs at least 32",
		long[1:]:              "has 31 bytes and needs at least 32",
		"v1:" + long[1:]:      "has 31 bytes and needs at least 32",
		"v2:" + long:          "is unknown to this program",
		long[1:] + "\n\n\r\n": "has 31 bytes",
	} {
		_, err := ParseSeed([]byte(content))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr") {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}

// TestIdentities: any difference in whom or what a value is for makes another value, also
// one in where a part ends.
func TestIdentities(t *testing.T) {
	s, err := ParseSeed([]byte(strings.Repeat("x", 32)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	add := func(what, value string) {
		if before, known := seen[value]; known {
			t.Errorf("%s and %s are the same", before, what)
		}
		seen[value] = what
	}
	for _, a := range []Owner{{"p", "a", "n"}, {"q", "a", "n"}, {"p", "b", "n"}, {"p", "a", "m"}, {"pa", "", "n"},
		{"", "pa", "n"}, {"p", "an", ""}} {
		add(fmt.Sprint("the key of ", a), string(s.Key(a).Bytes()))
	}
	key := s.Key(Owner{"p", "a", "n"})
	for _, id := range [][]string{nil, {""}, {"", ""}, {"a"}, {"a", "b"}, {"ab"}, {"a", "b", ""}, {"b", "a"}} {
		add(fmt.Sprintf("the value of %q", id), string(key.Stream(id...).Bytes(16)))
	}
	other, err := ParseSeed([]byte(strings.Repeat("y", 32)))
	if err != nil {
		t.Fatal(err)
	}
	add("that of another seed", string(other.Key(Owner{"p", "a", "n"}).Bytes()))
}

func TestKeysDoNotShow(t *testing.T) {
	key := known(t)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, key); text != "Key" {
			t.Errorf("%s shows %s", format, text)
		}
	}
	again, err := KeyFrom(key.Bytes())
	if err != nil || again != key {
		t.Errorf("not the same key: %v", err)
	}
	if _, err := KeyFrom(key.Bytes()[1:]); err == nil {
		t.Error("a short key is taken")
	}
}

// TestDistribution counts how often characters come and compares with what chance gives,
// by a chi-square: each character has the same share.
func TestDistribution(t *testing.T) {
	key := known(t)
	for name, alphabet := range map[string]string{"numeric": Numeric, "alpha": Alpha, "alphanum": AlphaNum, "ascii": ASCII} {
		const count = 200_000
		text := key.Stream("distribution", name).Text(alphabet, count)
		if len(text) != count {
			t.Errorf("%s: %d characters", name, len(text))
		}
		seen := map[rune]float64{}
		for _, c := range text {
			seen[c]++
		}
		if len(seen) != len(alphabet) {
			t.Errorf("%s: %d of %d characters", name, len(seen), len(alphabet))
		}
		mean, sum := count/float64(len(alphabet)), 0.0
		for _, n := range seen {
			sum += (n - mean) * (n - mean) / mean
		}
		// The mean of a chi-square is its degrees of freedom, its variance twice that;
		// five times its deviation is out of reach, and so is a sum near 0.
		free := float64(len(alphabet) - 1)
		if far := (sum - free) * (sum - free) / (2 * free); far > 25 {
			t.Errorf("%s: chi-square %.1f of %.0f degrees of freedom", name, sum, free)
		}
	}
	orders := map[string]int{}
	for i := range 6000 {
		orders[key.Stream("order", fmt.Sprint(i)).Shuffle("abc")]++
	}
	for order, n := range orders {
		if len(orders) != 6 || n < 850 || n > 1150 {
			t.Errorf("%d of 6 orders; %s came %d times of 6000", len(orders), order, n)
		}
	}
	for _, most := range []uint64{1, 2, 3, 1<<63 + 1, 1<<64 - 1} {
		s := key.Stream("below", fmt.Sprint(most))
		for range 1000 {
			if n := s.Below(most); n >= most {
				t.Errorf("%d is not below %d", n, most)
			}
		}
	}
}

func TestSeedForms(t *testing.T) {
	key := known(t)
	uuid := key.Stream().UUID()
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(uuid) {
		t.Errorf("%s is not a UUID of version 4", uuid)
	}
	for count, want := range map[int]int{-1: 0, 0: 0, 1: 1, 10_000: 10_000} {
		if text := key.Stream().Text(Alpha, count); len(text) != want {
			t.Errorf("%d characters, want %d", len(text), want)
		}
	}
	hash, err := key.Stream().bcrypt("pass", bcrypt.MinCost)
	if err != nil || bcrypt.CompareHashAndPassword([]byte(hash), []byte("pass")) != nil {
		t.Errorf("%s is not a hash of the password: %v", hash, err)
	}
	if _, err := key.Stream().bcrypt(strings.Repeat("x", 73), bcrypt.MinCost); !errors.Is(err, bcrypt.ErrPasswordTooLong) {
		t.Errorf("a password of 73 bytes: %v", err)
	}
}

// TestDSA: the parameters are primes, one of which divides the other less one, and a
// number of that order; so keys sign what others verify.
func TestDSA(t *testing.T) {
	key := known(t).Stream("dsa").DSA()
	one := big.NewInt(1)
	if !key.P.ProbablyPrime(20) || !key.Q.ProbablyPrime(20) || key.P.BitLen() != 2048 || key.Q.BitLen() != 256 {
		t.Error("P and Q are not primes of 2048 and 256 bits")
	}
	if rest := new(big.Int).Mod(new(big.Int).Sub(key.P, one), key.Q); rest.Sign() != 0 {
		t.Error("Q does not divide P-1")
	}
	if key.G.Cmp(one) <= 0 || new(big.Int).Exp(key.G, key.Q, key.P).Cmp(one) != 0 {
		t.Error("G is not of order Q")
	}
	digest := sha256.Sum256([]byte("message"))
	r, s, err := dsa.Sign(rand.Reader, key, digest[:])
	if err != nil || !dsa.Verify(&key.PublicKey, digest[:], r, s) {
		t.Errorf("not a key that signs: %v", err)
	}
}
