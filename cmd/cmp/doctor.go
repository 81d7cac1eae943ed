package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	yaml "go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/ladder-cmp/ladder/doctor"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/nearest"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

func newDoctor(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [DIR|FILE|-]...",
		Short: "Find what is wrong with how Argo CD is set up for Ladder",
		Long: `Look at an Argo CD, and report what keeps its repo-server from the plugin, or the
plugin from working well: the container and its volumes, user, probes and memory,
the settings of Argo CD, and how Applications ask for the plugin. It looks at any of

  - manifests of Argo CD and of Applications, in files, on standard input, or in a
    directory that is rendered first: a kustomization, or the chart argo-cd itself
    with --values;
  - values of the chart argo-cd without the chart, by their keys;
  - a cluster, if --context or --kubeconfig says which. It is only read, and of
    Secrets only the names.

With --sandbox it looks at the machine or container that it runs in, instead or too:
whether the kernel lets cmp serve confine the processes that render.

What it is not shown, it does not judge. Exits with 1 if there is a finding of
severity error.`,
		Example: `  cmp doctor argocd-values.yaml
  cmp doctor ./argo-cd -f your-values.yaml -f argocd-values.yaml
  kustomize build ./argocd | cmp doctor - ./applications
  cmp doctor --context production -o sarif > doctor.sarif
  kubectl -n argocd exec deploy/argocd-repo-server -c ladder -- cmp doctor --sandbox`,
		Args: cobra.ArbitraryArgs,
	}
	in := addInputs(cmd, "name", "namespace", "values", "set", "set-string", "set-file", "kube-version", "api-versions")
	flags := cmd.Flags()
	flags.Lookup("namespace").Usage = "Namespace of Argo CD (default: argocd)"
	flags.Lookup("values").Usage = "Values files of the chart argo-cd, later ones win"
	var c cluster
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "Look at a cluster too, of this file")
	flags.StringVar(&c.context, "context", "", "Look at a cluster too, that of this context of the kubeconfig")
	confined := flags.Bool("sandbox", false, "Look at the sandbox that workers of cmp serve have here")
	format := formatFlag(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	strict := flags.Bool("strict", false, "Exit with 1 if there are warnings, too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := knownReport(*format); err != nil {
			return err
		}
		live := flags.Changed("kubeconfig") || flags.Changed("context")
		given, err := flags.GetStringSlice("values")
		if err != nil {
			return err
		}
		if *confined && len(args) == 0 && len(given) == 0 && !live {
			found, err := examineSandbox()
			if err != nil {
				return err
			}
			return verdict{findings: found, of: "the sandbox of a worker"}.write(s, *format, *strict)
		}
		if len(args) == 0 && len(given) == 0 && !live {
			return usageError{errors.New("there is nothing to look at; name manifests, values of the chart argo-cd, or a cluster with --context; see cmp doctor --help")}
		}
		e, err := in.examined(cmd, s, once(args), given)
		if _, usage := err.(usageError); usage {
			return err
		}
		if err := ofOne(e, live); err != nil {
			return err
		}
		r := verdict{findings: finding.Of(err)}
		if err == nil && live {
			c.namespace = "argocd"
			if n := flags.Lookup("namespace"); n.Changed {
				c.namespace = n.Value.String()
			}
			found, err := c.read(cmd.Context())
			if err != nil {
				return err
			}
			e.Objects, e.Secrets, e.Live = append(e.Objects, found.objects...), found.secrets, true
			r.findings = found.findings
		}
		if err == nil && *confined {
			found, err := examineSandbox()
			if err != nil {
				return err
			}
			r.findings = append(r.findings, found...)
		}
		if err == nil {
			r.findings = append(r.findings, examine(cmd.Context(), e)...)
			r.of = lookedAt(e)
		}
		return r.write(s, *format, *strict)
	}
	return cmd
}

