package object

import (
	"fmt"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// Text found in place of a wave, a hook type or a kind may come from values, and
// may be anything, such as a password. Messages only quote text that looks as
// expected.

var (
	numberLike = lazyregexp.New(`^[-+]?[0-9][0-9._,eE]{0,7}$`)
	wordLike   = lazyregexp.New(`^[a-z]{1,5}$`)
	hookLike   = lazyregexp.New(`^(?i:pre|post|sync?|skip|crd|test)[A-Za-z-]{0,14}$`)
	nameLike   = lazyregexp.New(`^[A-Za-z-]{1,20}$`)
	kindLike   = lazyregexp.New(`^[A-Z][A-Za-z0-9]{0,62}$`)
	digits     = lazyregexp.New(`[0-9]`)
)

// QuoteNumber returns text for a message: quoted if it was probably meant as an integer,
// such as 1.5 or five, otherwise "the value". For a Secret it quotes only digits.
func (o Object) QuoteNumber(text string) string {
	if numberLike.MatchString(text) || wordLike.MatchString(text) && !o.isSecret() {
		return fmt.Sprintf("%q", text)
	}
	return "the value"
}

// QuoteHook returns text for a message: quoted, after a space, if it resembles a hook type,
// otherwise empty.
func QuoteHook(name string) string {
	if hookLike.MatchString(name) {
		return fmt.Sprintf(" %q", name)
	}
	return ""
}

// QuoteName returns text for a message: quoted if it looks like Kind/name or is a plain
// word, otherwise "the value".
func QuoteName(name string) string {
	if kind, _, found := strings.Cut(name, "/"); nameLike.MatchString(name) || found && nameLike.MatchString(kind) {
		return fmt.Sprintf("%q", name)
	}
	return "the value"
}

func (o Object) isSecret() bool { return o.ID.Kind == "Secret" && o.ID.Group == "" }

// displayKind returns a kind for messages.
func displayKind(kind string) string {
	if kind != "" && !looksLikeKind(kind) {
		return "(no kind)"
	}
	return kind
}

// looksLikeKind reports whether a text may be the name of a kind. Long names contain
// lower-case letters and few digits, unlike most secrets.
func looksLikeKind(kind string) bool {
	return kindLike.MatchString(kind) && len(digits.FindAllString(kind, -1)) <= 3 && (len(kind) <= 10 || strings.ToUpper(kind) != kind)
}
