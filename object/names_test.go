package object_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/object"
)

// TestLabelKeyPattern compares what the plugin and a template of Argo CD accept.
func TestLabelKeyPattern(t *testing.T) {
	pattern := regexp.MustCompile(object.LabelKeyPattern)
	for key, valid := range map[string]bool{
		"team": true, "Team_a.b": true, "example.com/team": true, strings.Repeat("a", 63): true,
		"": false, "/team": false, "example.com/": false, "a/b/c": false, "-team": false, "Example.com/team": false,
		strings.Repeat("a", 64): false,
	} {
		if object.IsLabelKey(key) != valid || pattern.MatchString(key) != valid {
			t.Errorf("%q: key %v, pattern %v; want %v", key, object.IsLabelKey(key), pattern.MatchString(key), valid)
		}
	}
}
