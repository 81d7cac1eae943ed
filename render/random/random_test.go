package random

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"golang.org/x/crypto/bcrypt"

	"github.com/ladder-cmp/ladder/internal/golden"
)

var (
	today = time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)
	shop  = Release{Chart: "shop", Name: "shop", Namespace: "shop", Content: func() []byte { return []byte("content") }}
)

// derived keeps keys and hashes for all tests: TestVectors has what they are.
var derived = NewKeys(1000)

// source is one of an Application with a seed.
func source(t *testing.T, application string, now time.Time) Source {
	t.Helper()
	s, err := ParseSeed([]byte(strings.Repeat("0123456789abcdef", 2)))
	if err != nil {
		t.Fatal(err)
	}
	key := s.Key(Owner{Project: "default", Name: application, Namespace: "shop"})
	return Source{Key: &key, Now: now, Keys: derived}
}

// run renders templates one after the other, as the engine does: name, text.
func run(t *testing.T, c *Chart, templates ...string) string {
	t.Helper()
	funcs := sprig.TxtFuncMap()
	maps.Copy(funcs, c.Functions())
	var b strings.Builder
	for i := 0; i < len(templates); i += 2 {
		c.Enter(templates[i])
		parsed, err := template.New("").Funcs(funcs).Parse(templates[i+1])
		if err == nil {
			err = parsed.Execute(&b, map[string]any{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// everything calls each function once.
const everything = `{{ randAlphaNum 20 }} {{ randAlpha 20 }} {{ randNumeric 20 }} {{ randAscii 20 }} {{ randBytes 20 }} {{ randInt 0 1000000000 }}
{{ uuidv4 }} {{ shuffle "abcdefghijklmnopqrstuvwxyz" }} {{ bcrypt "p" }} {{ htpasswd "u" "p" }} {{ encryptAES "p" "plain" }}
{{ genPrivateKey "ecdsa" }}{{ genPrivateKey "ed25519" }}{{ genPrivateKey "dsa" }}{{ genCAWithKey "ca" 365 (genPrivateKey "ecdsa") }}
{{ $ca := genCA "ca" 365 }}{{ $ca.Cert }}{{ (genSignedCert "a" nil (list "a.example") 90 $ca).Cert }}{{ (genSignedCertWithKey "b" nil nil 90 $ca (genPrivateKey "ecdsa")).Cert }}
{{ (genSelfSignedCert "c" (list "10.0.0.1") nil 90).Cert }}{{ (genSelfSignedCertWithKey "d" nil nil 90 (genPrivateKey "ed25519")).Cert }}
{{ now }} {{ ago (toDate "2006" "2020") }} {{ durationRound (toDate "2006" "2020") }} {{ date "2006-01-02" "" }} {{ dateInZone "15:04:05" "" "UTC" }}
{{ date_in_zone "15:04:05" "" "UTC" }} {{ htmlDate "" }} {{ htmlDateInZone "" "UTC" }}`

// TestSameEveryTime: renderings of an Application are the same, also at another time within
// a period and beside others.
func TestSameEveryTime(t *testing.T) {
	first := run(t, New(source(t, "shop", today)).Chart(shop), "a", everything)
	again := run(t, New(source(t, "shop", today.Add(time.Hour))).Chart(shop), "a", everything)
	if first != again {
		t.Errorf("the second rendering differs:\n%s\n%s", first, again)
	}
	for name := range New(source(t, "shop", today)).Chart(shop).Functions() {
		if name != "buildCustomCert" && !strings.Contains(everything, name) {
			t.Errorf("nothing calls %s here", name)
		}
	}
	for _, name := range slices.Concat(random, clock) {
		if !strings.Contains(everything, name) {
			t.Errorf("nothing calls %s here", name)
		}
	}
}

// TestDifferent: no two draws give the same, and neither do two Applications, releases,
// templates, charts or parts of a component.
func TestDifferent(t *testing.T) {
	seen := map[string]string{}
	add := func(what, values string) {
		for i, v := range strings.Fields(values) {
			if before, known := seen[v]; known {
				t.Errorf("%s, value %d is that of %s", what, i, before)
			}
			seen[v] = what
		}
	}
	const draws = `{{ randAlphaNum 16 }} {{ randAlphaNum 16 }} {{ randAlphaNum 17 }} {{ randAlpha 16 }} {{ uuidv4 }} {{ uuidv4 }} ` +
		`{{ genPrivateKey "ecdsa" | sha256sum }} {{ genPrivateKey "ecdsa" | sha256sum }} {{ bcrypt "p" }} `
	of := func(application string) *Rendering {
		from := source(t, application, today)
		from.OnlyCompared = true
		return New(from)
	}
	r := of("shop")
	add("a chart", run(t, r.Chart(shop), "a", draws+`{{ bcrypt "p" }}`, "b", draws))
	add("the same chart again", run(t, r.Chart(shop), "a", draws))
	add("it in a part", run(t, r.Part("db").Chart(shop), "a", draws))
	add("another application", run(t, of("shop2").Chart(shop), "a", draws))
	for _, other := range []Release{{Chart: "other", Name: "shop", Namespace: "shop"}, {Chart: "shop", Name: "other", Namespace: "shop"},
		{Chart: "shop", Name: "shop", Namespace: "other"}} {
		add(fmt.Sprint(other), run(t, r.Chart(other), "a", draws))
	}
}

// TestStays: what is drawn in other templates, and with other arguments or by other
// functions in the same, does not touch a value.
func TestStays(t *testing.T) {
	of := func(templates ...string) string {
		return run(t, New(source(t, "shop", today)).Chart(shop), templates...)
	}
	alone := of("b", `{{ randAlphaNum 16 }}`)
	if got := of("a", `{{ $_ := randAlphaNum 16 }}`, "b",
		`{{ $_ := randAlphaNum 8 }}{{ $_ := randAlpha 16 }}{{ randAlphaNum 16 }}`); got != alone {
		t.Errorf("%s became %s", alone, got)
	}
	if got := of("b", `{{ $_ := randAlphaNum 16 }}{{ randAlphaNum 16 }}`); got == alone {
		t.Error("the second call gives what the first does")
	}
}

func TestForms(t *testing.T) {
	c := New(source(t, "shop", today)).Chart(shop)
	for call, form := range map[string]string{
		`{{ randAlphaNum 12 }}`:                              `^[0-9A-Za-z]{12}$`,
		`{{ randAlpha 12 }}`:                                 `^[A-Za-z]{12}$`,
		`{{ randNumeric 12 }}`:                               `^[0-9]{12}$`,
		`{{ randAscii 12 }}`:                                 `^[ -~]{12}$`,
		`{{ randAlpha 0 }}{{ randAlpha -3 }}`:                `^$`,
		`{{ randBytes 32 }}`:                                 `^[0-9A-Za-z+/]{43}=$`,
		`{{ randInt 5 7 }}`:                                  `^[56]$`,
		`{{ shuffle "aab" }}`:                                `^(aab|aba|baa)$`,
		`{{ htpasswd "a:b" "p" }}`:                           `^invalid username: a:b$`,
		`{{ encryptAES "p" "" }}`:                            `^$`,
		`{{ encryptAES "p" "plain" | decryptAES "p" }}`:      `^plain$`,
		`{{ bcrypt (repeat 73 "x") }}`:                       `^failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes$`,
		`{{ genPrivateKey "x" }}`:                            `^Unknown type x$`,
		`{{ kindOf (genCA "ca" 1) }}`:                        `^struct$`,
		`{{ ago "no date" }} {{ durationRound "90m" }}`:      `^0s 1h$`,
		`{{ date "2006" 0 }} {{ now | date "2006" }}`:        `^1970 2024$`,
		`{{ eq (now | unixEpoch) (now | unixEpoch) }}`:       `^true$`,
		`{{ (now | date "2006-01-02") | eq (htmlDate "") }}`: `^true$`,
	} {
		if got := run(t, c, "a", call); !regexp.MustCompile(form).MatchString(got) {
			t.Errorf("%s: %q, want %s", call, got, form)
		}
	}
	hash := strings.TrimPrefix(run(t, c, "a", `{{ htpasswd "user" "pass" }}`), "user:")
	if bcrypt.CompareHashAndPassword([]byte(hash), []byte("pass")) != nil {
		t.Errorf("%s is not a hash of the password", hash)
	}
	for _, call := range []string{`{{ randInt 7 7 }}`, `{{ randBytes -1 }}`, `{{ genSignedCert "a" nil nil 1 "no CA" }}`,
		`{{ genSelfSignedCert "a" (list "no address") nil 1 }}`} {
		parsed := template.Must(template.New("").Funcs(sprig.TxtFuncMap()).Funcs(c.Functions()).Parse(call))
		if err := parsed.Execute(&strings.Builder{}, nil); err == nil {
			t.Errorf("%s is no fault", call)
		}
	}
	block, _ := pem.Decode([]byte(run(t, c, "a", `{{ genPrivateKey "dsa" }}`)))
	var key dsaKey
	if _, err := asn1.Unmarshal(block.Bytes, &key); err != nil || block.Type != "DSA PRIVATE KEY" {
		t.Errorf("%s: %v", block.Type, err)
	}
	if new(big.Int).Exp(key.G, key.X, key.P).Cmp(key.Y) != 0 {
		t.Error("the halves of the DSA key do not belong together")
	}
}

// TestTime: templates see the same time as long as the content stays, and another one when
// somebody changes it.
func TestTime(t *testing.T) {
	of := func(content string, at time.Time) string {
		release := shop
		release.Content = func() []byte { return []byte(content) }
		return run(t, New(source(t, "shop", at)).Chart(release), "a", `{{ now }}`)
	}
	if a, b := of("x", today), of("x", today.AddDate(5, 0, 0)); a != b {
		t.Errorf("%s became %s", a, b)
	}
	if of("x", today) == of("y", today) {
		t.Error("another content has the same time")
	}
}

const chain = `{{ $ca := genCA "ca" 90 }}{{ $leaf := genSignedCert "web" (list "10.0.0.1") (list "web.shop.svc") 90 $ca }}` +
	`{{ $ca.Cert }}{{ $leaf.Cert }}{{ $leaf.Key }}`

// chainAt is what the templates make at a time, with the authority, the certificate and
// the time at which they renew.
func chainAt(t *testing.T, at time.Time, keys *Keys) (text string, ca, leaf *x509.Certificate, renews time.Time) {
	t.Helper()
	from := source(t, "shop", at)
	from.Keys = keys
	r := New(from)
	text = run(t, r.Chart(shop), "a", chain)
	var all []*x509.Certificate
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, cert)
		}
	}
	if len(all) != 2 || len(r.Renewals()) != 2 {
		t.Fatalf("%d certificates and %d renewals", len(all), len(r.Renewals()))
	}
	return text, all[0], all[1], r.Renewals()[0].Renews
}

// TestCertificates plays 130 days, or a year with LADDER_CORPUS=whole: at each hour of it the chain verifies with a third of its
// validity left, and it changes when it is said to, authority and certificate together.
func TestCertificates(t *testing.T) {
	days, renewals := 130, 2
	if golden.WholeCorpus() {
		days, renewals = 365, 6
	}
	keys := NewKeys(4)
	text, _, _, renews := chainAt(t, today, keys)
	changed := 0
	for at := today; at.Before(today.AddDate(0, 0, days)); at = at.Add(97 * time.Hour) {
		now, ca, leaf, next := chainAt(t, at, keys)
		roots := x509.NewCertPool()
		roots.AddCert(ca)
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: "web.shop.svc", Roots: roots, CurrentTime: at}); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		if left := leaf.NotAfter.Sub(at); left < 30*24*time.Hour || left > 90*24*time.Hour {
			t.Errorf("%s: %s left", at, left)
		}
		if leaf.SerialNumber.Cmp(ca.SerialNumber) == 0 {
			t.Error("two certificates of one authority have one serial number")
		}
		if _, err := tls.X509KeyPair([]byte(now), []byte(now[strings.LastIndex(now, "-----BEGIN RSA"):])); err == nil {
			t.Error("the key of the certificate is that of its authority")
		}
		if (now != text) != !at.Before(renews) {
			t.Errorf("%s: changed: %v, but renews %s", at, now != text, renews)
		}
		if now != text {
			changed++
			text, renews = now, next
		}
		if next.Sub(at) <= 0 || next.Sub(at) > 60*24*time.Hour {
			t.Errorf("%s: renews %s", at, next)
		}
	}
	if changed != renewals {
		t.Errorf("renewed %d times in %d days, want %d: each 60 days", changed, days, renewals)
	}
}