// examine looks at an Argo CD.
func examine(ctx context.Context, e doctor.Input) []finding.Finding {
	e.Serve, e.Deployment, e.Nearest = servingOf, reflect.TypeFor[appsv1.Deployment](), nearestOf
	e.JudgeHealth = func(script string) []string {
		ctx, cancel := context.WithTimeout(ctx, checkPatience)
		defer cancel()
		return fleet.JudgeChildHealth(ctx, script)
	}
	return doctor.Examine(e)
}

func nearestOf(word string, names []string) string {
	n := nearest.New(word)
	for _, name := range names {
		n.Add(name, name)
	}
	return n.String()
}

// lookedAt says what of an Argo CD was looked at.
func lookedAt(e doctor.Input) string {
	var parts []string
	if len(e.Objects) > 0 || len(e.Values) == 0 {
		parts = append(parts, counted(len(e.Objects), "object"))
	}
	if len(e.Values) > 0 {
		parts = append(parts, counted(len(e.Values), "file")+" of values, without the chart")
	}
	return strings.Join(parts, " and ")
}

// examined reads what a command line names. values belong to the chart among the
// arguments, or are looked at themselves, after those among the arguments.
func (in *inputs) examined(cmd *cobra.Command, s streams, args, values []string) (doctor.Input, error) {
	var e doctor.Input
	charts, dirs := 0, 0
	for _, arg := range args {
		charts += boolean(isDir(arg) && isChart(arg))
		dirs += boolean(isDir(arg))
	}
	if err := in.fits(args, charts, dirs); err != nil {
		return e, err
	}
	var faults []error
	for _, arg := range args {
		if _, err := os.Stat(arg); err != nil && arg != "-" {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "no-file", File: arg, Message: reason(err), Remedy: `name manifests, a directory, values of the chart argo-cd, or "-" for standard input`})
			continue
		}
		if arg != "-" && !isDir(arg) {
			if text, err := os.ReadFile(arg); err == nil {
				if v, ok := chartValues(arg, text); ok {
					e.Values = append(e.Values, v)
					continue
				}
				if isNeither(text) {
					faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "no-manifests", File: arg, Message: "this is neither a manifest nor values of the chart argo-cd", Remedy: "name manifests, with apiVersion and kind, or such values, with " + strings.Join(chartKeys[:2], " or ")})
					continue
				}
			}
		}
		objs, err := in.manifestsOf(cmd, s, arg)
		if _, usage := err.(usageError); usage {
			return e, err
		}
		faults = append(faults, err)
		e.Objects = append(e.Objects, objs...)
	}
	for _, file := range values {
		if charts > 0 {
			break // it was rendered with them
		}
		v, err := readChartValues(file)
		faults = append(faults, err)
		if err == nil {
			e.Values = append(e.Values, v)
		}
	}
	return e, errors.Join(faults...)
}

// fits refuses flags that nothing among the arguments takes.
func (in *inputs) fits(args []string, charts, dirs int) error {
	named := strings.Join(args, ", ")
	if named == "" {
		named = "what is named"
	}
	for _, name := range []string{"set", "set-string", "set-file"} {
		if in.flags.Changed(name) && charts == 0 {
			return usageError{fmt.Errorf("--%s is for the chart argo-cd, and %s is none; name the chart's directory", name, named)}
		}
	}
	for _, name := range []string{"name", "kube-version", "api-versions"} {
		if in.flags.Changed(name) && dirs == 0 {
			return usageError{fmt.Errorf("--%s is for directories that are rendered, and %s is none; drop it, or name a directory", name, named)}
		}
	}
	return nil
}

// readChartValues reads a file that is said to have values of the chart argo-cd.
func readChartValues(file string) (doctor.Values, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return doctor.Values{}, finding.Finding{Severity: finding.Error, Rule: "no-file", File: file, Message: reason(err), Remedy: "name values of the chart argo-cd"}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		line, message := object.SyntaxError(err)
		return doctor.Values{}, finding.Finding{Severity: finding.Error, Rule: "bad-yaml", File: file, Line: line, Message: message, Remedy: "correct the YAML"}
	}
	v, ok := chartValues(file, text)
	if !ok {
		return v, finding.Finding{Severity: finding.Error, Rule: "no-values", File: file, Message: "it has no values of the chart argo-cd", Remedy: "name such a file, or manifests without --values"}
	}
	return v, nil
}

