package random

import (
	"encoding/base64"
	"fmt"

	"golang.org/x/crypto/bcrypt"
	//lint:ignore SA1019 bcrypt is made of it
	"golang.org/x/crypto/blowfish"
)

// bcryptEncoding is base64 with the alphabet of crypt(3).
var bcryptEncoding = base64.NewEncoding("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789").WithPadding(base64.NoPadding)

// maxPassword is bcrypt's maximum length of a password in bytes.
const maxPassword = 72

// bcrypt hashes a password like golang.org/x/crypto/bcrypt, which generates the
// salt itself and does not accept one. The error for a long password is that
// package's.
func (s *Stream) bcrypt(password string, cost int) (string, error) {
	if len(password) > maxPassword {
		return "", bcrypt.ErrPasswordTooLong
	}
	salt := s.Bytes(16)
	key := append([]byte(password), 0) // C's string terminator is part of the key
	c, err := blowfish.NewSaltedCipher(key, salt)
	if err != nil {
		return "", err
	}
	for range 1 << cost {
		blowfish.ExpandKey(key, c)
		blowfish.ExpandKey(salt, c)
	}
	text := []byte("OrpheanBeholderScryDoubt")
	for i := 0; i < len(text); i += blowfish.BlockSize {
		for range 64 {
			c.Encrypt(text[i:], text[i:])
		}
	}
	// All implementations omit the last byte.
	return fmt.Sprintf("$2a$%02d$%s%s", cost, bcryptEncoding.EncodeToString(salt),
		bcryptEncoding.EncodeToString(text[:len(text)-1])), nil
}
