// Package doctor says whether an Argo CD is wired right for Ladder: whether the
// repo-server reaches the plugin server beside it, whether Applications ask for
// the plugin by its name, and whether timeouts, memory and the rest of the
// configuration fit together.
//
// What it looks at are manifests, as a chart or kustomize rendered them or as a
// cluster has them, or values of Argo CD's chart as they are. What the input does
// not tell is not judged.
//
// The package is pure: objects in, findings out.
package doctor

import (
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Input is what is known of an Argo CD.
type Input struct {
	// Objects are manifests: those of Argo CD, of the plugin, and Applications and
	// ApplicationSets as far as they are to be looked at.
	Objects []object.Object
	// Values are values files of the chart argo-cd, later ones win. They are looked
	// at by their keys; what the chart would make of them is not.
	Values []Values
	// Live means that Objects are what a cluster has, so that what is not among them
	// is not there. Secrets are then the names of those in Argo CD's namespace; nil if
	// they are not known.
	Live    bool
	Secrets []string
	// Serve reads the command line of "cmp serve", without "serve", and its
	// variables as the program does. The error has a finding for each fault.
	Serve func(args []string, env map[string]string) (Flags, error)
	// JudgeHealth runs the health check of Applications, and says what is wrong with
	// it.
	JudgeHealth func(script string) []string
}

// Values is a values file.
type Values struct {
	// File is how messages call it.
	File string
	// Root is what is in it.
	Root object.Value
}

// Flags are what the flags of "cmp serve" say, as far as Argo CD and the Pod must
// fit them.
type Flags struct {
	// PluginDir is the directory of the sockets.
	PluginDir string
	// Plugin is the name of the socket without its ending.
	Plugin string
	// Ladder is the ladder.yaml for every component; empty if there is none.
	Ladder string
	// Operations is the address of metrics and probes; empty if there is none.
	Operations string
	// Discovery is true if it answers for Applications that name no plugin.
	Discovery bool
	// Parallel is how many renderings there may be at a time, 0 without a limit;
	// ParallelSet is false if that depends on the CPUs.
	Parallel    int
	ParallelSet bool
	// Render is how long a rendering may take, in seconds; 0 is no limit.
	Render float64
	// Ending is how long the server may take to end, in seconds.
	Ending float64
	// Server and Worker are bytes of memory that the server, and each rendering, may
	// take.
	Server, Worker int64
	// Remote are the URLs to fetch from, CA a file of certificates to trust, and
	// Credentials says that hosts have their own.
	Remote      []string
	CA          string
	Credentials bool
	// Unlimited are flags by which memory has no limit.
	Unlimited []string
}

// Rule is one of the things that are looked for.
type Rule struct {
	Name string
	// Severities are those of its findings, the gravest first.
	Severities []finding.Severity
	// Finds says what, Why what comes of it, and Remedy what to do, for documents
	// and findings.
	Finds, Why, Remedy string
	// Source is where that is said, or can be seen.
	Source string

	find func(*installation) []finding.Finding
}

// Rules lists what Examine looks for.
func Rules() []Rule { return rules }

// Examine says what is wrong with an Argo CD. The order is that of files, lines
// and objects.
func Examine(in Input) []finding.Finding {
	i := read(in)
	var all []finding.Finding
	for _, r := range rules {
		for _, f := range r.find(i) {
			f.Rule = r.Name
			if f.Severity == "" {
				f.Severity = r.Severities[0]
			}
			if f.Remedy == "" {
				f.Remedy = r.Remedy
			}
			all = append(all, f)
		}
	}
	finding.Sort(all)
	return all
}
