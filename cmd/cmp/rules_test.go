package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPagesOfRules follows the links of rules to pages and sections.
func TestPagesOfRules(t *testing.T) {
	title := regexp.MustCompile("(?m)^#+ (.*)$")
	other := regexp.MustCompile("[^a-z0-9 -]")
	for _, rule := range []string{"late", "crd-twice", "no-step", "sidecar-command", "volatile", "remote-timeout", "bad-yaml"} {
		file, section, _ := strings.Cut(rules()[rule].Page, "#")
		var anchors []string
		for _, found := range title.FindAllStringSubmatch(readPage(t, file), -1) {
			anchors = append(anchors, strings.ReplaceAll(other.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
		}
		if section != "" && !slices.Contains(anchors, section) {
			t.Errorf("%s: %s has no section %s", rule, file, section)
		}
	}
}

// TestEveryRuleIsDescribed finds the names of rules in the code: each has its description.
func TestEveryRuleIsDescribed(t *testing.T) {
	t.Parallel()
	described, named := rules(), regexp.MustCompile(`(?:\bRule: |\.Fault\(|\b[rR]ule\w* += )"([a-z][a-z0-9-]+)"`)
	constant, used := regexp.MustCompile(`(?m)^\s*(?:const )?(\w+) += "([a-z][a-z0-9-]+)"`), regexp.MustCompile(`\bRule: (?:\w+\.)?(\w+)\b`)
	values, names := map[string][]string{}, map[string]bool{}
	seen := map[string]bool{"remote-": true} // with the outcome of a fetch
	err := filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{"testdata", "e2e", "conformance", "bench", "live", "dist", ".git", ".ci"}, entry.Name()) {
			return fs.SkipDir // live names causes of hanging syncs, which are no findings
		}
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		for _, found := range named.FindAllSubmatch(text, -1) {
			rule := string(found[1])
			if _, known := described[rule]; !known && !seen[rule] {
				t.Errorf("%s: the rule %s is not in internal/cli/rules.yaml", name, rule)
			}
			seen[rule] = true
		}
		for _, found := range constant.FindAllSubmatch(text, -1) {
			values[string(found[1])] = append(values[string(found[1])], string(found[2]))
		}
		for _, found := range used.FindAllSubmatch(text, -1) {
			names[string(found[1])] = true
		}
		return err
	})
	for name := range names {
		for _, rule := range values[name] {
			if described[rule].Name == "" {
				t.Errorf("the rule %s (%s) is not in internal/cli/rules.yaml", rule, name)
			}
		}
	}
	if err != nil || len(seen) < 100 {
		t.Errorf("found %d rules in the code: %v", len(seen), err)
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
