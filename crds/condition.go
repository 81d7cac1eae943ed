package crds

import (
	"fmt"
	"slices"
)

// condition is what must hold for a piece of a template to be printed, as far
// as it follows from values.
type condition struct {
	op condOp
	// path is the value that is looked at; for first there are several.
	path  Path
	paths []Path
	tags  []string
	text  string // to which it is compared
	of    []condition
}

type condOp int

const (
	// unknown: what it depends on is not only values. It is taken to hold.
	unknown condOp = iota
	// isTrue: the value is true.
	isTrue
	// isText: the value is the text.
	isText
	not
	and
	or
	// takesIn: the first value that is there takes a subchart in, or else one of
	// the tags, or else nothing leaves it out.
	takesIn
)

// Need is a value that must be set for a definition to come out.
type Need struct {
	Path  Path
	Value string
	// Chart is the subchart that it takes in, if that is what it does.
	Chart string
}

func (n Need) String() string { return n.Path.String() + "=" + n.Value }

// needs returns what must be set so that the condition is as wanted; nothing if
// it is, or if that cannot be told. prefer says which of several ways to take.
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

// cheapest returns what one of several parts needs: nothing, if one needs
// nothing and is known to be as wanted.
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
