package main

import (
	"os"
	"strings"
	"testing"
)

// wordsCeiling is how many thousand words README.md and docs may have. Lower it when they get
// shorter; to add a text, cut another.
const wordsCeiling = 61

// TestWords keeps the documents from growing.
func TestWords(t *testing.T) {
	words := 0
	for _, doc := range documents(t) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		words += len(strings.Fields(string(text)))
	}
	if thousands := (words + 999) / 1000; thousands != wordsCeiling {
		t.Errorf("the documents have %d words, of at most %d thousand; cut what is said twice, or lower wordsCeiling", words, wordsCeiling)
	}
}
