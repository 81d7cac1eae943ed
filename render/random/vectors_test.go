package random

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// vectors are calls of every function that is random or reads the clock, and of
// derivePassword, which charts use in their place.
var vectors = []string{
	`randAlphaNum 20`, `randAlpha 20`, `randNumeric 20`, `randAscii 20`, `randInt 0 1000000000`, `randBytes 20`, `uuidv4`,
	`shuffle "abcdefghijklmnopqrstuvwxyz"`,
	`genPrivateKey "rsa"`, `genPrivateKey "ecdsa"`, `genPrivateKey "ed25519"`, `genPrivateKey "dsa"`,
	`genCA "ca" 365`, `genCAWithKey "ca" 365 (genPrivateKey "ecdsa")`, `genCAWithKey "ca" 365 (genPrivateKey "ed25519")`,
	`genSelfSignedCert "a" (list "10.0.0.1") (list "a.example") 90`, `genSelfSignedCertWithKey "a" nil nil 90 (genPrivateKey "ecdsa")`,
	`genSignedCert "a" nil (list "a.example") 90 (genCA "ca" 365)`,
	`genSignedCertWithKey "a" nil nil 90 (genCAWithKey "ca" 365 (genPrivateKey "ecdsa")) (genPrivateKey "ed25519")`,
	`bcrypt "open"`, `htpasswd "user" "open"`, `encryptAES "open" "plain"`, `derivePassword 1 "long" "open" "user" "example.com"`,
	`now`, `ago (toDate "2006" "2020")`, `durationRound (toDate "2006" "2020")`, `date "2006-01-02 15:04:05" ""`,
	`dateInZone "2006-01-02 15:04:05" "" "UTC"`, `date_in_zone "15:04:05" "" "UTC"`, `htmlDate ""`, `htmlDateInZone "" "UTC"`,
}

// TestVectors holds what templates get against values that are in use by now, as that of
// package seed does for what these are made of. The file cannot be updated by a flag: a
// difference means that Applications would get other passwords and certificates. What is
// to be derived otherwise gets a version of its own.
func TestVectors(t *testing.T) {
	zone := time.Local // of date and its like
	t.Cleanup(func() { time.Local = zone })
	time.Local = time.UTC
	from := source(t, "shop", today)
	from.Keys = NewKeys(len(vectors)) // two authorities are the same
	var got []string
	for _, call := range vectors {
		c := New(from).Chart(shop)
		value := run(t, c, "shop/templates/secret.yaml", "{{ "+call+" }}")
		if strings.Contains(value, "-----BEGIN") { // too long to be read
			value = fmt.Sprintf("%x", sha256.Sum256([]byte(value)))
		}
		got = append(got, call+": "+value)
	}
	want, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Error(err)
	}
	if text := strings.Join(got, "\n") + "\n"; text != string(want) {
		t.Errorf("derived\n%s\nwant\n%s", text, want)
	}
	for _, name := range slices.Concat(random, clock, []string{"derivePassword"}) {
		if !slices.ContainsFunc(vectors, func(call string) bool { return call == name || strings.HasPrefix(call, name+" ") }) {
			t.Errorf("no vector of %s", name)
		}
	}
}
