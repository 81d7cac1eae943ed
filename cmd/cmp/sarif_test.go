package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/cli"
)

// TestSARIF: GitHub rejects all results of a report if one has no rule with texts, or no file.
func TestSARIF(t *testing.T) {
	lines := [][]string{{"check", "-"}, {"check", "no-such"}, {"check", "--deterministic", "../../testdata/charts/almanac"},
		{"fleet", "lint", "../../testdata/fleets/faults"}, {"check", "../../testdata/fleets/faults"}, {"doctor", "../../deploy"}}
	for _, pattern := range []string{"errors/*", "parents/*", "charts/*"} {
		dirs, err := filepath.Glob("../../testdata/" + pattern)
		if err != nil || len(dirs) == 0 {
			t.Fatal(pattern, err)
		}
		for _, dir := range dirs {
			if filepath.Ext(dir) == "" {
				lines = append(lines, []string{"check", dir})
			}
		}
	}
	results := 0
	for _, args := range lines {
		var out, said bytes.Buffer
		run(append(args, "-o", "sarif"), cli.Streams{In: strings.NewReader("kind: A\n"), Out: &out, Err: &said})
		var log struct {
			Runs []struct {
				Tool struct {
					Driver struct {
						Rules []struct {
							ID                     string
							ShortDescription, Help struct{ Text string }
							FullDescription        struct{ Text string }
							HelpURI                string
						}
					}
				}
				Results []struct {
					RuleID    string
					Locations []struct {
						PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
					}
				}
			}
		}
		if err := json.Unmarshal(out.Bytes(), &log); err != nil {
			t.Errorf("%v: %v: %s%s", args, err, out.String(), said.String())
			continue
		}
		described := map[string]bool{}
		for _, rule := range log.Runs[0].Tool.Driver.Rules {
			described[rule.ID] = rule.ShortDescription.Text != "" && len(rule.FullDescription.Text) > 1 && rule.Help.Text != "" && rule.HelpURI != ""
		}
		for _, result := range log.Runs[0].Results {
			results++
			if !described[result.RuleID] || len(result.Locations) == 0 || result.Locations[0].PhysicalLocation.ArtifactLocation.URI == "" {
				t.Errorf("%v: %+v, of %v", args, result, described)
			}
		}
	}
	if results < 200 {
		t.Errorf("only %d results", results)
	}
}
