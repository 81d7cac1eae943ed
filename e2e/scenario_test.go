package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/double"
)

// readScenario reads what no manifest of a story shows from testdata/scenarios, if the
// story has a file there.
func readScenario(component string) (double.Scenario, error) {
	var s double.Scenario
	path := filepath.Join("testdata", "scenarios", component+".yaml")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = yaml.UnmarshalStrict(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// scenario is that of the story; and the controllers of the kinds that it does not bring
// run somewhere.
func (g *stage) scenario() double.Scenario {
	s := g.inPlace(g.story.scenario)
	for _, crd := range g.foreign {
		gk, _ := definedBy(crd)
		s.Served = append(s.Served, gk.Group)
	}
	return s
}

// inPlace is a scenario in the namespace of the story.
func (g *stage) inPlace(told double.Scenario) double.Scenario {
	s := double.Scenario{Makes: slices.Clone(told.Makes), Records: told.Records, Packages: told.Packages}
	for _, n := range told.Needs {
		s.Needs = append(s.Needs, double.Need{Of: g.in(n.Of), Needs: g.in(n.Needs), Applied: n.Applied})
	}
	for _, start := range told.Startups {
		s.Startups = append(s.Startups, double.Startup{Of: g.in(start.Of), Takes: start.Takes})
	}
	for _, c := range told.Controllers {
		s.Controllers = append(s.Controllers, double.Controller{Group: c.Group, Kind: c.Kind, By: g.in(c.By)})
	}
	for _, w := range told.Withhold {
		s.Withhold = append(s.Withhold, g.in(w))
	}
	for _, a := range told.Approvers {
		s.Approvers = append(s.Approvers, g.in(a))
	}
	for i := range s.Makes {
		s.Makes[i].Of = g.in(s.Makes[i].Of)
	}
	return s
}

// in puts what a scenario names into the namespace of the story, which differs
// from case to case. Names may hold that of the story, as RELEASE. An object without
// a namespace is said to be in "-".
func (g *stage) in(r double.Ref) double.Ref {
	switch r.Namespace {
	case "":
		r.Namespace = g.namespace
	case "-":
		r.Namespace = ""
	}
	r.Name = strings.ReplaceAll(r.Name, "RELEASE", g.name)
	return r
}
