package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/object"
)

// Set is an ApplicationSet with the Applications that it generates.
type Set struct {
	Namespace    string        `json:"namespace,omitempty"`
	Name         string        `json:"name"`
	Applications []Application `json:"applications"`
}

// Application is a generated Application.
type Application struct {
	// Step is its step of a RollingSync, counted from 1; 0 without one.
	Step      int    `json:"step,omitempty"`
	Name      string `json:"name"`
	Namespace string `json:"destinationNamespace,omitempty"`
	// Sources are its directories and charts.
	Sources []string `json:"sources"`
}

// setOf lists the Applications of an ApplicationSet.
func setOf(id object.ID, set appset.Set) Set {
	s := Set{Namespace: id.Namespace, Name: id.Name, Applications: []Application{}}
	for _, app := range set.Applications {
		s.Applications = append(s.Applications, Application{Step: app.Step, Name: app.ID.Name, Namespace: app.Get("spec", "destination", "namespace").Text(), Sources: app.Sources()})
	}
	return s
}

// table returns the Applications as text in columns.
func (s Set) table() string {
	name := s.Name
	if s.Namespace != "" {
		name = s.Namespace + "/" + name
	}
	name = finding.Sanitize(name)
	if len(s.Applications) == 0 {
		return fmt.Sprintf("\nNo Application of ApplicationSet %s is known.\n", name)
	}
	head := []string{"NAME", "DEPLOYS TO", "SOURCE"}
	steps := slices.ContainsFunc(s.Applications, func(a Application) bool { return a.Step > 0 })
	if steps {
		head = append([]string{"STEP"}, head...)
	}
	var rows [][]string
	for _, a := range s.Applications {
		row := []string{a.Name, a.Namespace, strings.Join(a.Sources, ", ")}
		if steps {
			row = append([]string{fmt.Sprint(a.Step)}, row...)
		}
		rows = append(rows, row)
	}
	return fmt.Sprintf("\nApplicationSet %s generates %s:\n", name, finding.Counted(len(s.Applications), "Application")) + paint.Rows(head, rows)
}
