package crds

import (
	"fmt"
	"slices"
)

// condition is the condition for output of a part of a template, as far as it
// depends on values.
type condition struct {
	op condOp
	// path is the tested value; takesIn uses several.
	path  Path
	paths []Path
	tags  []string
	text  string // to compare with
	of    []condition
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
	// takesIn: the first existing value enables a subchart, or else one of its
	// tags; enabled by default.
	takesIn
)

// Need is a value that must be set to get a CRD.
type Need struct {
	Path  Path
	Value string
	// Chart is the subchart that it enables, if any.
	Chart string
}

func (n Need) String() string { return n.Path.String() + "=" + n.Value }

// needs returns the values to set so that the condition has the wanted result; none
// if it has, or if that is unknown. prefer chooses between alternatives.
func (c condition) needs(v Values, want bool, prefer func([]Need) bool) []Need {
	switch c.op {
	case isTrue:
		if v.true(c.path) != want {
			return []Need{{Path: c.path, Value: fmt.Sprint(want)}}
		}
	case isText:
		if value, _ := v.at(c.path); want && fmt.Sprint(value) != c.text {
			return []Need{{Path: c.path, Value: c.text}}
		}
	case not:
		return c.of[0].needs(v, !want, prefer)
	case and, or:
		if (c.op == and) == want {
			var all []Need
			for _, part := range c.of {
				all = append(all, part.needs(v, want, prefer)...)
			}
			return all
		}
		return c.cheapest(v, want, prefer)
	case takesIn:
		return c.takenIn(v)
	}
	return nil
}

// cheapest returns the needs of the best of several parts: none if one of them is
// known to have the wanted result.
func (c condition) cheapest(v Values, want bool, prefer func([]Need) bool) []Need {
	var best []Need
	for _, part := range c.of {
		needs := part.needs(v, want, prefer)
		if needs == nil {
			if part.op != unknown {
				return nil
			}
			continue
		}
		if best == nil || !prefer(best) && prefer(needs) {
			best = needs
		}
	}
	return best
}

func (c condition) takenIn(v Values) []Need {
	need := func(p Path) []Need { return []Need{{Path: p, Value: "true", Chart: c.text}} }
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
	case takesIn:
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

// unmet returns what conditions that must all hold need, each once.
func unmet(all []condition, v Values, prefer func([]Need) bool) []Need {
	var needs []Need
	for _, c := range all {
		for _, n := range c.needs(v, true, prefer) {
			if !slices.ContainsFunc(needs, func(o Need) bool { return o.String() == n.String() }) {
				needs = append(needs, n)
			}
		}
	}
	return needs
}
