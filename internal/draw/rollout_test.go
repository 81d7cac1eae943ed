package draw_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
)

// rollout has all that a rollout may have.
func rollout(name string) draw.Rollout {
	return draw.Rollout{
		Label: "rollout of " + name,
		Steps: []draw.Step{{Title: "step 010", About: "CRDs"}, {Title: "step 015", About: "nobody"},
			{Title: "step 020", About: "operators, " + name}},
		Apps: []draw.App{
			{Step: 0, Kind: "crds", Name: "definitions", Tip: "holds definitions"},
			{Step: 2, Kind: "operator", Name: name, Tip: "is " + name, IsFocus: true},
			{Step: 2, Kind: "app", Name: "app", Tip: "is not there", IsDisabled: true},
			{Step: 0, Kind: "app", Name: "early", Tip: "too early"},
		},
		Dependencies: []draw.Dependency{
			{From: 1, To: 0, Why: "is defined by", Reasons: []string{"one", "two of " + name}, IsGate: true},
			{From: 3, To: 1, Why: "is reconciled by", Reasons: []string{"three"}, IsGate: true, Inferred: true, Contradicted: true},
			{From: 1, To: 2, Why: "calls", Reasons: []string{"four"}, Ignored: true},
			{From: 2, To: 0, Why: "exists", Reasons: []string{"five"}},
			{From: 3, To: 0, Why: "follows", Reasons: []string{"is only listed"}, Hidden: true},
		},
	}
}

// TestRollout draws Applications in every format.
func TestRollout(t *testing.T) {
	for _, f := range draw.Formats() {
		text := rollout("pilot").Draw(f)
		wellFormed(t, f, text)
		golden.File(t, filepath.Join("testdata", "rollout."+string(f)), text)
	}
}

// TestRolloutEscapes reads names that are syntax somewhere back from each format.
func TestRolloutEscapes(t *testing.T) {
	for _, name := range golden.Awkward {
		t.Run(strconv.QuoteToASCII(name), func(t *testing.T) {
			for _, f := range draw.Formats() {
				text := rollout(name).Draw(f)
				wellFormed(t, f, text)
				if got := labels(t, f, text); !slices.Contains(got, finding.Sanitize(name)) {
					t.Errorf("%s: %q is not among %q", f, name, got)
				}
			}
		})
	}
}
