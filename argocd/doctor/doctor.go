// Package doctor checks whether an Argo CD installation is configured correctly for Ladder:
// whether the repo-server reaches the plugin server, whether Applications use the
// name of the plugin, and whether timeouts, memory and other settings are
// consistent.
//
// The input consists of manifests (rendered, or from a cluster) or of values of the
// argo-cd chart. What the input does not contain is not checked.
//
// The package is pure: objects in, findings out.
package doctor

import (
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Input describes an Argo CD installation.
type Input struct {
	// Objects are manifests of Argo CD and of the plugin, and the Applications and
	// ApplicationSets to check.
	Objects []object.Object
	// Values are values files of the argo-cd chart; later ones take precedence.
	// Their keys are checked without rendering the chart.
	Values []Values
	// Live means that Objects come from a cluster, so missing objects do not exist.
	Live bool
	// ParseServe parses the arguments after "cmp serve" and the environment, as the
	// program does. The error joins all findings.
	ParseServe func(args []string, env map[string]string) (Flags, error)
	// ReadLadder reads the ladder.yaml for all components, as the program does. The error joins
	// all findings.
	ReadLadder func(text string) error
	// CheckHealth runs the health check of Applications, and returns its problems.
	CheckHealth func(script string) []string
}

// Values is a values file.
type Values struct {
	// File is its name in messages.
	File string
	// Root is its content.
	Root object.Value
}

// Flags are the flags of "cmp serve" that affect Argo CD and the Pod.
type Flags struct {
	// PluginDir is the directory of the sockets.
	PluginDir string
	// Plugin is the name of the socket without its suffix.
	Plugin string
	// Ladder is the ladder.yaml for all components; empty if there is none.
	Ladder string
	// Operations is the address of metrics and probes; empty if there is none.
	Operations string
	// Discovery means that it supports Applications that do not name a plugin.
	Discovery bool
	// Parallel limits concurrent renderings, 0 means no limit; ParallelSet is false
	// if it depends on the CPUs.
	Parallel    int
	ParallelSet bool
	// RenderTimeout is the timeout of a rendering in seconds; 0 means none.
	RenderTimeout float64
	// ShutdownTimeout is the shutdown timeout in seconds.
	ShutdownTimeout float64
	// Server and Worker limit the memory of the server, and of each rendering, in
	// bytes.
	Server, Worker int64
	// Remote are the URLs to fetch from, and CA is a file of certificates to trust.
	// Credentials means that --remote-credentials is set, which may contain CA
	// certificates of hosts.
	Remote      []string
	CA          string
	Credentials bool
	// Unlimited are flags that disable a memory limit.
	Unlimited []string
}

// Rule is a check.
type Rule struct {
	Name finding.Rule
	// Severities are the severities of its findings, most severe first.
	Severities []finding.Severity
	// Finds describes what the check reports, such as "a sidecar without an image".
	// Remedy is the fix; empty if each finding says it.
	Finds, Remedy string
	// Source is the source of the fact.
	Source string

	find func(*installation) []finding.Finding
}

// Rules lists the checks of Examine.
func Rules() []Rule { return rules }

// Examine checks an Argo CD installation. Findings are sorted by file, line and object.
func Examine(in Input) []finding.Finding {
	i := read(in)
	var all []finding.Finding
	for _, r := range rules {
		for _, f := range (parts{{r.Severities[0], r.Remedy, r.find}}).find(i) {
			f.Rule = r.Name
			all = append(all, f)
		}
	}
	finding.Sort(all)
	return all
}
