package explain

import (
	"bytes"
	"fmt"
	"text/tabwriter"

	"github.com/ladder-cmp/ladder/internal/finding"
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

// SetTable prints the Applications of an ApplicationSet in columns.
func SetTable(s Set) string {
	name := s.Name
	if s.Namespace != "" {
		name = s.Namespace + "/" + name
	}
	var b bytes.Buffer
	if len(s.Applications) == 0 {
		return fmt.Sprintf("\nNo Application of ApplicationSet %s is known.\n", finding.Harmless(name))
	}
	fmt.Fprintf(&b, "\nApplicationSet %s generates %s:\n", finding.Harmless(name), finding.Counted(len(s.Applications), "Application"))
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
		sources := ""
		for i, source := range a.Sources {
			if i > 0 {
				sources += ", "
			}
			sources += source
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", finding.Harmless(a.Name), finding.Harmless(a.Namespace), finding.Harmless(sources))
	}
	w.Flush() // into memory
	return b.String()
}
