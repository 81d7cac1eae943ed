package explain

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/ladder-cmp/ladder/internal/appset"
	"github.com/ladder-cmp/ladder/internal/finding"
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

// table prints the Applications in columns.
func (s Set) table() string {
	name := s.Name
	if s.Namespace != "" {
		name = s.Namespace + "/" + name
	}
	var b bytes.Buffer
	if len(s.Applications) == 0 {
		return fmt.Sprintf("\nNo Application of ApplicationSet %s is known.\n", finding.Sanitize(name))
	}
	fmt.Fprintf(&b, "\nApplicationSet %s generates %s:\n", finding.Sanitize(name), finding.Counted(len(s.Applications), "Application"))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	steps := false
	for _, a := range s.Applications {
		steps = steps || a.Step > 0
	}
	if steps {
		fmt.Fprint(w, "STEP\t")
	}
	fmt.Fprintln(w, "NAME\tDEPLOYS TO\tSOURCE")
	for _, a := range s.Applications {
		if steps {
			fmt.Fprintf(w, "%d\t", a.Step)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", finding.Sanitize(a.Name), finding.Sanitize(a.Namespace), finding.Sanitize(strings.Join(a.Sources, ", ")))
	}
	w.Flush() // into memory
	return b.String()
}
