package remote_test

import (
	"testing"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// TestMostNamed: addresses of one repository count together, and directories that do not
// exist and templates do not count.
func TestMostNamed(t *testing.T) {
	here := func(dir string) bool { return dir == "a" || dir == "b" }
	for _, c := range []struct {
		named []remote.Directory
		want  string
	}{
		{nil, ""},
		{[]remote.Directory{{"https://git.example.com/x.git", "missing"}, {"{{repo}}", "a"}, {"", "a"}}, ""},
		{[]remote.Directory{{"https://git.example.com/y", "a"}, {"https://git.example.com/x.git", "a"}, {"git@git.example.com:x", "b"}},
			"https://git.example.com/x.git"},
		{[]remote.Directory{{"https://git.example.com/y", "a"}, {"https://git.example.com/x", "a"}}, "https://git.example.com/x"},
	} {
		if got := remote.MostNamed(c.named, here); got != c.want {
			t.Errorf("MostNamed(%v) = %q, want %q", c.named, got, c.want)
		}
	}
}
