package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestContributing makes sure that what CONTRIBUTING.md has people run is what .ci/run
// runs, and that the commit it shows is one that it accepts.
func TestContributing(t *testing.T) {
	documents(t)
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	checks, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 2 {
		t.Fatalf("only %d blocks of commands", len(blocks))
	}
	for _, block := range blocks {
		for command := range strings.Lines(block[1]) {
			if !strings.Contains(string(checks), strings.TrimSpace(command)) {
				t.Errorf(".ci/run does not run %s", command)
			}
		}
	}
	commit := regexp.MustCompile(`(?m)^    ([a-z]+(?:, [a-z]+)*: [a-z].*[^.])\n\n(?:    .+\n)+`).FindStringSubmatch(string(text))
	if commit == nil {
		t.Fatal("CONTRIBUTING.md shows no commit with an area, a subject and a body")
	}
	if n := utf8.RuneCountInString(commit[1]); n > 72 {
		t.Errorf("the subject of the commit has %d characters", n)
	}
}
