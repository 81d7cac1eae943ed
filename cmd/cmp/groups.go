package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/help"
)

// addCommands adds all commands to the root, in the groups of its help. plain are the streams
// without colors, for commands whose output other programs read.
func addCommands(root *cobra.Command, s, plain streams) {
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"order", "Render and order:", []*cobra.Command{newRender(s), newExplain(s), newGraph(s)}},
		{"check", "Check and compare:", []*cobra.Command{newCheck(s), newDiff(s)}},
		{"write", "Components and fleets:", []*cobra.Command{newInit(s), newCRDs(s), newVendor(s), newSeed(s), newFleet(s)}},
		{"install", "Install in Argo CD:", []*cobra.Command{newInstall(s), newDoctor(s), newHealth(s), newWhy(s)}},
		{help.Unlisted, "For Argo CD:", []*cobra.Command{newGenerate(plain), newServe(plain)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newKnowledge(s), newCompletion(s))
	root.AddCommand(newWorker(plain), newFetcher(plain))
	root.SetHelpCommand(newHelp())
}
