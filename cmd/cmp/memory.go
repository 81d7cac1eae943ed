package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/internal/startup"
)

// maxMemory is the flag --max-memory: a component that somebody else wrote must not take all memory
// of a laptop or a runner.
type maxMemory struct {
	bytes int64
	set   bool
	stop  func()
}

func (m *maxMemory) String() string {
	if !m.set {
		return ""
	}
	return strconv.FormatInt(m.bytes, 10)
}

func (m *maxMemory) Set(text string) error {
	bytes, err := strconv.ParseInt(text, 10, 64)
	m.bytes, m.set = bytes, true
	return err
}

func (m *maxMemory) Type() string { return "int64" }

// ownMemory watches the memory of this process. Tests, which run many commands in theirs, replace it.
var ownMemory = confine.Own

// leastMemory is what the program needs for a small component.
const leastMemory = 64 << 20

// unlimited are commands with other limits: those of a container, and of the server for each of
// its processes.
var unlimited = []string{"serve", "generate", workerName, fetcherName}

// watch ends the program when it uses too much memory. It says what the limit is, and whose.
func (m *maxMemory) watch(cmd *cobra.Command, s cli.Streams) error {
	if m.bytes != 0 && m.bytes < leastMemory {
		return finding.Usagef("--max-memory is %d bytes, too little; use %d (64 MiB) or more, or 0 for no limit", m.bytes, leastMemory)
	}
	if slices.Contains(unlimited, cmd.Name()) {
		startup.End()
		return nil
	}
	limit, whose := m.bytes, "--max-memory"
	if !m.set {
		limit, whose = confine.MachineMemory()/2, "half of this machine's"
	}
	m.stop = ownMemory(limit, startup.Percent, func() {
		s.Say("%s", fmt.Sprintf("stopped: the command needs more memory than its limit of %d MiB (%s); "+
			"fix: look for what a template repeats, or raise --max-memory", limit>>20, whose))
		os.Exit(exitFailed)
	})
	return nil
}

// end ends the watch.
func (m *maxMemory) end() {
	if m.stop != nil {
		m.stop()
	}
}
