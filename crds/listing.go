package crds

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Listed is the JSON form of a CRD.
type Listed struct {
	Name     string          `json:"name"`
	Group    string          `json:"group"`
	Kind     string          `json:"kind"`
	Scope    string          `json:"scope"`
	Versions []ListedVersion `json:"versions"`
	// Size is the size of the manifest in bytes.
	Size int `json:"size"`
	// Switch is the value that enables it, Conversion the Service of its conversion
	// webhook, Source its file.
	Switch     string   `json:"switch,omitempty"`
	Conversion string   `json:"conversion,omitempty"`
	Source     string   `json:"source"`
	UsedBy     []string `json:"usedBy"`
}

// ListedVersion is the JSON form of a version.
type ListedVersion struct {
	Name   string `json:"name"`
	Served bool   `json:"served"`
	Stored bool   `json:"stored"`
}

// Listing returns the JSON form of CRDs.
func Listing(all []Definition) map[string][]Listed {
	list := []Listed{}
	for _, d := range all {
		l := Listed{Name: d.Name, Group: d.Group, Kind: d.Kind, Scope: d.Scope, Size: d.Size, Switch: d.Switch, Conversion: d.Conversion, Source: d.Source, UsedBy: []string{}}
		for _, v := range d.Versions {
			l.Versions = append(l.Versions, ListedVersion{v.Name, v.Served, v.Storage})
		}
		for _, u := range d.Users {
			l.UsedBy = append(l.UsedBy, u.String())
		}
		list = append(list, l)
	}
	return map[string][]Listed{"definitions": list}
}

// Table formats CRDs as a table.
func Table(all []Definition) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tKIND\tGROUP\tSCOPE\tVERSIONS\tSIZE\tSWITCH\tCONVERSION\tUSED BY\tFROM")
	for _, d := range all {
		var versions, users []string
		for _, v := range d.Versions {
			versions = append(versions, v.String())
		}
		for _, u := range d.Users {
			users = append(users, u.String())
		}
		cells := []string{d.Name, d.Kind, d.Group, d.Scope, strings.Join(versions, ", "), fmt.Sprint(d.Size), d.Switch, d.Conversion, strings.Join(users, ", "), d.Source}
		for i, cell := range cells {
			if cells[i] = finding.Sanitize(cell); cell == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush() // into memory
	return b.String()
}

// RemovedText lists what is removed from a number of CRDs.
func RemovedText(lost []finding.Finding, of int) string {
	var b strings.Builder
	for _, f := range lost {
		fmt.Fprintf(&b, "%s: %s\n", f.Severity, f.Error())
	}
	if len(lost) == 0 {
		fmt.Fprintf(&b, "nothing of %s is removed\n", finding.Counted(of, "CRD"))
	}
	return b.String()
}
