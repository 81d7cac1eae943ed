package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRules looks up the rules that pages describe in tables: a code host shows the same.
func TestRules(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| ([a-z][a-z, -]*) \| `)
	for _, page := range []string{"check.md#findings", "crds.md#findings"} {
		file, _, _ := strings.Cut(page, "#")
		_, table, there := strings.Cut(readPage(t, file), "\n| finding | what it means |")
		if !there {
			t.Fatalf("%s has no table of findings", file)
		}
		table, _, _ = strings.Cut(table, "\n\n")
		rows := row.FindAllStringSubmatch(table, -1)
		if len(rows) < 5 {
			t.Errorf("%s has %d rows", file, len(rows))
		}
		for _, row := range rows {
			for name := range strings.SplitSeq(row[1], ", ") {
				if r := rules().Of(name); r.Page != page || r.Fix == "" {
					t.Errorf("%s is described as %+v", name, r)
				}
			}
		}
	}
}

// TestPagesOfRules follows the links of rules to pages and sections.
func TestPagesOfRules(t *testing.T) {
	title := regexp.MustCompile("(?m)^#+ (.*)$")
	other := regexp.MustCompile("[^a-z0-9 -]")
	for _, rule := range []string{"late", "crd-twice", "no-step", "sidecar-command", "volatile", "remote-timeout", "bad-yaml"} {
		file, section, _ := strings.Cut(rules().Of(rule).Page, "#")
		var anchors []string
		for _, found := range title.FindAllStringSubmatch(readPage(t, file), -1) {
			anchors = append(anchors, strings.ReplaceAll(other.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
		}
		if section != "" && !slices.Contains(anchors, section) {
			t.Errorf("%s: %s has no section %s", rule, file, section)
		}
	}
}

func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
