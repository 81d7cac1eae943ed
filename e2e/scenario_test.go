package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// scenario is that of the story, in its namespace; and the controllers of the
// kinds that it does not bring run somewhere.
func (g *stage) scenario() double.Scenario {
	s := double.Scenario{Makes: g.story.scenario.Makes, Records: g.story.scenario.Records, Packages: g.story.scenario.Packages}
	for _, n := range g.story.scenario.Needs {
		s.Needs = append(s.Needs, double.Need{Of: g.in(n.Of), Needs: g.in(n.Needs), Applied: n.Applied})
	}
	for _, start := range g.story.scenario.Startups {
		s.Startups = append(s.Startups, double.Startup{Of: g.in(start.Of), Takes: start.Takes})
	}
	for _, c := range g.story.scenario.Controllers {
		s.Controllers = append(s.Controllers, double.Controller{Group: c.Group, Kind: c.Kind, By: g.in(c.By)})
	}
	for _, w := range g.story.scenario.Withhold {
		s.Withhold = append(s.Withhold, g.in(w))
	}
	for _, a := range g.story.scenario.Approvers {
		s.Approvers = append(s.Approvers, g.in(a))
	}
	for i := range s.Makes {
		s.Makes[i].Of = g.in(s.Makes[i].Of)
	}
	for _, crd := range g.foreign {
		gk, _ := definedBy(crd)
		s.Served = append(s.Served, gk.Group)
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
