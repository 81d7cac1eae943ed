package finding

import (
	"slices"
	"strings"
)

// mostAlso is how many further objects a finding names: nobody reads a longer line.
const mostAlso = 10

// Together makes one finding of those of one rule about one missing object: the first of them
// lists the objects of the others, which one addition or one expectation corrects, too. It has
// the highest severity of all.
func Together(all []Finding) []Finding {
	type cause struct {
		rule    Rule
		missing string
	}
	at := map[cause]int{}
	var merged []Finding
	for _, f := range all {
		first, known := at[cause{f.Rule, f.Missing}]
		if f.Missing == "" || !known {
			at[cause{f.Rule, f.Missing}] = len(merged)
			merged = append(merged, f)
			continue
		}
		m := &merged[first]
		if f.Severity == Error || m.Severity == Note {
			m.Severity = f.Severity
		}
		*m = m.WithAlso(append(f.AlsoObjects(), f.Object)...)
	}
	return merged
}

// WithAlso returns the finding as one about further objects, too.
func (f Finding) WithAlso(objects ...string) Finding {
	f.Message = strings.TrimSuffix(f.Message, f.alsoText())
	names := f.AlsoObjects()
	for _, name := range objects {
		if name != f.Object && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	f.Also = strings.Join(names, ", ")
	f.Message += f.alsoText()
	return f
}

// AlsoObjects returns the names in Also.
func (f Finding) AlsoObjects() []string {
	if f.Also == "" {
		return nil
	}
	return strings.Split(f.Also, ", ")
}

// alsoText is what a message says of the further objects.
func (f Finding) alsoText() string {
	if f.Also == "" {
		return ""
	}
	return "; the same holds for " + First(f.AlsoObjects(), mostAlso)
}
