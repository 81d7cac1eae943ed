package textedit_test

import (
	"testing"

	"github.com/ladder-cmp/ladder/internal/textedit"
)

func TestSetField(t *testing.T) {
	const text = `# The platform.
a:   1   # one

b:
    # inside
    c: [x,   y]

    # above d
    d:
    - 1
    - 2
  # odd
e: {f: {g: 1}, h: 2}  # flow
`
	for name, c := range map[string]struct {
		text  string
		value any
		path  []string
		want  string
	}{
		"a value":            {"a: 1 # one\nb: 2\n", 3, []string{"a"}, "a: 3\nb: 2\n"},
		"at the end":         {"a: 1\n\n# end\n", "x", []string{"z", "y"}, "a: 1\nz:\n  y: x\n\n# end\n"},
		"without a line end": {"a: 1", 2, []string{"b"}, "a: 1\nb: 2\n"},
		"deep, in its indentation": {text, "z", []string{"b", "e"},
			"# The platform.\na:   1   # one\n\nb:\n    # inside\n    c: [x,   y]\n\n    # above d\n    d:\n    - 1\n    - 2\n    e: z\n  # odd\n" +
				"e: {f: {g: 1}, h: 2}  # flow\n"},
		"a list": {text, []string{"m"}, []string{"b", "d"},
			"# The platform.\na:   1   # one\n\nb:\n    # inside\n    c: [x,   y]\n\n    # above d\n    d:\n    - m\n  # odd\n" +
				"e: {f: {g: 1}, h: 2}  # flow\n"},
		"in braces": {"a: 1\ne: {f: {g: 1}, h: 2}\nz: 1\n", 9, []string{"e", "f", "g"},
			"a: 1\ne:\n  f:\n    g: 9\n  h: 2\nz: 1\n"},
		"nothing to something":  {"a:\nb: 1\n", 2, []string{"a", "x"}, "a:\n  x: 2\nb: 1\n"},
		"removed":               {"a: 1\nb:\n  c: 1\n  d: 2\nz: 1\n", nil, []string{"b", "c"}, "a: 1\nb:\n  d: 2\nz: 1\n"},
		"nothing to remove":     {"a: 1 \n", nil, []string{"b", "c"}, "a: 1 \n"},
		"a text of several":     {"a: |\n  x\n\n  y\nb: 1\n", "one", []string{"a"}, "a: one\nb: 1\n"},
		"everything in braces":  {"{a: 1,\n b: 2}\n", 3, []string{"b"}, "a: 1\nb: 3\n"},
		"nothing in braces":     {"# a\n{}\n", 1, []string{"a", "b"}, "# a\na:\n  b: 1\n"},
		"braces over two lines": {"a: {\n b: 2\n}\nc: 1\n", 3, []string{"a", "b"}, "a:\n  b: 3\nc: 1\n"},
	} {
		got, err := textedit.SetField(c.text, c.value, c.path...)
		if err != nil || got != c.want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", name, err, got, c.want)
		}
	}
	if _, err := textedit.SetField("- a\n", 1, "a"); err == nil {
		t.Error("a list is taken for a mapping")
	}
}
