package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/importer"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/usage"
)

func newFleetImport(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import [FILE|DIR|-]...",
		Short: "Turn existing Applications into components",
		Long: `Write a component.yaml for each Application, and a ladder.yaml with what they have in
common, into a separate directory. The manifests stay where they are, and the existing
Applications keep working.

The input can be files of Applications and ApplicationSets, directories of such files,
charts and kustomizations that render them, or a cluster (read-only). Applications that a
parent Application deploys are imported, too.

Ladder expands "list", "git", "matrix" and "merge" generators from the repository. For
other generators, write their results to the file of --generator-values. For generators
and values files in another repository, set its local directory with --repo.

Ladder prints a warning for each field for which component.yaml has no key, and a note
for each change that rendering with Ladder causes.`,
		Example: `  cmp fleet import argocd/root.yaml
  cmp fleet import ./apps --out components --dry-run
  cmp fleet import --context production --out components`,
		Args: cobra.ArbitraryArgs,
	}
	flags := cmd.Flags()
	var opt importOptions
	flags.StringVarP(&opt.out, "out", "o", "components", "Directory to write the components to, in the same repository")
	flags.BoolVar(&opt.dryRun, "dry-run", false, "Print the files instead of writing them")
	flags.BoolVar(&opt.force, "force", false, "Replace existing files")
	flags.StringVar(&opt.repoURL, "repo-url", "", "Repository of the components (default: that of most Applications)")
	opt.addFlags(cmd)
	opt.values, opt.ladder = inputs.GeneratorValues(flags), ladderfile.Flag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && !opt.cluster.isSet() {
			return usage.New("no input; name files of Applications, a directory, or a cluster with --context")
		}
		return opt.run(cmd, s, args)
	}
	return cmd
}

// importOptions are the flags of cmp fleet import.
type importOptions struct {
	existingInput
	out, repoURL  string
	dryRun, force bool
}

// run imports the Applications in the arguments and, if requested, in the cluster.
func (opt *importOptions) run(cmd *cobra.Command, s streams, paths []string) error {
	from, err := opt.sources(s, paths)
	if err != nil {
		return err
	}
	repo, err := checkout.Open(from.Directory())
	if err != nil {
		return fmt.Errorf("%s: %w", from.Directory(), err)
	}
	defer repo.Close()
	in, findings, err := from.Read(cmd.Context(), repo)
	s.warn(findings...)
	if err != nil {
		return err
	}
	if in.Dir, err = checkout.InRepository(from.Directory(), opt.out); err != nil {
		return err
	}
	in.RepoURL = opt.repoURL
	res, err := importer.Import(cmd.Context(), in)
	s.warn(res.Findings...)
	if err != nil {
		return err
	}
	if opt.dryRun {
		return s.emit(res.Text(), nil)
	}
	if err := res.Write(repo.Base, repo.Show, opt.force); err != nil {
		return err
	}
	return s.emit(res.Summary(repo.Show), nil)
}
