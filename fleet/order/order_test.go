package order_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/fleet/order"
	"github.com/ladder-cmp/ladder/object"
)

// input reads a tree: a line for each node, indented below its parent, with its wave or, below a
// set, its step; a set says how many steps it has. "?" is an Application with unknown content.
// Each need is "from > to", "from >= to" if the same place is enough, and "from ~ to" if it is
// inferred.
func input(t *testing.T, tree, needs string) order.Input {
	t.Helper()
	in := order.Input{Unknown: map[int]bool{}}
	nodes := map[string]int{}
	var above []int
	for line := range strings.Lines(strings.Trim(tree, "\n")) {
		fields := strings.Fields(line)
		depth := (len(line) - len(strings.TrimLeft(line, "\t")))
		n := inplace.Node{Parent: inplace.None, Object: object.Object{ID: object.ID{Kind: "Application", Name: fields[0]}}}
		above = append(above[:min(depth, len(above))], len(in.Tree.Nodes))
		if depth > 0 {
			n.Parent = above[depth-1]
		}
		for _, word := range fields[1:] {
			number := 0
			switch _, err := fmt.Sscan(strings.TrimPrefix(word, "steps="), &number); {
			case word == "?":
				in.Unknown[len(in.Tree.Nodes)] = true
			case word == "set":
				n.IsSet = true
			case err != nil:
				t.Fatal(word, err)
			case strings.HasPrefix(word, "steps="):
				n.IsSet, n.Steps = true, number
			case n.Parent != inplace.None && in.Tree.Nodes[n.Parent].Steps > 0:
				n.Step = number
			default:
				n.Wave = component.Step{Number: number, Set: true}
			}
		}
		nodes[fields[0]] = len(in.Tree.Nodes)
		in.Tree.Nodes = append(in.Tree.Nodes, n)
	}
	for line := range strings.Lines(needs) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		from, known := nodes[f[0]]
		to, there := nodes[f[2]]
		if !known || !there {
			t.Fatal(line)
		}
		in.Needs = append(in.Needs, order.Need{From: from, To: to, Later: f[1] != ">=", IsCertain: f[1] != "~", Count: len(f) - 2,
			Because: f[0] + " needs " + f[2]})
	}
	return in
}

