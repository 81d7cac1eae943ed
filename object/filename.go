package object

import (
	"strings"
)

// FileName returns a file name for an object: kind, namespace and name in
// characters that every file system supports.
func FileName(id ID) string {
	parts := []string{id.Kind}
	if id.Namespace != "" {
		parts = append(parts, id.Namespace)
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(strings.Join(append(parts, id.Name), "-")))
}
