package random

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"
	"strings"
	"text/template"

	"golang.org/x/crypto/bcrypt"
)

// texts returns the functions that create passwords, numbers, hashes and keys. They
// have the same arguments, results and errors as Helm's.
func (c *Chart) texts() template.FuncMap {
	text := func(name, alphabet string) func(int) string {
		return func(count int) string { return c.stream(name, count).Text(alphabet, count) }
	}
	return template.FuncMap{
		"randAlphaNum": text("randAlphaNum", AlphaNum),
		"randAlpha":    text("randAlpha", Alpha),
		"randNumeric":  text("randNumeric", Numeric),
		"randAscii":    text("randAscii", ASCII),
		"randBytes": func(count int) (string, error) {
			if count < 0 {
				return "", fmt.Errorf("%d bytes cannot be generated", count)
			}
			return c.stream("randBytes", count).Base64(count), nil
		},
		"randInt": func(least, below int) (int, error) {
			if below <= least {
				return 0, fmt.Errorf("empty range: %d is not less than %d", least, below)
			}
			return least + int(c.stream("randInt", least, below).Below(uint64(below)-uint64(least))), nil
		},
		"uuidv4":        func() string { return c.stream("uuidv4").UUID() },
		"shuffle":       func(text string) string { return c.stream("shuffle", text).Shuffle(text) },
		"bcrypt":        func(password string) string { return c.hash(c.draw("bcrypt", password), password) },
		"htpasswd":      c.htpasswd,
		"encryptAES":    c.encryptAES,
		"genPrivateKey": c.genPrivateKey,
	}
}

func (c *Chart) hash(d draw, password string) string {
	source := c.rendering.source
	keys, cost := source.Keys, bcrypt.DefaultCost
	if source.OnlyCompared {
		keys, cost = nil, bcrypt.MinCost
	}
	text, err := cached(keys, d.name(), func() (string, error) {
		return source.Key.Stream(d.identity...).bcrypt(password, cost)
	})
	if err != nil {
		return fmt.Sprintf("failed to encrypt string with bcrypt: %s", err)
	}
	return text
}

func (c *Chart) htpasswd(user, password string) string {
	if strings.Contains(user, ":") {
		return "invalid username: " + user
	}
	return user + ":" + c.hash(c.draw("htpasswd", user, password), password)
}

// encryptAES encrypts like Helm's function, so that decryptAES works: AES-256 in
// CBC mode, the password padded with zeros as the key, and PKCS #7 padding. The
// initialization vector is derived.
func (c *Chart) encryptAES(password, plain string) (string, error) {
	if plain == "" {
		return "", nil
	}
	key := make([]byte, 32)
	copy(key, password)
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	padding := aes.BlockSize - len(plain)%aes.BlockSize
	text := []byte(plain + strings.Repeat(string(rune(padding)), padding))
	out := append(c.stream("encryptAES", password, plain).Bytes(aes.BlockSize), text...)
	cipher.NewCBCEncrypter(block, out[:aes.BlockSize]).CryptBlocks(out[aes.BlockSize:], text)
	return base64.StdEncoding.EncodeToString(out), nil
}

func (c *Chart) genPrivateKey(kind string) string {
	var key any
	var err error
	switch kind {
	case "", "rsa":
		key, err = c.rsa(4096, c.draw("genPrivateKey", kind))
	case "dsa":
		key = c.stream("genPrivateKey", kind).DSA()
	case "ecdsa":
		key, err = c.stream("genPrivateKey", kind).ECDSA()
	case "ed25519":
		key = c.stream("genPrivateKey", kind).Ed25519()
	default:
		return "Unknown type " + kind
	}
	var text string
	if err == nil {
		text, err = encodeKey(key)
	}
	if err != nil {
		return fmt.Sprintf("failed to generate private key: %s", err)
	}
	return text
}
