package object

import (
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

// TestIsBasic says what is basic, and what is not although most parsers accept it.
func TestIsBasic(t *testing.T) {
	for _, text := range []string{
		"a: 1\n", "# Source: x\n\na:\n  b: c\nd: []\n", "a:\n- b: c\n  d:\n  - e\n  - - f\n    - g\nh: {}\n", "a: |\n  x\n\n    y: |\nb: c\n",
		"a: 'it''s: x'\n\"b/c\": \"d \\\" e\"\n", "a: many words\n  over two lines\n\n  and three\nb: 'in quotes\n  and more'\n",
		"a:\nb: -1\nc: --flag\n",
		"a: >-\n  x\n\n  y\n# done\nb: é\n", "a:\n  - |\n    x\n  - y\n",
		"a: \"b\n  \\ - c \\\"d\\\": e\n\n  \\tf\\\n  g\"\n",
	} {
		if !IsBasic(text) {
			t.Errorf("not basic: %q", text)
		}
	}
	for _, text := range []string{
		"", "# only a comment\n", "- a\n", "a\n", "a: b: c\n", "a: b\n  c: d\n", "a: b\n  # x\n  c\n", "a:\n  b: c\n d: e\n", "a: [b, c]\n",
		"a: &b c\n", "a: *b\n",
		"a: !x c\n", "<<: {}\n", "a: .inf\n", "a: -.NaN\n", "~: a\n", "null: a\n", "1: a\n", "a: \"b\\x41\"\n", "a: \"b\n", "a: 'b' c\n",
		"a: b # c\n", "a: |+\n  b\n", "a: |2\n   b\n",
		"a: |\n    \n  b\n", "a: |\n    b\n  c\n", "a:\tb\n", "a: \x01\n", "a: \u2028\n", "a: \xff\n", "items: []\n", "Kind: a\n", "a: @b\n",
		"a: `b`\n", "a: - b\n", "? a\n: b\n", "%a: b\n", "a: b\n- c\n", "a:\n  - b\n  c: d\n",
	} {
		if IsBasic(text) {
			t.Errorf("basic: %q", text)
		}
	}
}

// FuzzIsBasic compares with the parser of Kubernetes and Helm: it accepts what is basic, and reads
// the same kind from it.
func FuzzIsBasic(f *testing.F) {
	for _, text := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    helm.sh/hook: 'pre-install'\ndata:\n  a: |-\n    b\n" +
			"    c\n  \"d\": >\n    e\n",
		"kind: Deployment\nspec:\n  containers:\n  - name: a\n    args:\n    - --b\n    - \"c: d\"\n    description: many words\n" +
			"      and more\n    x: {}\n# end\n",
		"a:\n- b: c\n  d:\n  - e\n  - - f\n    - 'g\n\n       h'\nkind: []\n",
		"kind: \"a\\\n  \\ b\\n\n  \\\"c \\ \nd: \"e\\\\\"\n\"\nf: g\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !IsBasic(text) {
			return
		}
		var all map[string]any
		if err := sigsyaml.Unmarshal([]byte(text), &all); err != nil {
			t.Fatalf("%q is not YAML: %v", text, err)
		}
		var head struct{ Kind any }
		if err := sigsyaml.Unmarshal([]byte(text), &head); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		root, err := parseText(text)
		if err != nil || root == nil {
			t.Fatalf("%q is not YAML for this package: %v", text, err)
		}
		kind := Value{root}.Get("kind")
		if is, isText := head.Kind.(string); isText != kind.IsText() || isText && is != kind.Text() {
			t.Fatalf("the kind of %q is %q, not %q", text, head.Kind, kind.Text())
		}
	})
}
