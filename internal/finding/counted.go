package finding

import (
	"fmt"
	"strings"
)

// Counted formats a number with its unit, whose plural ends with s.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Few lists the first three of some names, and counts the others.
func Few(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Several lists the first five of some names, and counts the others.
func Several(names []string) string { return First(names, 5) }

// First lists the first names, and counts the others; one more takes no more room than its name.
func First(names []string, most int) string {
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
