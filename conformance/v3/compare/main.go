// Command compare measures plugin servers side by side in one run, end to end
// through the code with which Argo CD's repo-server calls them:
//
//   - stock: argocd-cmp-server, whose plugin runs helm template;
//   - constant: argocd-cmp-server, whose plugin prints the right answer;
//   - floor: a server that drains the stream and answers with a constant, which
//     nothing that speaks the protocol can be faster than;
//   - cold: cmp serve that remembers nothing;
//   - warm: cmp serve as it comes, which has seen the component in another commit.
//
// Machines differ, so what counts are the ratios. bench/servers builds what this
// needs and runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
)

// roleEnv is how Argo CD's one binary learns which of its programs to be. This
// binary is argocd-cmp-server in the same way, so that both servers and the
// client are of one version.
const (
	roleEnv   = "ARGOCD_BINARY_NAME"
	stockRole = "argocd-cmp-server"
	floorRole = "floor"
)

func main() {
	var err error
	switch os.Getenv(roleEnv) {
	case stockRole:
		err = commands.NewCommand().Execute()
	case floorRole:
		err = serveFloor(os.Args[1], os.Args[2])
	default:
		err = compare(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// sections are what can be measured, in the order in which it is.
var sections = []string{"charts", "monorepo", "growth"}

// comparison is what the sections share.
type comparison struct {
	programs
	dir      string // for all that is written
	charts   []chart
	rounds   int
	requests int
	packing  bool
}

// compare measures what the arguments say: sections, all unless some are named,
// and directories of charts.
func compare(args []string) error {
	var (
		c            comparison
		small, large string
	)
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.StringVar(&c.cmp, "cmp", "", "program that serves as ours")
	f.StringVar(&c.helm, "helm", "", "program that the stock server runs")
	f.StringVar(&small, "small", "", "directory of the small chart")
	f.StringVar(&large, "large", "", "directory of the large chart")
	f.IntVar(&c.rounds, "rounds", 21, "requests to each server for each chart, without those that warm up")
	f.IntVar(&c.requests, "requests", monorepoAtOnce, "requests to each server of the monorepo")
	f.BoolVar(&c.packing, "packing", true, "ask for the monorepo with streams packed for each request, too, which takes minutes")
	if err := f.Parse(args); err != nil {
		return err
	}
	c.charts = []chart{{"small", small}, {"large", large}}
	var wanted []string
	for _, arg := range f.Args() {
		switch info, err := os.Stat(filepath.Join(arg, "Chart.yaml")); {
		case slices.Contains(sections, arg):
			wanted = append(wanted, arg)
		case err == nil && info.Mode().IsRegular():
			c.charts = append(c.charts, chart{filepath.Base(arg), arg})
		default:
			return fmt.Errorf("%s is neither a chart nor one of %s", arg, strings.Join(sections, ", "))
		}
	}
	if len(wanted) == 0 {
		wanted = sections
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if c.dir, err = os.MkdirTemp("", "compare"); err != nil { // short enough for names of sockets
		return err
	}
	defer os.RemoveAll(c.dir)
	// Argo CD's client looks here for the sockets.
	c.sockets = filepath.Join(c.dir, "plugins")
	// It packs there, too: what it has not removed when it is interrupted goes.
	if err := errors.Join(os.Mkdir(c.sockets, 0o700), os.Setenv(socketDirEnv, c.sockets), os.Setenv("TMPDIR", c.dir)); err != nil {
		return err
	}
	for _, section := range sections {
		if !slices.Contains(wanted, section) {
			continue
		}
		run := map[string]func(context.Context) error{"charts": c.measureCharts, "monorepo": c.measureMonorepo,
			"growth": c.measureGrowth}[section]
		if err := run(ctx); err != nil {
			return fmt.Errorf("%s: %w", section, err)
		}
	}
	return nil
}

// progress tells those who wait what is being measured, apart from the tables.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
