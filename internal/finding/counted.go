package finding

import (
	"fmt"
)

// Counted formats a number with its unit, whose plural ends with s.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
