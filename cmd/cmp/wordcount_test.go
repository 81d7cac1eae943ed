package main

import (
	"os"
	"strings"
	"testing"
)

// wordsCeiling is how many words README.md and docs may have, without the generated page of
// commands: to add a text, cut another.
const wordsCeiling = 58_800

// TestWords keeps the documents from growing.
func TestWords(t *testing.T) {
	words := 0
	for _, doc := range documents(t) {
		if strings.Contains(doc, "reference") {
			continue
		}
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		words += len(strings.Fields(string(text)))
	}
	if words > wordsCeiling {
		t.Errorf("the documents have %d words, of at most %d; cut what is said twice", words, wordsCeiling)
	}
}
