package finding

import (
	"fmt"
)

// Counted is a number with what is counted, whose plural ends with s.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
