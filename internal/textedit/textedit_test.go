package textedit_test

import (
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/textedit"
)

func TestOffset(t *testing.T) {
	t.Parallel()
	const text = "\ufeffä: 1\r\nb: 2\u2028c: 3\n"
	for _, tt := range []struct {
		line, column int
		rest         string
		ok           bool
	}{
		{1, 1, "ä: 1\r\nb: 2\u2028c: 3\n", true},
		{1, 2, ": 1\r\nb: 2\u2028c: 3\n", true},
		{2, 4, "2\u2028c: 3\n", true},
		{3, 1, "c: 3\n", true},
		{4, 1, "", true},
		{4, 2, "", false},
		{5, 1, "", false},
		{0, 1, "", false},
	} {
		at, ok := textedit.NewLines(text).Offset(tt.line, tt.column)
		if ok != tt.ok || ok && text[at:] != tt.rest {
			t.Errorf("line %d, column %d: got offset %d, %t, want the one before %q, %t", tt.line, tt.column, at, ok, tt.rest, tt.ok)
		}
	}
	if at, ok := textedit.NewLines("").Offset(1, 1); at != 0 || !ok {
		t.Errorf("an empty text begins at %d, %t", at, ok)
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	got := textedit.Apply("abcdef", textedit.Splice{From: 4, To: 6, Text: "Y"}, textedit.Splice{From: 1, To: 1, Text: "-"},
		textedit.Splice{From: 1, To: 2, Text: "X"}, textedit.Splice{From: 0, To: 0, Text: "<"})
	if want := "<a-XcdY"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEnd finds where entries end, and the lines that say so.
func TestEnd(t *testing.T) {
	t.Parallel()
	const text = "a:\n  b: 1\n\n  # in a\n  c:\n  - x\n  -\n   # in c\n  # below a\n# above d\nd: |\n  1\r\n\r\n  2\u2028e: 2"
	for _, tt := range []struct {
		line, indent int
		list         bool
		rest         string // of the text, from the end
		next         int
	}{
		{1, 0, false, "# above d\nd: |\n  1\r\n\r\n  2\u2028e: 2", 10},
		{2, 2, false, "\n  # in a\n  c:\n  - x\n  -\n   # in c\n  # below a\n# above d\nd: |\n  1\r\n\r\n  2\u2028e: 2", 4},
		{5, 2, true, "  # below a\n# above d\nd: |\n  1\r\n\r\n  2\u2028e: 2", 10},
		{6, 2, false, "  -\n   # in c\n  # below a\n# above d\nd: |\n  1\r\n\r\n  2\u2028e: 2", 6},
		{11, 0, false, "e: 2", 14},
		{15, 0, false, "", 15},
	} {
		end, next := textedit.NewLines(text).End(tt.line, tt.indent, tt.list)
		if text[end:] != tt.rest || next != tt.next {
			t.Errorf("line %d: ends before %q, because of line %d, want %q, %d", tt.line, text[end:], next, tt.rest, tt.next)
		}
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("x: &x {e: 1}\nb: {c: 1}\nb: 2\n<<: *x\n"), &doc); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int{"x": 0, "b": 2, "<<": 6, "c": -1, "e": -1, "2": -1} {
		if got := textedit.Index(doc.Content[0], key); got != want {
			t.Errorf("%s is at %d, want %d", key, got, want)
		}
	}
	if textedit.Index(nil, "x") != -1 || textedit.Index(&doc, "x") != -1 {
		t.Error("what is not a mapping has a key")
	}
}

func TestIndent(t *testing.T) {
	t.Parallel()
	if got, want := textedit.Indent("a:\n\n  b: 1", 2), "  a:\n\n    b: 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLineBreak(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "\n", "a\n": "\n", "a\r\nb\n": "\r\n", "a\rb": "\n"} {
		if got := textedit.LineBreak(text); got != want {
			t.Errorf("%q gets %q, want %q", text, got, want)
		}
	}
}

func TestMustEncode(t *testing.T) {
	t.Parallel()
	if got, want := textedit.MustEncode(map[string]any{"a": []any{map[string]any{"b": "1"}}}), "a:\n- b: \"1\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a function was encoded")
		}
	}()
	textedit.MustEncode(func() {})
}
