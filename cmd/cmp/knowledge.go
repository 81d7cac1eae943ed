package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/knowledge/ask"
)

func newKnowledge(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "knowledge [GROUP | GROUP/KIND | KIND.GROUP | KIND]",
		Short: "Print what Ladder knows about a kind, with sources",
		Long: `Print what Ladder knows about a kind: its rung, what Argo CD waits for, what its
fields refer to, the sources, and which ` + knowledge.File + ` changed it.
For a group, list its kinds; without an argument, list the groups. The core group
is called core.`,
		Example: `  cmp knowledge cert-manager.io/Certificate
  cmp knowledge Certificate
  cmp knowledge cert-manager.io
  cmp knowledge cert-manager.io/Certificate -o yaml > certificate.yaml`,
		Args: option.Args(0, 1),
	}
	ladder := ladderfile.Flag(cmd.Flags())
	dir := cmd.Flags().String("dir", ".", "Directory of a component, whose "+knowledge.File+" files apply, including those above it in the repository")
	format := option.FormatFlag(cmd, "Format: text, or yaml for records to paste into a "+knowledge.File, "text", "yaml")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if *format == "yaml" && len(args) == 0 {
			return usage.New("-o yaml prints records of kinds; name a kind or a group")
		}
		base, err := ladderfile.Base(*ladder)
		if err != nil {
			return err
		}
		if base, err = inputs.KnowledgeAt(*dir, base); err != nil {
			return err
		}
		q := ask.Question{Base: base, Groups: base.Groups()}
		if len(args) == 0 {
			return s.emit(q.GroupTable(), nil)
		}
		if err := q.Find(args[0]); err != nil {
			return err
		}
		text := q.Text()
		if *format == "yaml" {
			text = knowledge.YAML(q.Kinds)
		}
		return s.print(text, nil)
	}
	return cmd
}
