package component

import (
	"fmt"
	"strconv"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// Step is a step in the rollout of a fleet, as in component.yaml: 10, "010" and
// 010 are equal. It may be negative if it is used as the sync wave of an
// Application.
type Step struct {
	Number int
	// Text is the written value.
	Text string
	// Set is false if there is none.
	Set bool
	// Other is the value in programs that read YAML 1.1, if it differs: Argo CD
	// reads 010 without quotes as 8.
	Other int
	// Ambiguous reports whether it differs.
	Ambiguous bool
}

// StepPattern matches a step: an integer up to MaxStep. YAML would read one that
// starts with 0 as octal, which is never intended.
const (
	StepPattern = `^-?[0-9]{1,6}$`
	MaxStep     = 999999
)

var steps = lazyregexp.New(StepPattern)

// ParseStep parses a step.
func ParseStep(text string) (Step, error) {
	if !steps.MatchString(text) {
		return Step{Text: text}, finding.Fault(fmt.Sprintf("%q is not a valid step", text), "write a whole number, such as 120 or \"010\"")
	}
	number, err := strconv.Atoi(text)
	return Step{Number: number, Text: text, Set: err == nil}, err
}

// UnmarshalYAML reads a number or a string.
func (p *Step) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: %w", n.Line, finding.Fault("must be a single value, not a list or mapping",
			"write a whole number, such as 120 or \"010\""))
	}
	read, err := ParseStep(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 && n.Tag == "!!int" {
		if other, err := strconv.ParseInt(n.Value, 0, 64); err == nil && int(other) != read.Number {
			read.Other, read.Ambiguous = int(other), true
		}
	}
	*p = read
	return nil
}

// Padded pads a step to the fleet's number of digits.
func Padded(number, digits int) string {
	if number < 0 {
		return fmt.Sprintf("-%0*d", digits, -number)
	}
	return fmt.Sprintf("%0*d", digits, number)
}
