package fetch

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocuments compares the tables of the page with what they are about.
func TestDocuments(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	rows := map[outcome][2]string{}
	for _, m := range regexp.MustCompile("\\| `([a-z-]+)` \\|[^|]*\\| (yes|no) \\| (yes|no) \\|").FindAllStringSubmatch(page, -1) {
		rows[outcome(m[1])] = [2]string{m[2], m[3]}
	}
	yes := map[bool]string{true: "yes", false: "no"}
	for _, o := range outcomes {
		if slices.Contains([]outcome{fetched, stale, canceled}, o) {
			continue
		}
		if want := [2]string{yes[retryable[o]], yes[replaceable[o]]}; rows[o] != want {
			t.Errorf("%s: the page says %v, want %v", o, rows[o], want)
		}
		delete(rows, o)
	}
	if len(rows) > 0 {
		t.Errorf("the page has %v", rows)
	}
	for _, what := range []string{
		fmt.Sprintf("downloads | %d MiB |", DefaultBytes>>20), fmt.Sprintf("unpacked | %d MiB |", UnpackedRatio*DefaultBytes>>20),
		fmt.Sprintf("retries | %.0f s |", DefaultTime.Seconds()),
		fmt.Sprintf("others wait | %d |", DefaultConcurrent), fmt.Sprintf("retries | %d |", DefaultRetries),
		fmt.Sprintf("cache | %d GiB |", DefaultCacheBytes>>30)} {
		if !strings.Contains(page, what) {
			t.Errorf("the page does not say %s", what)
		}
	}
	for _, d := range contentHosts {
		if !strings.Contains(page, "`"+d.from+"`") || !strings.Contains(page, "`"+d.to+"`") {
			t.Errorf("the page does not say that %s redirects to %s for %s", d.from, d.to, d.why)
		}
	}
	for _, names := range keys {
		for _, name := range names {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("the page does not say what the file %s is", name)
			}
		}
	}
	// The examples of the table of what is allowed.
	_, table, _ := strings.Cut(page, "### What is allowed")
	table, _, _ = strings.Cut(table, "\n#")
	entries := regexp.MustCompile("(?m)^\\| `((?:https|oci)://[^`]+)` \\|").FindAllStringSubmatch(table, -1)
	if len(entries) == 0 {
		t.Error("the page has no examples of what is allowed")
	}
	for _, entry := range entries {
		if _, wrong := parseAllow([]string{entry[1]}); wrong != nil {
			t.Errorf("%s: %v", entry[1], wrong)
		}
	}
}
