package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/plugin"
)

func newCRDs(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crds DIR",
		Short: "List the CRDs that a component can ship, and what an update of them takes away",
		Long: `List every CustomResourceDefinition that the component in DIR can ship, whatever
its values leave out: its versions, the size of its manifest in bytes, the values
that switch it on, the Service that converts between its versions, the objects of
the component that use it, and the file it is from.

With --against, say instead what an update from OLD_DIR to DIR takes away: CRDs
and versions that are gone or no longer served, scopes that change, with the
objects of DIR that still use them. Exits with 1 if there are any.`,
		Example: `  cmp crds ./component
  cmp crds ./component --against ../main/component`,
		Args: cobra.ExactArgs(1),
	}
	in := addInputs(cmd)
	format := formatFlag(cmd, "Format", reportText, reportJSON)
	against := cmd.Flags().String("against", "", "Directory of the component as it was")
	_ = cmd.RegisterFlagCompletionFunc("against", folders)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := knownFormat(*format, reportText, reportJSON); err != nil {
			return err
		}
		now, err := in.ship(cmd, args[0])
		if err != nil {
			return err
		}
		if !cmd.Flags().Changed("against") {
			warn(s, now.Findings)
			if *format == reportJSON {
				return writeJSON(s, listed(now.Definitions))
			}
			if len(now.Definitions) == 0 {
				fmt.Fprintf(s.Err, "cmp: note: %s: the component has no CRDs\n", finding.Harmless(args[0]))
				return nil
			}
			_, err = io.WriteString(s.Out, definitionTable(now.Definitions))
			return err
		}
		before, err := in.ship(cmd, *against)
		if err != nil {
			return err
		}
		lost := crds.Compare(before.Objects, now.Objects)
		text := lostText(lost, len(before.Definitions))
		if *format == reportJSON {
			if text, err = (verdict{findings: lost}).render(reportJSON); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(s.Out, text); err != nil {
			return err
		}
		if len(lost) > 0 {
			return errReported
		}
		return nil
	}
	return cmd
}

// ship finds what the component in dir ships.
func (in *inputs) ship(cmd *cobra.Command, dir string) (plugin.Shipment, error) {
	req, base, done, err := in.request(dir)
	if err != nil {
		return plugin.Shipment{}, err
	}
	defer done()
	shipped, err := plugin.Ship(cmd.Context(), req, base)
	return shipped, in.blamed(in.notOne(cmd, req, err))
}

// listedDefinition is a CRD as other programs read it.
type listedDefinition struct {
	Name     string          `json:"name"`
	Group    string          `json:"group"`
	Kind     string          `json:"kind"`
	Scope    string          `json:"scope"`
	Versions []listedVersion `json:"versions"`
	// Size is that of the manifest in bytes.
	Size int `json:"size"`
	// Switch is the value that brings it, Conversion the Service that converts
	// between its versions, Source the file that it is from.
	Switch     string   `json:"switch,omitempty"`
	Conversion string   `json:"conversion,omitempty"`
	Source     string   `json:"source"`
	UsedBy     []string `json:"usedBy"`
}

type listedVersion struct {
	Name   string `json:"name"`
	Served bool   `json:"served"`
	Stored bool   `json:"stored"`
}

func listed(all []crds.Definition) map[string][]listedDefinition {
	list := []listedDefinition{}
	for _, d := range all {
		l := listedDefinition{Name: d.Name, Group: d.Group, Kind: d.Kind, Scope: d.Scope, Size: d.Size, Switch: d.Switch, Conversion: d.Conversion, Source: d.Source, UsedBy: []string{}}
		for _, v := range d.Versions {
			l.Versions = append(l.Versions, listedVersion{v.Name, v.Served, v.Storage})
		}
		for _, u := range d.Users {
			l.UsedBy = append(l.UsedBy, u.String())
		}
		list = append(list, l)
	}
	return map[string][]listedDefinition{"definitions": list}
}

// definitionTable prints definitions in columns.
func definitionTable(all []crds.Definition) string {
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
			if cells[i] = finding.Harmless(cell); cell == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush() // into memory
	return b.String()
}

func lostText(lost []finding.Finding, of int) string {
	var b strings.Builder
	for _, f := range lost {
		fmt.Fprintf(&b, "%s: %s\n", f.Severity, f.Error())
	}
	if len(lost) == 0 {
		fmt.Fprintf(&b, "nothing of %s is taken away\n", counted(of, "CRD"))
	}
	return b.String()
}
