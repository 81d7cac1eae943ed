package object

import (
	"fmt"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"
)

// TestAliasesThatMultiply reads a document of a few lines whose aliases stand
// for 10^levels values.
func TestAliasesThatMultiply(t *testing.T) {
	document := func(levels int) string {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx0: &x0 x\n"
		for i := range levels {
			text += fmt.Sprintf("x%d: &x%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i), 10), ", "))
		}
		return text
	}
	if _, err := Parse("a.yaml", 1, document(5)); err != nil {
		t.Errorf("some 100,000 values: %v", err)
	}
	_, err := Parse("a.yaml", 1, document(7))
	want := "a.yaml:11: not valid YAML: aliases expand to more than 2000000 values; fix: correct the syntax there"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestMayHaveAliases holds the reading of single characters to what the parser finds.
func TestMayHaveAliases(t *testing.T) {
	for text, want := range map[string]bool{
		"a: &x 1\nb: *x\n":                       true,
		"{a: &x [1], b: *x}":                     true,
		"{\"a\":&x 1,\"b\":*x,\"c\":2}":          true,
		"- &a-b_1\n- *a-b_1":                     true,
		"&x a: 1\n*x : 2\n":                      true,
		"a: &x\r\n  b: 1\r\nc: *x\r\n":           true,
		"a: &x 1\nb: &y 2\nc: *y\n":              true,
		"a: |\n  rate(x) * on && y &z\n":         false,
		"a: \"*.example.com\"\nb: https://x?y&z": false,
		"a: sh -c 'ls *.go && exit'\n":           false,
		"a: &x 1\nb: \"*y\"\n":                   false,
		"":                                       false,
	} {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if has := hasAlias(&doc); has != want {
			t.Errorf("%q: the parser finds an alias: %v, want %v", text, has, want)
		}
		if got := mayHaveAliases(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if size := ExpandedSize(text); size < len(text) {
			t.Errorf("%q: %d bytes expanded", text, size)
		}
	}
}
