package main

import (
	"sync"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/vendoring"
	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/remote"
)

func newVendor(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "vendor DIR...",
		Short: "Fetch remote charts and bases into a component, with a lock file",
		Long: `Fetch the remote sources of the component in DIR: charts that it refers to or depends on,
and remote bases and files of kustomizations. Write them to ` + remote.VendorDir + `/ in the component and
their digests to ` + remote.LockFile + `, so that rendering needs no network. Commit both. If DIR is a
directory of components, vendor all of them.

The component is rendered to find its sources; disabled dependencies of charts are not
fetched. Locked sources keep their version unless --update selects newer ones.

Exits with 1 if there is an error or, with --check, if the lock file is outdated.`,
		Example: `  cmp vendor ./component
  cmp vendor ./components --update=redis,postgresql
  cmp vendor ./components --check`,
		Args: cli.Args(1, cli.Many),
	}
	in, v := flags.AddRendering(cmd), &vendoring.Options{}
	in.Remote.Anything = []string{"https://*", "oci://*"}
	f := cmd.Flags()
	f.Lookup("allow-remote").Usage = "URLs to fetch from, with everything below them; " +
		"if empty, all addresses are allowed except those of this machine, link-local addresses and metadata services"
	f.BoolVar(&v.Check, "check", false, "Write nothing, and exit with 1 if the lock file is outdated; for pipelines")
	f.StringSliceVar(&v.Update, "update", nil,
		"Update to the newest versions that the component allows: everything, or only the named charts, files and repositories")
	f.Lookup("update").NoOptDefVal = vendoring.Everything
	f.BoolVar(&v.Keep, "keep", false, "Keep vendored sources that are not used with these values, in case other values need them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v.ExactDir = in.IsSet("renderer")
		var err error
		if v.Settings, err = in.Settings(); err != nil {
			return err
		}
		if v.Base, err = in.Base(); err != nil {
			return err
		}
		if v.Check && (len(v.Update) > 0 || v.Keep) {
			return finding.Usage("--check writes nothing, so --update and --keep have no effect; remove --check or the others")
		}
		if len(v.Update) > 0 && in.Remote.Config.Offline {
			return finding.Usage("--update needs the network, and --offline forbids it; remove one of the two")
		}
		if !v.Check {
			f, err := in.Remote.Fetcher(nil, nil)
			if err != nil {
				return err
			}
			v.Network = vendorNetwork(f)
		}
		text, warnings, err := v.Run(cmd.Context(), args)
		s.Warn(warnings...)
		if err != nil {
			return err
		}
		return s.Print(text, nil)
	}
	return cmd
}

// vendorNetwork fetches with f, which must resolve the names of Helm's repositories; nil without one.
func vendorNetwork(f *fetch.Fetcher) *vendoring.Network {
	if f == nil {
		return nil
	}
	var mu sync.Mutex
	byDigest := map[string]remote.Fetcher{}
	return &vendoring.Network{Anew: &remote.Recorder{From: flags.WithNames(f.Uncached())},
		Again: func(digest string) remote.Fetcher {
			mu.Lock()
			defer mu.Unlock()
			if byDigest[digest] == nil {
				byDigest[digest] = &remote.Recorder{From: flags.WithNames(f.Pinned(func(remote.Ref) string { return digest }))}
			}
			return byDigest[digest]
		}}
}
