package main

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/wave"
)

// The formats of a report.
const (
	reportText  = "text"
	reportJSON  = "json"
	reportSARIF = "sarif"
)

// errReported ends a command whose report, on standard output, says what is
// wrong.
var errReported = errors.New("the report holds errors")

func knownReport(format string) error {
	return knownFormat(format, reportText, reportJSON, reportSARIF)
}

func (r verdict) render(format string) (string, error) {
	switch format {
	case reportJSON:
		return r.json()
	case reportSARIF:
		return r.sarif()
	}
	return r.text(), nil
}

func (r verdict) json() (string, error) {
	out := struct {
		Components []judged          `json:"components,omitzero"`
		Findings   []finding.Finding `json:"findings"`
		Gates      []wave.Gate       `json:"gates,omitzero"`
	}{Components: r.components, Findings: []finding.Finding{}}
	if r.of == "" {
		out.Gates = append([]wave.Gate{}, r.gates...)
	}
	for _, f := range r.findings {
		out.Findings = append(out.Findings, f.Told())
	}
	text, err := json.MarshalIndent(out, "", "  ")
	return string(text) + "\n", err
}

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
			InformationURI string      `json:"informationUri"`
			Rules          []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifRule struct {
	ID string `json:"id"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

// sarif writes the report in the format that code hosts show beside the lines
// of a change. Its levels have the names of our severities.
func (r verdict) sarif() (string, error) {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver.Name, run.Tool.Driver.InformationURI = "ladder", "https://"+modulePath
	run.Tool.Driver.Rules = []sarifRule{}
	for _, f := range r.findings {
		rule := sarifRule{f.Rule}
		if !slices.Contains(run.Tool.Driver.Rules, rule) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
		}
		text := finding.Finding{Object: f.Object, Field: f.Field, Message: f.Message, Remedy: f.Remedy}
		result := sarifResult{RuleID: f.Rule, Level: string(f.Severity), Message: sarifMessage{text.Error()}}
		if f.File != "" && f.File != standardInput { // which no code host can show
			var at sarifLocation
			at.Physical.Artifact.URI = (&url.URL{Path: f.File}).String()
			if f.Line > 0 {
				at.Physical.Region = &sarifRegion{f.Line}
			}
			result.Locations = []sarifLocation{at}
		}
		run.Results = append(run.Results, result)
	}
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
	text, err := json.MarshalIndent(log, "", "  ")
	return string(text) + "\n", err
}

// modulePath is where the program comes from.
const modulePath = "github.com/ladder-cmp/ladder"
