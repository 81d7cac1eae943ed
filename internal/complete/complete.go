// Package complete implements shell completion: arguments by their names in usage
// lines, and flags by name.
package complete

import (
	"context"
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
)

// All adds completion to every command below root: arguments by their names in the
// usage line, flags by name. Everything else completes to nothing, in particular
// not to files.
func All(root *cobra.Command) { addTo(root, values()) }

func addTo(root *cobra.Command, values map[string]cobra.CompletionFunc) {
	for _, cmd := range root.Commands() {
		addTo(cmd, values)
		if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
			cmd.ValidArgsFunction = argumentsOf(cmd)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, done := cmd.GetFlagCompletionFunc(f.Name); done || f.Value.Type() == "bool" {
				return
			}
			complete, known := values[f.Name]
			if !known {
				complete = cobra.NoFileCompletions
			}
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the flag exists and has none
		})
	}
}

// argumentsOf completes the arguments in a usage line, in order. Dots mean that the
// last one may be repeated.
func argumentsOf(cmd *cobra.Command) cobra.CompletionFunc {
	var names []string
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if word == "|" || strings.HasPrefix(strings.Trim(word, "[]"), "-") {
			break // flags, and alternative forms
		}
		names = append(names, strings.Trim(word, "[]"))
	}
	of := cmd.HasParent() && cmd.Parent().Name() == "fleet"
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		at := len(args)
		if last := len(names) - 1; last >= 0 && at > last && strings.Contains(names[last], "...") {
			at = last
		}
		if at >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if at == 0 && strings.Contains(cmd.Use, "RANGE") {
			return sidesOf(typed, of)
		}
		switch name := strings.TrimSuffix(names[at], "..."); {
		case name == "DIR" && of:
			return Paths(typed, locate.DescribedKindOf, false)
		case name == "DIR":
			return Paths(typed, locate.KindOf, false)
		case strings.HasSuffix(name, "|FILE|-"):
			return Paths(typed, locate.KindOf, true)
		case name == "KIND/NAME":
			return objects(cmd, args, typed)
		case name == "GROUP":
			return Kinds(cmd, args, typed)
		case name == "FILE":
			return ManifestFiles(cmd, args, typed)
		case strings.HasSuffix(name, "DIR"):
			return Paths(typed, locate.KindOf, false)
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// sidesOf completes the start of a comparison: a directory, or a branch or tag of
// the current repository, also as the end of a range.
func sidesOf(typed string, fleet bool) ([]string, cobra.ShellCompDirective) {
	wanted := locate.KindOf
	if fleet {
		wanted = locate.DescribedKindOf
	}
	all, directive := Paths(typed, wanted, false)
	before := ""
	if left, right, ranged := strings.Cut(typed, ".."); ranged {
		before = left + ".."
		if strings.HasPrefix(right, ".") {
			before += "."
		}
	}
	repo, err := checkout.OpenRepository(checkout.GitRoot(checkout.WorkingDir()))
	if err != nil {
		return all, directive
	}
	for _, name := range repo.Names() {
		all = append(all, before+finding.Sanitize(name))
	}
	return WithPrefix(all, typed), directive
}

// AnyFile leaves completion to the shell.
var AnyFile = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)

// WithPrefix returns the choices with the typed prefix.
func WithPrefix(all []string, typed string) []string {
	return slices.DeleteFunc(all, func(c string) bool { return !strings.HasPrefix(c, typed) })
}

// Paths returns the directories with the typed prefix that are wanted, and, with a
// trailing slash, those that lead to one; if files is set, also manifests.
func Paths(typed string, wanted func([]os.DirEntry) string, files bool) ([]string, cobra.ShellCompDirective) {
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(typed, home+"/") || strings.HasPrefix(typed, "~") {
		return nil, cobra.ShellCompDirectiveFilterDirs // perhaps a ~, which only the shell can restore
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	var all []string
	for _, p := range locate.Paths(typed, wanted, files) {
		if p.HasComponents {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		if p.Kind != "" {
			p.Path = cobra.CompletionWithDesc(p.Path, p.Kind)
		}
		all = append(all, p.Path)
	}
	return all, directive
}

// Timeout is the timeout of a completion. Slower ones return nothing.
const Timeout = 2 * time.Second

// WithTimeout returns the result of f, or nothing if it fails or is too slow, since a
// shell cannot show a message. The program ends right after, and f with it.
func WithTimeout[T any](ctx context.Context, f func(context.Context) (T, error)) T {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	log.SetOutput(io.Discard) // messages of libraries
	found := make(chan T, 1)
	go func() {
		defer close(found) // also if a library panics, so that nobody waits
		defer func() { _ = recover() }()
		if value, err := f(ctx); err == nil {
			found <- value
		}
	}()
	select {
	case value := <-found:
		return value
	case <-ctx.Done():
		var none T
		return none
	}
}
