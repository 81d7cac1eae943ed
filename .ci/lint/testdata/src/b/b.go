package b

import "finding"

const (
	typed   finding.Rule = "late"
	unknown finding.Rule = "latest" // want `the rule "latest" is not described`
	untyped              = "untyped"
)

func report(rule finding.Rule) finding.Finding { return finding.Finding{Rule: rule} }

var all = []finding.Finding{
	report("late"),
	report(typed),
	report("image"),
	report("never"),     // want `the rule "never" is not described`
	{Rule: "no" + "ne"}, // want `the rule "none" is not described`
	{Rule: untyped},     // want `the rule "untyped" is not described`
}
