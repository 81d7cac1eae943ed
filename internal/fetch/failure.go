package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// outcome is the result of a fetch, as in metrics.
type outcome string

const (
	fetched     outcome = "ok"
	stale       outcome = "cached"      // a failure that was replaced by cached content
	badRef      outcome = "bad-ref"     // an invalid Ref
	notAllowed  outcome = "not-allowed" // by the configuration
	denied      outcome = "denied"      // by the server: 401, 403
	missing     outcome = "missing"     // 404, no such version
	unreachable outcome = "unreachable" // no connection, 429, 5xx, interrupted
	slow        outcome = "timeout"
	untrusted   outcome = "untrusted" // an invalid certificate
	broken      outcome = "broken"    // an invalid response
	changed     outcome = "changed"   // content that differs from the recorded digest
	tooLarge    outcome = "too-large"
	notCached   outcome = "offline" // and the network may not be used
	canceled    outcome = "canceled"
)

// Changed is the rule for content that differs from the recorded digest.
const Changed finding.Rule = "changed-source"

// rules are the rules of findings about outcomes; others have remote.Source.
var rules = map[outcome]finding.Rule{notAllowed: remote.NotVendored, changed: Changed}

var outcomes = []outcome{fetched, stale, badRef, notAllowed, denied, missing, unreachable, slow, untrusted, broken, changed,
	tooLarge, notCached, canceled}

// retryable are the outcomes after which a retry may succeed.
var retryable = map[outcome]bool{unreachable: true}

// replaceable are the outcomes for which cached content may be used instead: those
// that do not depend on what the source contains.
var replaceable = map[outcome]bool{unreachable: true, slow: true, untrusted: true, broken: true, changed: true}

// failure is the error of a fetch.
type failure struct {
	outcome outcome
	message string
	remedy  string
	after   time.Duration // from Retry-After; 0 if unknown
}

// toAllow is the remedy for what is not on the allow-list. The message names the address: whoever
// chose it must not write the remedy.
const toAllow = "add that address, or what is above it, to the allow-list (--allow-remote) if you trust it"

func failed(o outcome, remedy, format string, args ...any) *failure {
	return &failure{outcome: o, remedy: remedy, message: fmt.Sprintf(format, args...)}
}

func (f *failure) Error() string { return f.message }

// finding converts the failure to a finding about a Ref.
func (f *failure) finding(of remote.Ref) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: cmp.Or(rules[f.outcome], remote.Source), Object: of.String(),
		About:   string(f.outcome),
		Message: finding.WithoutCredentials(f.message), Remedy: finding.WithoutCredentials(f.remedy)}
}

// failureOf converts the error of a library. A failure recorded by the attempt
// itself is more specific.
func (e *attempt) failureOf(err error) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case e.fault() != nil:
		return e.fault()
	case errors.Is(err, context.Canceled):
		return &failure{outcome: canceled, message: "was canceled"}
	case errors.Is(err, context.DeadlineExceeded):
		return e.tookTooLong()
	}
	// If the registry's client rejects the token service, the last status is that
	// of the token request.
	if f := e.failureOfStatus(e.status()); f != nil && !strings.Contains(err.Error(), "bearer realm") {
		return f
	}
	return failed(broken, "contact its administrator, or check the URL", "the response of %s is invalid: %s", e.host(), short(err.Error()))
}

// The remedies for exceeded limits.
const (
	moreTime  = "try again later, or raise --remote-timeout"
	moreBytes = "raise --remote-max-bytes if this size is expected"
)

func (e *attempt) tookTooLong() *failure {
	return failed(slow, moreTime, "%s took longer than %s", e.host(), e.f.limits.Time)
}

// failureOfStatus converts an HTTP status; nil if it is not an error.
func (e *attempt) failureOfStatus(status int) *failure {
	switch {
	case status == 401 || status == 403:
		remedy := "mount a name and a password, or a token, for " + e.host()
		if e.credential.known() {
			remedy = "check the credentials for " + e.host() + " in " + e.credential.Source
		}
		if e.credential.Helper != "" {
			return failed(denied, "write the name and the password of "+e.host()+
				" into the file, or mount them as files; no process is ever run for them",
				"%s refuses access (%d), and %s leaves its credentials to the helper %s, which is not run", e.host(), status,
				e.credential.Source, e.credential.Helper)
		}
		return failed(denied, remedy, "%s refuses access (%d)", e.host(), status)
	case status == 404 || status == 410:
		return failed(missing, "correct its address, name or version, or publish it there", "%s returned status %d: not found", e.host(), status)
	case status == 429:
		return failed(unreachable, "try again later", "%s received too many requests (429)", e.host())
	case status >= 500:
		return failed(unreachable, "try again later, or contact its administrator", "%s returned status %d", e.host(), status)
	case status == http.StatusBadRequest && e.f.usesPlainHTTP(e.at.Host):
		return failed(broken, "check the URL, or remove the host from --remote-plain-http if it uses TLS",
			"%s returned status %d, as servers that require TLS do", e.host(), status)
	case status >= 300:
		return failed(broken, "check the URL", "%s returned status %d", e.host(), status)
	}
	return nil
}

// short returns the start of an external text in one line.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return finding.Sanitize(text)
}
