package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/live"
	"github.com/ladder-cmp/ladder/live/cluster"
	"github.com/ladder-cmp/ladder/object"
)

func newWhy(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why [NAMESPACE/]APP",
		Short: "Say why a sync hangs or failed",
		Long: `Read an Application and the objects that its sync waits for, and print in ten lines what
it waits for, what is behind that, the proof, and the fix. Any Application will do.
Applications below it, and those before it in a RollingSync, are followed to the one that
blocks. Nothing is changed, and Secrets are never read.

With --file, read exported objects instead of a cluster: a List or documents with the
Application, its objects, their Pods and Events.

Exit codes: 0 healthy; 1 hangs or failed, or an error; 3 slow, but going on.`,
		Example: `  cmp why shop
  cmp why shop --context production --watch
  kubectl get app,deploy,rs,pod,job,pvc,event -A -o yaml > all.yaml && cmp why shop --file all.yaml`,
		Args: cli.Args(0, 1),
	}
	var c clusterInput
	c.addFlags(cmd, "Argo CD's cluster")
	flags := cmd.Flags()
	flags.StringVarP(&c.Namespace, "namespace", "n", c.Namespace, "Namespace of the Application")
	file := flags.String("file", "", "File with exported objects, instead of a cluster; - for standard input")
	watch := flags.Bool("watch", false, "Print each position of the sync until it ends")
	format := cli.Format(cmd, "Format of the diagnosis", cli.Text, cli.JSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, other := range []string{"watch", "context", "kubeconfig"} {
			if err := cli.Alone(flags, "file", other); err != nil {
				return err
			}
		}
		app := object.ID{Group: argocd.Group, Kind: "Application", Namespace: c.Namespace}
		if len(args) > 0 {
			app.Name = args[0]
			if namespace, name, ok := strings.Cut(args[0], "/"); ok { // as the argocd CLI takes it
				app.Namespace, app.Name = namespace, name
			}
		} else if *file == "" {
			return finding.Usagef("missing APP; fix: name the Application")
		}
		base := knowledge.Default()
		if *file != "" {
			objs, err := checkout.ReadManifests(s.In, *file)
			if err != nil {
				return asExport(err)
			}
			snap, err := live.FromObjects(objs, app)
			if err != nil {
				return inExport(objs[0].File, err)
			}
			return writeDiagnosis(s, live.Diagnose(snap, base), *format)
		}
		r, err := cluster.New(*c.current(), base)
		if err != nil {
			return err
		}
		if *watch {
			if err := r.Watch(cmd.Context(), app, func(line string) error { return s.Print(line+"\n", nil) }); err != nil {
				return err
			}
		}
		snap, err := r.Read(cmd.Context(), app)
		if err != nil {
			return err
		}
		return writeDiagnosis(s, live.Diagnose(snap, base), *format)
	}
	return cmd
}

// asExport gives the faults of manifests the fix of an export, such as of what kubectl prints when
// it may not read.
func asExport(err error) error {
	all := finding.Of(err)
	for i := range all {
		if all[i].Rule == object.Incomplete {
			all[i].Message, all[i].Remedy = "not an exported object", "pass the output of a kubectl get -o yaml that succeeded"
		}
	}
	return finding.Err(all)
}

// inExport names the file of an export in an error about it.
func inExport(file string, err error) error {
	fault := finding.Of(err)[0]
	fault.File = file
	return fault
}

// writeDiagnosis prints a diagnosis, and returns its exit code.
func writeDiagnosis(s cli.Streams, d live.Diagnosis, format string) error {
	text, err := d.String(), error(nil)
	if format == cli.JSON {
		text, err = d.JSON()
	} else if d.NeverSynced {
		return finding.Fault(fmt.Sprintf("Application %s has never been synced: it has no status.operationState",
			d.Application.Name), "sync it: argocd app sync "+d.Application.Name)
	}
	if err := s.Print(text, err); err != nil {
		return err
	}
	if code := d.ExitCode(); code != exitOK {
		return exitCode(code)
	}
	return nil
}
