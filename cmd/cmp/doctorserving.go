package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/deprecated"
	"github.com/ladder-cmp/ladder/internal/doctor"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/server"
	"github.com/ladder-cmp/ladder/plugin"
)

// servingOf reads the command line and the variables of a container that runs
// "cmp serve", as that does.
func servingOf(args []string, env map[string]string) (doctor.Flags, error) {
	cmd := newServe(streams{Out: io.Discard, Err: io.Discard})
	flags := cmd.Flags()
	flags.ParseErrorsAllowlist = pflag.ParseErrorsAllowlist{}
	flags.SetOutput(io.Discard)
	deprecated.Accept(flags, func(string, string) {}) // which still work
	// Of this process, nothing is to be read.
	for flag, fallback := range map[string]string{"plugin-dir": cmp.Or(env[socketDirEnv], socketDir), "ladder": env[ladderfile.Variable]} {
		if err := flags.Set(flag, fallback); err != nil {
			return doctor.Flags{}, err
		}
		flags.Lookup(flag).Changed = false
	}
	if err := flags.Parse(args); err != nil {
		return doctor.Flags{}, errors.New(option.Fault(err))
	}
	if rest := flags.Args(); len(rest) > 0 {
		return doctor.Flags{}, fmt.Errorf("unexpected argument %q", rest[0])
	}
	if err := readServing(flags, env); err != nil {
		return doctor.Flags{}, err
	}
	text := func(name string) string { return flags.Lookup(name).Value.String() }
	if _, err := server.NewLogger(io.Discard, text("log-format"), text("log-level")); err != nil {
		return doctor.Flags{}, err
	}
	var faults []error
	size := func(name string) int64 {
		n, err := flags.GetInt64(name)
		faults = append(faults, err)
		return n
	}
	took := func(name string) float64 {
		d, err := flags.GetDuration(name)
		faults = append(faults, err)
		return d.Seconds()
	}
	f := doctor.Flags{Plugin: plugin.Name, PluginDir: text("plugin-dir"), Ladder: text("ladder"), Operations: text("operations-address"),
		Discovery: text("discovery") == "true", ParallelSet: flags.Changed("parallel"),
		Render: took("render-timeout"), Ending: took("drain-timeout") + server.TimeToFlush.Seconds(), Worker: size("worker-memory"), Server: server.OwnMemory}
	remote, err := flags.GetStringSlice("allow-remote")
	faults = append(faults, err)
	f.Remote, f.CA, f.Credentials = remote, text("remote-ca"), text("remote-credentials") != ""
	parallel, err := flags.GetInt("parallel")
	f.Parallel = parallel
	for _, name := range []string{"repository-memory", "cache-bytes", "answer-memory"} {
		f.Server += size(name)
	}
	for _, name := range []string{"repository-memory", "answer-memory", "worker-memory"} {
		if size(name) == 0 {
			f.Unlimited = append(f.Unlimited, "--"+name)
		}
	}
	return f, errors.Join(append(faults, err)...)
}
