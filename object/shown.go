package object

import (
	"fmt"
	"regexp"
	"strings"
)

// Text found in place of a wave, a hook type or a kind may come from values, and
// may be anything, such as a password. Messages only quote text that looks as
// expected.

var (
	numberLike = regexp.MustCompile(`^[-+]?[0-9][0-9._,eE]{0,7}$`)
	wordLike   = regexp.MustCompile(`^[a-z]{1,5}$`)
	hookLike   = regexp.MustCompile(`^(?i:pre|post|sync?|skip|crd|test)[A-Za-z-]{0,14}$`)
	nameLike   = regexp.MustCompile(`^[A-Za-z-]{1,20}$`)
	kindLike   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	digits     = regexp.MustCompile(`[0-9]`)
)

// ShownNumber quotes text in place of an integer, if it was probably meant as one:
// 1.5, or five. For a Secret it quotes only digits.
func (o Object) ShownNumber(text string) string {
	if numberLike.MatchString(text) || wordLike.MatchString(text) && !o.isSecret() {
		return fmt.Sprintf("%q", text)
	}
	return "the value"
}

// ShownHook quotes text in place of a hook type, after a space, if it resembles one. It is
// empty for other text.
func ShownHook(name string) string {
	if hookLike.MatchString(name) {
		return fmt.Sprintf(" %q", name)
	}
	return ""
}

// ShownName quotes text in place of a name, if it looks like Kind/name or is a
// plain word.
func ShownName(name string) string {
	if kind, _, found := strings.Cut(name, "/"); nameLike.MatchString(name) || found && nameLike.MatchString(kind) {
		return fmt.Sprintf("%q", name)
	}
	return "the value"
}

func (o Object) isSecret() bool { return o.ID.Kind == "Secret" && o.ID.Group == "" }

// shownKind returns a kind for messages.
func shownKind(kind string) string {
	if kind != "" && !LooksLikeKind(kind) {
		return "(no kind)"
	}
	return kind
}

// LooksLikeKind reports whether a text may be the name of a kind. Long names contain
// lower-case letters and few digits, unlike most secrets.
func LooksLikeKind(kind string) bool {
	return kindLike.MatchString(kind) && len(digits.FindAllString(kind, -1)) <= 3 && (len(kind) <= 10 || strings.ToUpper(kind) != kind)
}
