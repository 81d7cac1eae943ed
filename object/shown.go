package object

import (
	"fmt"
	"regexp"
	"strings"
)

// What is written where a wave, a type of hook or a kind should stand may have come
// out of values, and belong elsewhere: a password, say. Messages quote what looks
// like what belongs there, and nothing else.

var (
	numberLike = regexp.MustCompile(`^[-+]?[0-9][0-9._,eE]{0,7}$`)
	wordLike   = regexp.MustCompile(`^[a-z]{1,5}$`)
	hookLike   = regexp.MustCompile(`^(?i:pre|post|sync|skip|crd|test)[A-Za-z-]{0,14}$`)
	nameLike   = regexp.MustCompile(`^[A-Za-z-]{1,20}$`)
	kindLike   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	digits     = regexp.MustCompile(`[0-9]`)
)

// ShownNumber quotes what stands in place of a whole number, if it was meant for
// one: 1.5, or five. In a Secret nothing else is quoted than digits.
func (o Object) ShownNumber(text string) string {
	if numberLike.MatchString(text) || wordLike.MatchString(text) && !o.isSecret() {
		return fmt.Sprintf("%q", text)
	}
	return "the value"
}

// ShownHook quotes what stands in place of a type of hook, if it begins like one.
func ShownHook(name string) string {
	if hookLike.MatchString(name) {
		return fmt.Sprintf("%q", name)
	}
	return "the value"
}

// ShownName quotes what stands in place of the name of something, if it looks like
// Kind/name or is a plain word.
func ShownName(name string) string {
	if kind, _, found := strings.Cut(name, "/"); nameLike.MatchString(name) || found && nameLike.MatchString(kind) {
		return fmt.Sprintf("%q", name)
	}
	return "the value"
}

func (o Object) isSecret() bool { return o.ID.Kind == "Secret" && o.ID.Group == "" }

// shownKind is a kind as messages name it.
func shownKind(kind string) string {
	if kind != "" && !LikeKind(kind) {
		return "(no kind)"
	}
	return kind
}

// LikeKind reports whether a text may be the name of a kind. Long ones have small
// letters, and few digits; that tells them from most that is secret.
func LikeKind(kind string) bool {
	return kindLike.MatchString(kind) && len(digits.FindAllString(kind, -1)) <= 3 && (len(kind) <= 10 || strings.ToUpper(kind) != kind)
}
