package textedit_test

import (
	"testing"

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
	got := textedit.Apply("abcdef", textedit.Splice{From: 4, To: 6, Text: "Y"}, textedit.Splice{From: 1, To: 1, Text: "-"}, textedit.Splice{From: 1, To: 2, Text: "X"}, textedit.Splice{From: 0, To: 0, Text: "<"})
	if want := "<a-XcdY"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
