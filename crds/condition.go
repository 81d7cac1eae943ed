package crds

import (
	"fmt"
	"slices"
)

// condition says for which values a part of a template is rendered.
type condition struct {
	op condOp
	// path is the tested value; enables uses several.
	path  Path
	paths []Path
	tags  []string
	// text is the text to compare with or, for enables, the name of the subchart.
	text string
	of   []condition
}

type condOp int

const (
	// unknown: it does not depend on values only. It is assumed to hold.
	unknown condOp = iota
	// isTrue: the value is true.
	isTrue
	// isText: the value is the text.
	isText
	not
	and
	or
	// enables: the first existing value enables a subchart, or else one of its
	// tags; enabled by default.
	enables
)

// RequiredValue is a value that must be set to get a CRD.
type RequiredValue struct {
	Path  Path
	Value string
	// Chart is the subchart that it enables, if any.
	Chart string
}

func (n RequiredValue) String() string { return n.Path.String() + "=" + n.Value }

// requiredValues returns the values to set so that the condition has the wanted result; none
// if it has, or if that is unknown. prefer chooses between alternatives.
func (c condition) requiredValues(v Values, want bool, prefer func([]RequiredValue) bool) []RequiredValue {
	switch c.op {
	case isTrue:
		if v.isTrue(c.path) != want {
			return []RequiredValue{{Path: c.path, Value: fmt.Sprint(want)}}
		}
	case isText:
		if value, _ := v.at(c.path); want && fmt.Sprint(value) != c.text {
			return []RequiredValue{{Path: c.path, Value: c.text}}
		}
	case not:
		return c.of[0].requiredValues(v, !want, prefer)
	case and, or:
		if (c.op == and) == want {
			var all []RequiredValue
			for _, part := range c.of {
				all = append(all, part.requiredValues(v, want, prefer)...)
			}
			return all
		}
		return c.preferred(v, want, prefer)
	case enables:
		return c.enablingValues(v)
	}
	return nil
}

// preferred returns the values to set so that one of the parts has the wanted result: the
// first that prefer accepts, or else those of the first part; nil if a part is known to have
// the result.
func (c condition) preferred(v Values, want bool, prefer func([]RequiredValue) bool) []RequiredValue {
	var best []RequiredValue
	for _, part := range c.of {
		required := part.requiredValues(v, want, prefer)
		if required == nil {
			if part.op != unknown {
				return nil
			}
			continue
		}
		if best == nil || !prefer(best) && prefer(required) {
			best = required
		}
	}
	return best
}

// enablingValues returns the value to set so that the subchart is enabled; none if it is.
func (c condition) enablingValues(v Values) []RequiredValue {
	need := func(p Path) []RequiredValue { return []RequiredValue{{Path: p, Value: "true", Chart: c.text}} }
	for _, p := range c.paths {
		if value, ok := v.at(p); ok {
			if on, isBool := value.(bool); isBool && !on {
				return need(p)
			}
			return nil
		}
	}
	off := false
	for _, tag := range c.tags {
		on, ok := v.at(Path{"tags", tag})
		if ok && on == true {
			return nil
		}
		off = off || ok
	}
	if off {
		return need(Path{"tags", c.tags[0]})
	}
	return nil
}

// values lists the values that the condition looks at and that must be true.
func (c condition) values() []Path {
	switch c.op {
	case isTrue:
		return []Path{c.path}
	case enables:
		return c.paths
	case and, or:
		var all []Path
		for _, part := range c.of {
			all = append(all, part.values()...)
		}
		return all
	}
	return nil
}

// missingValues returns the values to set so that all conditions hold, without duplicates.
func missingValues(all []condition, v Values, prefer func([]RequiredValue) bool) []RequiredValue {
	var missing []RequiredValue
	for _, c := range all {
		for _, n := range c.requiredValues(v, true, prefer) {
			if !slices.ContainsFunc(missing, func(o RequiredValue) bool { return o.String() == n.String() }) {
				missing = append(missing, n)
			}
		}
	}
	return missing
}
