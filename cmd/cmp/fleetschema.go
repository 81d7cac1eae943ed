package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/option"
)

func newFleetSchema(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of component.yaml",
		Long: `Print the JSON Schema (draft 7) of component.yaml, with which editors complete and
validate the file. The YAML language server finds it through the first line:

  # yaml-language-server: $schema=../component.schema.json`,
		Example: `  cmp fleet schema > component.schema.json`,
		Args:    option.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			text, err := fleet.Schema()
			if err != nil {
				return err
			}
			_, err = s.Out.Write(text)
			return err
		},
	}
}
