package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// maxRules limits how many names of rules users may have to know.
const maxRules = 110

// TestRules follows the links of rules to pages and sections. The linter finds rules of the code
// that are not described.
func TestRules(t *testing.T) {
	title := regexp.MustCompile("(?m)^#+ (.*)$")
	other := regexp.MustCompile("[^a-z0-9 -]")
	sections := map[string]bool{}
	for name, rule := range rules() {
		page, section, _ := strings.Cut(rule.Page, "#")
		if rule.Finds == "" || section == "" {
			t.Errorf("%s: no description, or no section: %+v", name, rule)
			continue
		}
		if !sections[page+"#"] {
			sections[page+"#"] = true
			for _, found := range title.FindAllStringSubmatch(readPage(t, page), -1) {
				sections[page+"#"+strings.ReplaceAll(other.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-")] = true
			}
		}
		if !sections[rule.Page] {
			t.Errorf("%s: docs has no %s", name, rule.Page)
		}
	}
	if n := len(rules()); n > maxRules {
		t.Errorf("there are %d rules, of at most %d; report under one that exists", n, maxRules)
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