// TestLongAndShort: certificates for no time, for a day and for a thousand years.
func TestLongAndShort(t *testing.T) {
	for _, days := range []int{-1, 0, 1, 30, 3650, 36500, 365000} {
		r := New(source(t, "shop", today))
		text := run(t, r.Chart(shop), "a", fmt.Sprintf(`{{ (genSelfSignedCertWithKey "a" nil nil %d (genPrivateKey "ecdsa")).Cert }}`, days))
		block, _ := pem.Decode([]byte(text))
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if got := cert.NotBefore.AddDate(0, 0, days); !got.Equal(cert.NotAfter) {
			t.Errorf("%d days: from %s to %s", days, cert.NotBefore, cert.NotAfter)
		}
		if valid := !today.Before(cert.NotBefore) && today.Before(cert.NotAfter); valid != (days > 0) || valid != (len(r.Renewals()) == 1) {
			t.Errorf("%d days: from %s to %s, %d renewals", days, cert.NotBefore, cert.NotAfter, len(r.Renewals()))
		}
	}
}

// TestOneAuthority: what is made once is one, in whatever templates it is used, also if it
// comes from the values.
func TestOneAuthority(t *testing.T) {
	got := run(t, New(source(t, "shop", today)).Chart(shop), "a",
		`{{ $ca := genCA "ca" 365 }}{{ $custom := buildCustomCert (b64enc $ca.Cert) (b64enc $ca.Key) }}{{ eq $ca.Cert $custom.Cert }} `+
			`{{ (genSignedCert "a" nil nil 30 $ca).Cert | sha256sum | eq ((genSignedCert "a" nil nil 30 $ca).Cert | sha256sum) }} `+
			`{{ (genSignedCert "b" nil nil 30 $custom).Cert | contains "BEGIN" }}`)
	if got != "true false true" {
		t.Error(got)
	}
}

