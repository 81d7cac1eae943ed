package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/deprecated"
)

// addCommands adds all commands to the root, in the groups of its help. asItIs are the streams
// of commands whose output is for programs.
func addCommands(root *cobra.Command, s, asItIs streams) {
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"order", "Render and order:", []*cobra.Command{newRender(s), newExplain(s), newGraph(s), newReport(s), newAnnotate(s)}},
		{"check", "Check and compare:", []*cobra.Command{newCheck(s), newLint(s), newDiff(s), newDoctor(s), newHealth(s)}},
		{"write", "Components and fleets:", []*cobra.Command{newInit(s), newCRDs(s), newVendor(s), newSeed(s), newFleet(s)}},
		{"plugin", "For Argo CD and packagers:", []*cobra.Command{newInstall(s), newGenerate(asItIs), newServe(asItIs), newMan()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newKnowledge(s), newCompletion(s), newVersion(s))
	root.AddCommand(newWorker(asItIs), newFetcher(asItIs), newFn(asItIs))
	root.AddCommand(deprecated.Alias(newCRDsSplit(s), "split", s.warn))
	root.SetHelpCommand(newHelp())
}
