package random

import (
	"slices"
	"strings"
	"unicode"
)

// The sprig functions in Helm with non-deterministic results. A test compares them
// with all functions that templates can call.
var (
	// random are functions with random results.
	random = []string{
		"bcrypt", "encryptAES", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert",
		"genSignedCertWithKey", "htpasswd", "randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric", "shuffle", "uuidv4",
	}
	// clock are functions that read the time.
	clock = []string{"ago", "date", "dateInZone", "date_in_zone", "durationRound", "htmlDate", "htmlDateInZone", "now"}
)

// IsRandom reports whether a template function has random results.
func IsRandom(name string) bool { return slices.Contains(random, name) }

// IsClock reports whether a template function may read the time.
func IsClock(name string) bool { return slices.Contains(clock, name) }

// MentionsRandom reports whether the actions of a template name one of the functions, or
// lookup.
func MentionsRandom(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "{{")
		if !found {
			return false
		}
		var action string
		action, text, _ = strings.Cut(rest, "}}")
		for word := range strings.FieldsFuncSeq(action, notOfName) {
			if IsRandom(word) || IsClock(word) || word == LookupFunction {
				return true
			}
		}
	}
}

func notOfName(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