// TestNoted: without a seed, functions do what they do in Helm, and it is noted which
// templates called them.
func TestNoted(t *testing.T) {
	r := New(Source{})
	c := r.Chart(shop)
	first := run(t, c, "a", `{{ randAlphaNum 20 }}{{ upper "x" }}{{ date "2006" 0 }}`, "b", `{{ (genCA "ca" 1).Cert }}{{ date "2006" "" }}`)
	if again := run(t, r.Chart(shop), "a", `{{ randAlphaNum 20 }}`); strings.HasPrefix(first, again) {
		t.Error("the same without a seed")
	}
	want := []Use{{"a", "randAlphaNum"}, {"b", "genCA"}, {"b", "date"}}
	if !slices.Equal(c.Uses(), want) || !r.Used() || r.Derived() || len(r.Renewals()) != 0 {
		t.Errorf("noted %v, want %v", c.Uses(), want)
	}
}

func TestMentioned(t *testing.T) {
	for text, want := range map[string]bool{
		`a: {{ randAlphaNum 5 }}`: true, `{{- now }}`: true, `{{ .Values.x }}{{ (genCA "a" 1).Cert }}`: true,
		`{{ with lookup "v1" "Secret" "a" "b" }}`: true, `{{ .lookups }}`: false,
		`a: now`: false, `{{ .Values.known }} now {{ update }}`: false, `{{ include "x" . `: false, ``: false,
	} {
		if MentionsRandom(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// TestRemembered: a key and a hash are derived once, and what is remembered for one Application is not
// given to another.
func TestRemembered(t *testing.T) {
	keys := NewKeys(4)
	of := func(application string) string {
		from := source(t, application, today)
		from.Keys = keys
		return run(t, New(from).Chart(shop), "a", `{{ (genCA "ca" 365).Key }}{{ bcrypt "p" }}`)
	}
	if first, again := of("shop"), of("shop"); first != again || first == of("other") {
		t.Error("a remembered key is another one")
	}
	if n := keys.all.Len(); n != 4 {
		t.Errorf("%d keys and hashes are remembered, want 4", n)
	}
}