// written lists what is not equal.
func written(in order.Input, all []order.Scope) string {
	name := func(i int) string { return in.Tree.Nodes[i].Object.ID.Name }
	var b strings.Builder
	for _, s := range all {
		for _, r := range s.Rows {
			if r.Verdict == order.Equal && len(r.Rests) == 0 {
				continue
			}
			fmt.Fprintf(&b, "%s %d -> %d: %s", name(r.Node), r.Now, r.Computed, r.Verdict)
			if r.Verdict == order.Possible {
				fmt.Fprintf(&b, " %d", r.Earliest)
			}
			if r.Why != "" {
				b.WriteString(", " + r.Why)
			}
			for _, i := range r.Rests {
				b.WriteString("; rests on " + name(i))
			}
			b.WriteByte('\n')
		}
		for _, c := range s.Cycles {
			b.WriteString("cycle:")
			for _, n := range c.Needs {
				b.WriteString(" " + n.Because + ";")
			}
			b.WriteString(" without " + c.Removed.Because + "\n")
		}
		for _, n := range s.Ignored {
			b.WriteString("ignored: " + n.Because + "\n")
		}
		for _, k := range s.Kept {
			fmt.Fprintf(&b, "%s keeps %d before and %d after it\n", name(k.Node), k.Before, k.After)
		}
		for _, c := range s.Crossed {
			b.WriteString("crossed: " + name(c[0]) + " before " + name(c[1]) + "\n")
		}
		if s.Lacking {
			fmt.Fprintf(&b, "needs %d steps\n", s.Count)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestCompute(t *testing.T) {
	for name, c := range map[string]struct{ tree, needs, want string }{
		"the owner's order works":  {"root\n\ta 1\n\tb 2\n\tc 7", "b > a\nc > b\n", ""},
		"unordered, without waves": {"root\n\ta\n\tb", "a > b", "a 0 -> 1: must be later, after b: a needs b"},
		"a network comes before the forty": {"root\n\tcni 3\n\ta 1\n\tb 2\n\tc 3", "a > cni\nb > a\nc > cni\nc > b",
			"cni 3 -> 0: must be earlier, before a: a needs cni"},
		"what could be earlier stays": {"root\n\ta 1\n\tb 2\n\tc 9", "c > a",
			"b 2 -> 2: earlier possible 1, it needs nothing of what comes before it\nc 9 -> 9: earlier possible 2, after a: c needs a"},
		"the nearest common parent": {"root\n\tx 1\n\t\tdb\n\ty 1\n\t\tweb", "web > db",
			"y 1 -> 2: must be later, after x: web needs db"},
		"one contains the other":     {"root\n\tx 1\n\t\tdb", "x > db", ""},
		"without a parent":           {"a 1\nb 1", "a > b", "a 1 -> 2: must be later, after b: a needs b"},
		"an inferred one, unordered": {"root\n\ta\n\tb", "a ~ b", "a 0 -> 1: must be later, after b: a needs b"},
		"an inferred one the owner contradicts": {"root\n\ta 1\n\tb 2", "a ~ b",
			"b 2 -> 2: earlier possible 1, it needs nothing of what comes before it\nignored: a needs b"},
		"an inferred one a certain one contradicts": {"root\n\ta 1\n\tb 1", "b > a\na ~ b",
			"b 1 -> 2: must be later, after a: b needs a\nignored: a needs b"},
		"a cycle between siblings": {"root\n\tx 1\n\t\tx1\n\t\tx2\n\ty 1\n\t\ty1\n\t\ty2", "x1 > y1 twice\ny2 > x2",
			"x 1 -> 2: must be later, after y: x1 needs y1\ncycle: x1 needs y1; y2 needs x2; without y2 needs x2"},
		"unknown content keeps its place": {"root\n\ta 1\n\tu 2 ?\n\tb 3", "",
			"b 3 -> 3: equal; rests on u\nu keeps 1 before and 1 after it"},
		"moved with what is not known": {"root\n\ta 3\n\tb 3\n\tu 4 ?", "b > a\n",
			"a 3 -> 2: must be earlier, before b: b needs a\nu keeps 2 before and 0 after it"},
		"steps: an element moves": {"set steps=2\n\ta 1\n\tb 1\n\tc 2", "b > a",
			"b 1 -> 2: must be later, after a: b needs a\nc 2 -> 2: earlier possible 1, it needs nothing of what comes before it"},
		"steps: too few": {"set steps=2\n\ta 1\n\tb 1\n\tc 2", "b > a\nc > b",
			"b 1 -> 2: must be later, after a: b needs a\nc 2 -> 3: must be later, after b: c needs b\nneeds 3 steps"},
		"steps: not selected": {"set steps=2\n\ta 1\n\tb 0\n\tc 2", "c > a\nb > c",
			"b 0 -> 0: not selected, no step selects it, so Argo CD never syncs it"},
		"a set without steps": {"set set\n\ta\n\tb\n\tc\n\td ?", "c > b\nb > a",
			"a 0 -> 1: not set, before b: b needs a\nb 0 -> 2: not set, before c: c needs b\nc 0 -> 3: not set, after b: c needs b\n" +
				"d 0 -> 3: not set, nothing needs it; rests on d"},
		"waves in the template of a set": {"set set\n\ta 5\n\tb 1\n\tc 1\n\td 9", "c > b",
			"a 0 -> 3: not set, its template has wave 5, which Argo CD ignores\nb 0 -> 1: not set, before c: c needs b\n" +
				"c 0 -> 2: not set, after b: c needs b\nd 0 -> 4: not set, its template has wave 9, which Argo CD ignores"},
		"a set that needs none": {"set set\n\ta\n\tb", "a >= b", ""},
	} {
		in := input(t, c.tree, c.needs)
		all := order.Compute(in)
		if got := written(in, all); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
		// Once more, from the computed places: nothing changes.
		for _, s := range all {
			for _, r := range s.Rows {
				switch n := &in.Tree.Nodes[r.Node]; s.Kind {
				case order.Waves:
					n.Wave.Number = r.Computed
				case order.Steps, order.Proposed:
					n.Step = r.Computed
					in.Tree.Nodes[s.Parent].Steps = s.Count
				}
			}
		}
		for _, s := range order.Compute(in) {
			if i := slices.IndexFunc(s.Rows, func(r order.Row) bool { return r.Computed != r.Now }); i >= 0 {
				t.Errorf("%s: once more, %s changes again: %+v", name, in.Tree.Nodes[s.Rows[i].Node].Object.ID.Name, s.Rows[i])
			}
		}
	}
}
