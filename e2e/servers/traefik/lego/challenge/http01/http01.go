// Package http01 has what Traefik calls for challenges by HTTP.
package http01

import (
	"time"

	"github.com/go-acme/lego/v5/challenge"
)

// PathPrefix is where challenges are answered.
const PathPrefix = "/.well-known/acme-challenge/"

// SetDelay is never called.
func SetDelay(time.Duration) challenge.Option { return nil }
