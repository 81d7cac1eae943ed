package flags

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/plugin"
)

// paramFlag sets any parameter of a rendering, also those that have no flag of their own.
const paramFlag = "param"

// addParameter adds the flag of a parameter.
func (in *Rendering) addParameter(p plugin.Parameter) {
	text := describe(p)
	switch p.Collection {
	case "array":
		in.Flags.StringSliceP(p.Name, p.Short, nil, text)
	case "map":
		in.Flags.StringArrayP(p.Name, p.Short, nil, text+" (key=value, may be repeated)")
	default:
		in.Flags.StringP(p.Name, p.Short, "", text)
	}
	cli.PutFlags(in.Flags, sectionOf(p), p.Name)
	if len(p.Choices) > 0 {
		cli.Choices(in.Cmd, p.Name, p.Choices...)
	}
}

// describe is the help of a parameter on the command line.
func describe(p plugin.Parameter) string {
	text := strings.TrimSuffix(p.Tooltip, ".")
	if p.Flag != "" {
		text = p.Flag
	}
	if p.Default != "" {
		text += " (default: " + p.Default + ")"
	}
	return text
}

// addParam adds --param, if the command takes parameters that have no flag.
func (in *Rendering) addParam() {
	var rows []string
	for _, p := range in.parameters {
		if !p.Visible {
			rows = append(rows, p.Name+"\t"+describe(p))
		}
	}
	if len(rows) == 0 {
		return
	}
	in.params = in.Flags.StringArray(paramFlag, nil,
		"Set any parameter (name=value, may be repeated, also for the values of a list); --help-all lists those without a flag")
	cli.PutFlags(in.Flags, cli.RenderingFlags, paramFlag)
	cli.SetList(in.Flags.Lookup(paramFlag), rows)
	flag := in.Flags.Lookup(paramFlag)
	flag.DefValue = "" // pflag knows only its own types as empty
	flag.Value = paramValue{flag.Value, flag.Value.(pflag.SliceValue), in.parameters}
}

// givenParams returns what --param sets, by parameter.
func (in *Rendering) givenParams() (map[string][]string, []error) {
	given := map[string][]string{}
	if in.params == nil {
		return given, nil
	}
	var faults []error
	for _, text := range *in.params {
		name, value, found := strings.Cut(text, "=")
		switch {
		case !slices.ContainsFunc(in.parameters, func(p plugin.Parameter) bool { return p.Name == name }):
			var names []string
			for _, p := range in.parameters {
				names = append(names, p.Name)
			}
			faults = append(faults, badParam("--param "+name, "unknown parameter",
				"see "+in.Cmd.CommandPath()+" --help-all").Asking(finding.Suggest(name, names)))
		case !found || value == "":
			faults = append(faults, badParam("--param "+name, "the value is missing", "write --param "+name+"=VALUE"))
		default:
			given[name] = append(given[name], value)
		}
	}
	return given, faults
}

func badParam(field, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Field: field, Message: message, Remedy: remedy}
}

// named are the names of the parameters that --param sets.
func (in *Rendering) named() (names []string) {
	if in.params != nil {
		for _, text := range *in.params {
			name, _, _ := strings.Cut(text, "=")
			names = append(names, name)
		}
	}
	return names
}

// paramValue is the value of --param, which knows its completion.
type paramValue struct {
	pflag.Value
	pflag.SliceValue
	parameters []plugin.Parameter
}

// Complete completes the name of a parameter, and values that are choices.
func (v paramValue) Complete(_ *cobra.Command, _ []string, typed string) (all []string, _ cobra.ShellCompDirective) {
	for _, p := range v.parameters {
		choices := p.Choices
		if p.Item == "boolean" {
			choices = []string{"true", "false"}
		}
		if !strings.HasPrefix(typed, p.Name+"=") {
			choices = []string{""}
		}
		for _, c := range choices {
			if word := p.Name + "=" + c; strings.HasPrefix(word, typed) {
				all = append(all, cobra.CompletionWithDesc(word, strings.TrimSuffix(p.Title, ".")))
			}
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