// ofOne refuses values beside a repo-server that they are not put into, and of
// which nobody could say what is found of which.
func ofOne(e doctor.Input, live bool) error {
	if len(e.Values) == 0 {
		return nil
	}
	where := ""
	if live {
		where = "the cluster"
	}
	for _, o := range e.Objects {
		if doctor.IsRepoServer(o) && where == "" {
			where = o.File
		}
	}
	if where == "" {
		return nil
	}
	return usageError{fmt.Errorf("%s has a repo-server already, into which the values of %s are not put; give them with -f to the chart's directory, or look at one of the two", where, e.Values[0].File)}
}

func isChart(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "Chart.yaml"))
	return err == nil
}

// manifestsOf reads a file of manifests, or renders a directory as it is.
func (in *inputs) manifestsOf(cmd *cobra.Command, s streams, arg string) ([]object.Object, error) {
	if !isDir(arg) {
		return readManifests(s, arg)
	}
	if !isChart(arg) {
		for _, name := range []string{"values", "set", "set-string", "set-file"} { // which are the chart's
			f := in.flags.Lookup(name)
			defer func(was bool) { f.Changed = was }(f.Changed)
			f.Changed = false
		}
	}
	res, err := in.generate(cmd, arg, plugin.Settings{Name: "argocd", Namespace: "argocd", Order: wave.Options{Waves: wave.Off}})
	return res.Objects, err
}

// chartValues tells values of the chart argo-cd, also as those of a subchart, from
// other files.
func chartValues(file string, text []byte) (doctor.Values, bool) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) == 0 {
		return doctor.Values{}, false
	}
	v := object.ValueOf(doc.Content[0])
	if v.Get("apiVersion").Exists() && v.Get("kind").Exists() {
		return doctor.Values{}, false
	}
	for _, v := range []object.Value{v, v.Get("argo-cd"), v.Get("argocd")} {
		if slices.ContainsFunc(chartKeys, func(key string) bool { return v.Get(key).IsMap() }) {
			return doctor.Values{File: file, Root: v}, true
		}
	}
	return doctor.Values{}, false
}

// isNeither reports whether a file begins with a mapping that does not even look
// like a manifest.
func isNeither(text []byte) bool {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) == 0 {
		return false
	}
	v := object.ValueOf(doc.Content[0])
	return v.IsMap() && !v.Get("apiVersion").Exists() && !v.Get("kind").Exists()
}

// chartKeys are values by which the chart argo-cd is known.
var chartKeys = []string{"repoServer", "configs", "applicationSet", "controller", "server"}

// servingOf reads the command line and the variables of a container that runs
// "cmp serve", as that does.
func servingOf(args []string, env map[string]string) (doctor.Flags, error) {
	cmd := newServe(streams{Out: io.Discard, Err: io.Discard})
	flags := cmd.Flags()
	flags.ParseErrorsAllowlist = pflag.ParseErrorsAllowlist{}
	flags.SetOutput(io.Discard)
	// Of this process, nothing is to be read.
	for flag, fallback := range map[string]string{"plugin-dir": or(env[socketDirEnv], socketDir), "ladder": env[ladderEnv]} {
		if err := flags.Set(flag, fallback); err != nil {
			return doctor.Flags{}, err
		}
		flags.Lookup(flag).Changed = false
	}
	if err := flags.Parse(args); err != nil {
		return doctor.Flags{}, errors.New(flagFault(err))
	}
	if rest := flags.Args(); len(rest) > 0 {
		return doctor.Flags{}, fmt.Errorf("%q is too much, since it takes no arguments", rest[0])
	}
	if err := readServing(flags, env); err != nil {
		return doctor.Flags{}, err
	}
	text := func(name string) string { return flags.Lookup(name).Value.String() }
	if _, err := newLogger(streams{Err: io.Discard}, text("log-format"), text("log-level")); err != nil {
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
		Render: took("render-timeout"), Ending: took("drain") + timeToFlush.Seconds(), Worker: size("worker-memory"), Server: ownMemory}
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
