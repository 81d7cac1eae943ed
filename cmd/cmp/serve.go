package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// socketDir is where the repo-server looks for the sockets of plugins; it reads
// the same variable (cmpserver of Argo CD, common.GetPluginSockFilePath).
const (
	socketDir    = "/home/argocd/cmp-server/plugins"
	socketDirEnv = "ARGOCD_PLUGINSOCKFILEPATH"
)

func newServe(s streams) *cobra.Command {
	var (
		dir       string
		check     bool
		discovery bool
		parallel  int
		maxBytes  int64
		maxFiles  int
		memory    int64
		drain     time.Duration
		logFormat string
		ladder    *string
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve Argo CD's repo-server as the plugin ladder",
		Long: `Serve Argo CD's repo-server on the socket ` + plugin.Name + `.sock in the directory where it looks
for plugins. This is what the sidecar runs.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := noneNegative(cmd.Flags(), "parallel", "max-repository-bytes", "max-repository-files", "repository-memory", "drain"); err != nil {
				return err
			}
			socket := filepath.Join(dir, plugin.Name+".sock")
			if check {
				ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
				defer cancel()
				if err := sidecar.Probe(ctx, socket); err != nil {
					return fmt.Errorf("%w; look at the log of cmp serve, or name its directory with --plugin-dir", err)
				}
				return nil
			}
			log, err := newLogger(s, logFormat)
			if err != nil {
				return err
			}
			base, err := knowledgeBase(*ladder)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			lis, err := sidecar.Listen(socket)
			if err != nil {
				return fmt.Errorf("%w, or name another directory with --plugin-dir", err)
			}
			log.Info("serving", "socket", lis.Addr().String(), "discovery", discovery, "parallel", parallel, "version", version())
			defer log.Info("stopped")
			config := serverConfig(base, log)
			config.Discovery = discovery
			config.Parallel = parallel
			config.Limits = sidecar.Limits{Bytes: maxBytes, Files: maxFiles}
			config.Memory = memory
			config.Drain = drain
			return sidecar.Serve(ctx, lis, config)
		},
	}
	defaultDir := socketDir
	if d := os.Getenv(socketDirEnv); d != "" {
		defaultDir = d
	}
	f := cmd.Flags()
	ladder = ladderFlag(f)
	f.StringVar(&dir, "plugin-dir", defaultDir, "Directory of the plugin sockets, shared with the repo-server; "+socketDirEnv+" sets the default")
	f.BoolVar(&check, "check", false, "Ask the server that runs on the socket whether it is well, and exit; for probes")
	f.BoolVar(&discovery, "discovery", false, "Answer for Applications that name no plugin, if there is something to render; each request then sends the repository twice")
	f.IntVar(&parallel, "parallel", runtime.GOMAXPROCS(0), "Renderings at the same time; 0 is no limit")
	f.Int64Var(&maxBytes, "max-repository-bytes", 256<<20, "Size of a repository, unpacked and without .git, above which it is refused; 0 is no limit but --repository-memory")
	f.IntVar(&maxFiles, "max-repository-files", 200_000, "Number of files in a repository above which it is refused; 0 is no limit")
	f.Int64Var(&memory, "repository-memory", 512<<20, "Size of all repositories that are held at the same time, unpacked; others wait; 0 is no limit")
	f.DurationVar(&drain, "drain", 25*time.Second, "How long requests may go on after SIGTERM")
	f.StringVar(&logFormat, "log-format", "text", "Form of the log: text or json")
	return cmd
}

// noneNegative checks flags that count something.
func noneNegative(flags *pflag.FlagSet, names ...string) error {
	var faults []error
	for _, name := range names {
		if value := flags.Lookup(name).Value.String(); strings.HasPrefix(value, "-") {
			faults = append(faults, usageError{fmt.Errorf("--%s is %s; give it a number from 0 up", name, value)})
		}
	}
	return errors.Join(faults...)
}

// serverConfig is the server with the functions that make it this plugin.
func serverConfig(base *knowledge.Base, log *slog.Logger) sidecar.Config {
	return sidecar.Config{
		Generate:   func(ctx context.Context, in sidecar.Input) (sidecar.Output, error) { return answer(ctx, in, base) },
		Match:      func(_ context.Context, in sidecar.Input) (bool, error) { return plugin.Detect(in.Repo, in.Dir) },
		Parameters: announcements(),
		Log:        log,
	}
}

func newLogger(s streams, format string) (*slog.Logger, error) {
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(s.Err, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(s.Err, nil)), nil
	}
	return nil, usageError{fmt.Errorf("there is no log format %q; use text or json", format)}
}

// answer renders one request of the repo-server.
func answer(ctx context.Context, in sidecar.Input, base *knowledge.Base) (sidecar.Output, error) {
	req, err := plugin.FromEnvironment(in.Repo, in.Dir, in.Env)
	if err != nil {
		return sidecar.Output{}, inOneLine(err)
	}
	res, err := plugin.Generate(ctx, req, base)
	if err != nil {
		return sidecar.Output{}, inOneLine(err)
	}
	return sidecar.Output{Manifests: res.Manifests(), Log: []any{"renderer", string(res.Kind), "objects", len(res.Objects)}, Remarks: remarks(res.Findings)}, nil
}

// remarks are the log's lines about findings, each at the level that its
// severity is.
func remarks(findings []finding.Finding) []sidecar.Remark {
	levels := map[finding.Severity]slog.Level{finding.Error: slog.LevelError, finding.Warning: slog.LevelWarn, finding.Note: slog.LevelInfo}
	var all []sidecar.Remark
	for _, f := range findings {
		all = append(all, sidecar.Remark{Level: levels[f.Severity], Text: f.Error()})
	}
	return all
}

// inOneLine joins the faults of an input for a place that shows one line: the
// condition of an Application.
func inOneLine(err error) error {
	var all []string
	for _, f := range finding.Of(err) {
		all = append(all, f.Error())
	}
	return errors.New(strings.Join(all, " | "))
}

// announcements are the plugin's parameters in the form of the protocol.
func announcements() []*wire.ParameterAnnouncement {
	var all []*wire.ParameterAnnouncement
	for _, p := range plugin.Parameters() {
		a := &wire.ParameterAnnouncement{Name: p.Name, Title: p.Title, Tooltip: p.Tooltip, ItemType: p.Item, CollectionType: p.Collection}
		if p.Item == "boolean" {
			a.String_ = p.Default
		}
		all = append(all, a)
	}
	return all
}
