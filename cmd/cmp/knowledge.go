package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
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
		Args: cobra.MaximumNArgs(1),
	}
	ladder := ladderfile.Flag(cmd.Flags())
	dir := cmd.Flags().String("dir", ".", "Directory of a component, whose "+knowledge.File+" files apply, including those above it in the repository")
	format := cmd.Flags().StringP("output", "o", "text", "Format: text, or yaml for records to paste into a "+knowledge.File)
	option.Choices(cmd, "output", "text", "yaml")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := option.KnownFormat(*format, "text", "yaml"); err != nil {
			return err
		}
		if *format == "yaml" && len(args) == 0 {
			return usage.New("-o yaml prints records of kinds; name a kind or a group")
		}
		base, err := ladderfile.Base(*ladder)
		if err != nil {
			return err
		}
		if info, err := os.Stat(*dir); err != nil || !info.IsDir() {
			message := "no such directory"
			if err == nil {
				message = "this is a file"
			}
			return finding.Finding{Severity: finding.Error, Rule: "no-directory", File: *dir, Message: message, Remedy: "name the directory of a component with --dir"}
		}
		if base, err = inputs.KnowledgeAt(*dir, base); err != nil {
			return err
		}
		a := ask.Question{Base: base, Groups: base.Groups()}
		if len(args) == 0 {
			_, err = io.WriteString(s.Out, a.GroupTable())
			return err
		}
		if err := a.Find(args[0]); err != nil {
			return err
		}
		text := a.Text()
		if *format == "yaml" {
			text = knowledge.YAML(a.Kinds)
		}
		return s.print(text, nil)
	}
	return cmd
}
