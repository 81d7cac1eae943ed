package text

import (
	"strings"
	"testing"
)

// TestExpand is the table of what Kubernetes makes of variables
// (k8s.io/kubernetes third_party/forked/golang/expansion).
func TestExpand(t *testing.T) {
	vars := map[string]string{"A": "x", "B": "$(A)", "EMPTY": "", "LONG": strings.Repeat("y", longestWord)}
	for text, want := range map[string]string{
		"plain": "plain", "$(A)": "x", "-$(A)-$(A)": "-x-x", "$(B)": "$(A)", "$(NONE)": "$(NONE)", "$(EMPTY)": "",
		"$$(A)": "$(A)", "$$$(A)": "$x", "$A": "$A", "$(A": "$(A", "$": "$", "$(A)$": "x$", "$(LONG)$(A)": "", "$(N(A)": "$(N(A)",
	} {
		if got := Expand(text, vars); got != want {
			t.Errorf("%s = %.40s, want %s", text, got, want)
		}
	}
}
