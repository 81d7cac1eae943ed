package object

import (
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"
)

// blockTexts are texts with what looks like literal blocks, and how many of
// these are taken at first. The others are not plain enough.
var blockTexts = map[string]struct {
	text  string
	taken int
}{
	"clip":             {"a: |\n  x: 1\n    y\n\n  z\n\n\nb: 1\n", 1},
	"strip":            {"a: |-\n  x\n\n", 1},
	"keep":             {"a: |+\n  x\n\n\nb: 1\n", 1},
	"in a list":        {"l:\n- a: |\n    x\n  b: |-\n    y\n- c\n", 2},
	"same column":      {"l:\n- a: |\n  x\n", 0},
	"spaces in blanks": {"a: |\n  x\n     \n  \n y: |\n", 0},
	"trailing spaces":  {"a: |\n  x  \n     \nb: 1\n", 1},
	"comment ends it":  {"a: |\n  x\n# c\nb: 1\n", 1},
	"comment inside":   {"a:\n  b: |\n    x\n   # c\n  d: 1\n", 0},
	"empty":            {"a: |\nb: |-\n\n  \nc: 1\n", 0},
	"blank line first": {"a: |\n\n  x\n", 0},
	"tab":              {"a: |\n  x\n\ty\n", 0},
	"indicator":        {"a: |2\n    x\n", 0},
	"anchor":           {"a: &x |\n  b: |\n    y\n", 1},
	"in a block":       {"a: |\n  b: |\n    c\n  d\ne: 1\n", 1},
	"in a folded one":  {"a: >\n  b: |\n    c\n  d\ne: |\n  f\n", 2},
	"in quotes":        {"a: \"\n  b: |\n    c\n  d\"\n", 1},
	"comment":          {"# a: |\n  # b\nc: 1\n", 0},
	"line separator":   {"a: |\n  x\u2028y\n", 0},
	"forbidden":        {"a: |\n  x\x07\n", 0},
	"letters":          {"a: |\n  übergröße 😀\n", 1},
	"unended":          {"a: |\n  x", 0},
	"none":             {"a: 1\n", 0},
}

func TestBlocks(t *testing.T) {
	for name, c := range blockTexts {
		t.Run(name, func(t *testing.T) {
			short, blocks := withoutBlocks(c.text, 0)
			if len(blocks) != c.taken {
				t.Fatalf("took %d blocks, want %d: %q", len(blocks), c.taken, short)
			}
			checkBlocks(t, c.text)
		})
	}
}

// FuzzBlocks holds that a text says the same whether its literal blocks are
// read here or by the YAML library.
func FuzzBlocks(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	for _, c := range blockTexts {
		f.Add(c.text)
	}
	f.Fuzz(checkBlocks)
}

func checkBlocks(t *testing.T, text string) {
	short, blocks := withoutBlocks(text, 0)
	if strings.Count(short, "\n") != strings.Count(text, "\n") {
		t.Errorf("lines are lost: %q", short)
	}
	var quick, slow yaml.Node
	if blocks == nil || unmarshal(short, &quick) != nil || !restore(&quick, blocks) {
		return // all of the text is read then
	}
	if err := unmarshal(text, &slow); err != nil {
		t.Fatalf("accepts what the library refuses: %v", err)
	}
	checkSame(t, &quick, &slow)
}

func checkSame(t *testing.T, got, want *yaml.Node) {
	t.Helper()
	if got.Kind != want.Kind || got.Tag != want.Tag || got.Value != want.Value || got.Line != want.Line || got.Column != want.Column ||
		len(got.Content) != len(want.Content) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i := range want.Content {
		checkSame(t, got.Content[i], want.Content[i])
	}
}
