package component

import (
	"fmt"
	"regexp"
	"strconv"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Phase is a place in the rollout of a fleet, as a component.yaml has it: 10,
// "010" and 010 are one. It may be below zero, where it is the sync wave of an
// Application.
type Phase struct {
	Number int
	// Text is what is written.
	Text string
	// Set is false if nothing is.
	Set bool
	// Other is what programs that read numbers as YAML 1.1 does take it for, if
	// that is another number: Argo CD reads 010 without quotes as 8.
	Other int
	// Misread is true if there is such a number.
	Misread bool
}

// PhasePattern is what a phase looks like: a whole number, as far as MaxPhase.
// YAML would take one that begins with 0 for octal, which nobody means.
const (
	PhasePattern = `^-?[0-9]{1,6}$`
	MaxPhase     = 999999
)

var phases = regexp.MustCompile(PhasePattern)

// ParsePhase reads a phase.
func ParsePhase(text string) (Phase, error) {
	if !phases.MatchString(text) {
		return Phase{Text: text}, finding.Fault(fmt.Sprintf("%q is not a rollout phase", text), "write a whole number, such as 120 or \"010\"")
	}
	number, err := strconv.Atoi(text)
	return Phase{Number: number, Text: text, Set: err == nil}, err
}

// UnmarshalYAML reads a number or a text.
func (p *Phase) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: %w", n.Line, finding.Fault("want a single value, not a list or mapping", "write a whole number, such as 120 or \"010\""))
	}
	read, err := ParsePhase(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 && n.Tag == "!!int" {
		if other, err := strconv.ParseInt(n.Value, 0, 64); err == nil && int(other) != read.Number {
			read.Other, read.Misread = int(other), true
		}
	}
	*p = read
	return nil
}

// Padded writes a phase with as many digits as the fleet has.
func Padded(number, digits int) string {
	if number < 0 {
		return fmt.Sprintf("-%0*d", digits, -number)
	}
	return fmt.Sprintf("%0*d", digits, number)
}
