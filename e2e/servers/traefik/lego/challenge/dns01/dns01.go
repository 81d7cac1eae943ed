// Package dns01 has what Traefik calls for challenges by DNS.
package dns01

import (
	"strings"
	"time"

	"github.com/go-acme/lego/v5/challenge"
)

// Options are the options of a client.
type Options struct{ RecursiveNameservers []string }

// Client would ask name servers.
type Client struct{}

// NewClient is never called.
func NewClient(*Options) *Client { return nil }

// SetDefaultClient is never called.
func SetDefaultClient(*Client) {}

// CondOptions is never called.
func CondOptions(bool, ...challenge.Option) challenge.Option { return nil }

// DisableAuthoritativeNssPropagationRequirement is never called.
func DisableAuthoritativeNssPropagationRequirement() challenge.Option { return nil }

// DisableRecursiveNSsPropagationRequirement is never called.
func DisableRecursiveNSsPropagationRequirement() challenge.Option { return nil }

// PropagationWait is never called.
func PropagationWait(time.Duration, bool) challenge.Option { return nil }

// UnFqdn returns a name without the dot at its end.
func UnFqdn(name string) string { return strings.TrimSuffix(name, ".") }
