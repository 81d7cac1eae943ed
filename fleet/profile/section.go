package profile

import (
	"fmt"
	"path"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Reading returns knowledge that reads the fleet sections of further ladder.yaml files.
func Reading(base *knowledge.Base) *knowledge.Base { return base.ReadingFleets(read) }

// In returns the fleet section that was read; the zero value if there is none.
func In(base *knowledge.Base) Fleet {
	f, _ := base.Fleet().Content.(Fleet)
	return f
}

// Platform returns what a rendering needs of the section.
func (f Fleet) Platform() component.Platform {
	p := component.Platform{RepoURL: f.RepoURL}
	p.Allow.BuildOptions = f.Allow.BuildOptions
	for _, e := range f.Environments {
		p.Environments = append(p.Environments, component.PlatformEnvironment{Name: e.Name, Values: e.Values})
	}
	return p
}

// read reads the fleet section of a ladder.yaml.
func read(file settings.File, n *yaml.Node) (any, []error) {
	faults := file.CheckSection(n, "fleet", Fleet{}, nil)
	wrong := len(faults) > 0
	fault := func(n *yaml.Node, field, message, remedy string) {
		faults = append(faults, file.Fault(n.Line, field, message, remedy))
	}
	accepted := settings.Items(settings.Value(n, "accepted"))
	for i, n := range accepted {
		var a Accepted
		if len(file.Check(n, a, nil)) == 0 && n.Decode(&a) == nil {
			a.check(func(key, message, remedy string) {
				field, at := fmt.Sprintf("fleet.accepted[%d]", i), n
				if key != "" {
					field, at = field+"."+key, settings.Value(n, key)
				}
				fault(at, field, message, remedy)
			})
		}
	}
	if wrong {
		return nil, faults
	}
	var f Fleet
	if err := n.Decode(&f); err != nil { // the type is right, but aliases may expand to an excessive size
		fault(n, "fleet", err.Error(), "use fewer aliases")
		return nil, faults
	}
	for i, n := range accepted {
		f.Accepted[i].Line = n.Line
	}
	f.Check(func(key string) bool {
		at := n
		for name := range strings.SplitSeq(key, ".") {
			at = settings.Value(at, name)
		}
		return at != nil
	}, func(key, message, remedy string) { fault(n, "fleet."+key, message, remedy) })
	if f.Parents != "" && (strings.Count(f.Parents, "*") != 1 || !object.IsName(strings.ReplaceAll(f.Parents, "*", "x"))) {
		fault(settings.Value(n, "parents"), "fleet.parents", fmt.Sprintf("%q is not a name with one * for the band", f.Parents),
			`write a name such as "*-dev"`)
	}
	if _, err := Of(f); err != nil {
		found := finding.Of(err)[0]
		fault(n, "fleet", found.Message, found.Remedy)
	}
	f.File, f.Line = file.Name, n.Line
	return f, faults
}

// check checks an accepted finding, which needs a rule and a reason, and may have
// patterns. fault gets the key, or none if a key is missing.
func (a Accepted) check(fault func(key, message, remedy string)) {
	for _, key := range []struct{ name, value, remedy string }{
		{"rule", string(a.Rule), `set "rule" to the rule in the brackets of the finding`},
		{"why", a.Why, `set "why" to the reason for accepting the finding`},
	} {
		if strings.TrimSpace(key.value) == "" {
			fault("", fmt.Sprintf("missing key %q", key.name), key.remedy)
		}
	}
	for _, key := range []struct{ name, pattern string }{{"component", a.Component}, {"needs", a.Needs}} {
		if _, err := path.Match(key.pattern, ""); err != nil {
			fault(key.name, fmt.Sprintf("%q is not a pattern", key.pattern), "write a name, with * for any characters")
		}
	}
}
