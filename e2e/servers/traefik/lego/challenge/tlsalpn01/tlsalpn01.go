// Package tlsalpn01 has what Traefik calls for challenges by TLS.
package tlsalpn01

import (
	"errors"
	"time"

	"github.com/go-acme/lego/v5/challenge"
)

// ACMETLS1Protocol is the protocol that such a challenge asks for.
const ACMETLS1Protocol = "acme-tls/1"

// SetDelay is never called.
func SetDelay(time.Duration) challenge.Option { return nil }

// ChallengeBlocks always fails.
func ChallengeBlocks(string, string) ([]byte, []byte, error) {
	return nil, nil, errors.New("this Traefik is built without ACME")
}
