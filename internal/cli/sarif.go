package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/paint"
)

// sarifLog is the part of SARIF 2.1.0 that a report needs
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver struct {
			Name           string      `json:"name"`
			Version        string      `json:"version,omitempty"`
			InformationURI string      `json:"informationUri"`
			Rules          []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Results []sarifResult `json:"results"`
}

// sarifRule describes a rule. GitHub requires all texts.
type sarifRule struct {
	ID               finding.Rule `json:"id"`
	ShortDescription sarifMessage `json:"shortDescription"`
	FullDescription  sarifMessage `json:"fullDescription"`
	Help             sarifMessage `json:"help"`
	HelpURI          string       `json:"helpUri"`
}

type sarifResult struct {
	RuleID    finding.Rule    `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
			// BaseID is what the URI is relative to: the root of the repository, or
			// empty if there is none.
			BaseID string `json:"uriBaseId,omitempty"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

// repository is the address of the project.
const repository = "https://github.com/ladder-cmp/ladder"

// sarif formats the report for code hosts, which show it in the lines of a change.
// SARIF's levels have the names of our severities.
func (r Report) sarif() (string, error) {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver.Name, run.Tool.Driver.Version, run.Tool.Driver.InformationURI = "ladder", r.Version, repository
	run.Tool.Driver.Rules = []sarifRule{}
	for _, f := range r.Findings {
		rule := r.Rules[f.Rule].sarif(r.Version)
		if !slices.Contains(run.Tool.Driver.Rules, rule) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
		}
		text := finding.Finding{Object: f.Object, Field: f.Field, Message: f.Message, Remedy: f.Remedy, Question: f.Question}
		if f.File == "" || f.File == finding.StandardInput { // GitHub rejects all results if one has no location
			f.File, f.Line = r.named(), 0
		}
		run.Results = append(run.Results, sarifResult{RuleID: f.Rule, Level: string(f.Severity),
			Message: sarifMessage{text.Error()}, Locations: []sarifLocation{location(f)}})
	}
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
	return paint.JSON(log)
}

// named returns the first file or directory that the user named, or else the working directory.
func (r Report) named() string {
	for _, name := range r.Named {
		if _, err := os.Stat(name); err == nil {
			return filepath.ToSlash(name)
		}
	}
	return "."
}

// sarif describes a rule to code hosts. version is that of the program.
func (r Rule) sarif(version string) sarifRule {
	ref := "main"
	if releases.MatchString(version) {
		ref = "v" + strings.TrimPrefix(version, "v")
	}
	r.Finds, r.Fix = links.ReplaceAllString(r.Finds, "$1"), links.ReplaceAllString(r.Fix, "$1")
	full := r.Finds + "."
	if r.Fix != "" {
		full += " Fix: " + r.Fix + "."
	}
	uri := repository + "/blob/" + ref + "/docs/" + r.Page
	return sarifRule{ID: r.Name, ShortDescription: sarifMessage{r.Finds}, FullDescription: sarifMessage{full},
		Help: sarifMessage{full + " See " + uri}, HelpURI: uri}
}

// releases matches the versions that have a tag.
var releases = lazyregexp.New(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)

// links matches links of Markdown, which code hosts show as text.
var links = lazyregexp.New(`\[([^]]*)\]\([^)]*\)`)
