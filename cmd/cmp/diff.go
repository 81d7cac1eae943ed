package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/command"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
)

func newDiff(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff DIR DIR | RANGE DIR...",
		Short: "Compare components or fleets before and after a change",
		Long: `Render components before and after a change, and compare objects, waves and findings, but
not the values in Secrets. For a directory of components, compare the rollout of the fleet
and its findings; to compare objects, name the components, such as ./components/*.

Compare two directories, or the same ones at two revisions of their git repository. RANGE
is REV (a branch, tag or commit; the other side is the work tree) or REV..REV. REV... and
REV...REV start from the merge base, which leaves out later commits on the first revision.

Exits with 1 if the change introduces a finding of severity error. With --exit-code: 0 if
nothing differs, 1 if something does, 2 on errors, like kubectl diff.`,
		Example: `  cmp diff main ./component
  cmp diff origin/main... ./components -o markdown > comment.md
  cmp diff ./component.old ./component`,
	}
	in := command.AddAny(cmd, "Compare only the components deployed in this environment")
	in.ExpandSets()
	in.Fleet.Source.Partial = true
	out := addDiffOutput(cmd)
	cmd.Args = cli.Args(2, cli.Many)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		command := "cmp " + strings.Join(append([]string{"diff"}, args...), " ")
		in.ForComponent("generator-values")
		ch, err := checkout.ReadChange(args, s.Directories)
		if err != nil {
			return out.exitError(err)
		}
		isFleet := in.AnyFleet(ch.After, ch.To) || in.AnyFleet(ch.Before, ch.From)
		if err := in.Reject(isFleet, ch.After); err != nil {
			return err
		}
		if isFleet {
			return diffFleet(cmd.Context(), s, in, ch, out, command)
		}
		return diffComponents(cmd.Context(), s, in, ch, out, command)
	}
	return cmd
}

func diffComponents(ctx context.Context, s cli.Streams, in *command.Any, ch checkout.Change, out diffOutput, command string) error {
	opt, err := in.Options()
	if err != nil {
		return err
	}
	r, found, err := compareComponents(ctx, opt, ch, command)
	s.Warn(found...)
	if err != nil {
		return out.exitError(err)
	}
	return out.write(s, r, r.All.Names(), r.All.AddsError(), r.Unknown)
}

// diffOutput contains the flags for the output of a comparison.
type diffOutput struct {
	format, nameOnly *string
	exitCode         *bool
	limit            *int
	// isSet reports whether one of the flags is set.
	isSet func(flag string) bool
}

func (o diffOutput) check() error {
	if name := *o.nameOnly; name != "" && name != namesLines && name != namesNull {
		return finding.Usagef("--name-only: unknown value %q; use --name-only, or --name-only=%s", name, namesNull)
	}
	if *o.limit < compare.LeastMarkdown {
		return finding.Usagef("--limit is %d; use at least %d", *o.limit, compare.LeastMarkdown)
	}
	if *o.nameOnly != "" && *o.format != compare.FormatText {
		return finding.Usagef("--name-only prints only names; remove it, or -o %s", *o.format)
	}
	if o.isSet("limit") && *o.format != compare.FormatMarkdown {
		return finding.Usage("--limit applies only to markdown; remove it, or add -o markdown")
	}
	return nil
}

// exitError returns err so that --exit-code reports it with exit code 2 and not as a difference.
func (o diffOutput) exitError(err error) error {
	if *o.exitCode {
		return finding.UsageError{Err: err}
	}
	return err
}

// write prints a comparison. names are the items that differ, fails means that the change
// introduces an error, and unknown lists the items that could not be compared.
func (o diffOutput) write(s cli.Streams, comparison compare.Shown, names []string, fails bool, unknown []string) error {
	text := compare.Lines(names, *o.nameOnly == namesNull)
	if *o.nameOnly == "" {
		formatted, err := compare.Format(comparison, *o.format, *o.limit, cli.PaintFor(s.Out))
		if err != nil {
			return o.exitError(err)
		}
		text = s.Named(formatted)
	}
	if err := s.Emit(text, nil); err != nil {
		return o.exitError(err)
	}
	if *o.exitCode && len(unknown) > 0 {
		return finding.Usage(compare.UnknownText(finding.Sanitize(strings.Join(unknown, ", "))))
	}
	if *o.exitCode && len(names) > 0 || !*o.exitCode && fails {
		return cli.ErrReported
	}
	return nil
}

// Values of --name-only.
const (
	namesLines = "lines"
	namesNull  = "null"
)

func nameOnlyFlag(cmd *cobra.Command) *string {
	value := cmd.Flags().String("name-only", "",
		"Print only the name of each component that differs; with =null, end each with NUL and do not escape it, for scripts")
	cmd.Flags().Lookup("name-only").NoOptDefVal = namesLines
	cli.Choices(cmd, "name-only", namesLines, namesNull)
	return value
}

func addDiffOutput(cmd *cobra.Command) diffOutput {
	flags := cmd.Flags()
	return diffOutput{
		isSet: flags.Changed,
		format: cli.Format(cmd, "Format (markdown is for a comment on a pull request)", compare.FormatText,
			compare.FormatMarkdown, compare.FormatJSON),
		limit: flags.Int("limit", compare.MostMarkdown,
			"Maximum size of the markdown in bytes; GitHub accepts 65536 characters in a comment. The rest is omitted, with a note"),
		exitCode: flags.Bool("exit-code", false, "Exit with 1 if anything differs, and with 2 on errors"),
		nameOnly: nameOnlyFlag(cmd),
	}
}

// compareComponents compares the components of a change. The report contains command, which
// reproduces it. The findings are those of components that fail on both sides.
func compareComponents(ctx context.Context, opt flags.Options, ch checkout.Change,
	command string) (compare.Report, []finding.Finding, error) {
	opt, err := opt.WithTemporarySeed() // no random difference
	if err != nil {
		return compare.Report{}, nil, err
	}
	r := compare.Report{Command: command}
	var found []finding.Finding
	for i := range ch.Before {
		before, after, err := sides(ctx, opt, ch, i)
		if err != nil {
			return r, found, err
		}
		if before.Failed && after.Failed {
			r.Unknown = append(r.Unknown, ch.After[i])
		}
		c := compare.Components(before, after)
		if c.Different() {
			r.All = append(r.All, compare.Named{Name: ch.After[i], Comparison: c})
		} else if after.Failed {
			found = append(found, after.Findings...)
			continue // and it did before
		}
		r.Compared++
	}
	return r, found, nil
}

// sides renders the component at an index of a change before and after it.
func sides(ctx context.Context, opt flags.Options, ch checkout.Change, i int) (before, after compare.Side, err error) {
	// Two directories have different names, but the Application has only one: use that
	// of the second directory for both.
	name := ""
	if !ch.Revisions {
		name = filepath.Base(checkout.NearestExisting(ch.After[i]))
	}
	before, errBefore := side(ctx, opt, ch.Before[i], ch.From, name)
	if errBefore != nil && !before.Missing {
		return before, after, errBefore
	}
	after, errAfter := side(ctx, opt, ch.After[i], ch.To, name)
	if errAfter != nil && (!after.Missing || before.Missing) {
		return before, after, errAfter
	}
	if before.Failed && after.Failed && after.Findings[0].Rule == locate.ComponentsRule {
		return before, after, after.Findings[0]
	}
	if before.Failed && after.Failed && slices.ContainsFunc(after.Findings, func(f finding.Finding) bool { return isCausedByFlags(opt, f) }) {
		return before, after, finding.Err(after.Findings)
	}
	for i, side := range []compare.Side{before, after} {
		if undeployed := []error{errBefore, errAfter}[i]; undeployed != nil {
			continue
		}
		if side.Missing && (!ch.Revisions || before.Missing && after.Missing) {
			return before, after, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: side.Name,
				Message: "no such directory", Remedy: "check the path"}
		}
	}
	return before, after, nil
}

// side renders a component as it is on disk, or at a commit. name replaces the name of the
// directory, unless it is empty. A component that is not deployed in the environment is
// missing, and the error says so.
func side(ctx context.Context, opt flags.Options, dir string, at *checkout.Commit, name string) (compare.Side, error) {
	c, err := checkout.Open(dir)
	if err != nil {
		return compare.Side{}, fmt.Errorf("%s: %w", dir, err)
	}
	defer c.Close()
	c = c.At(at)
	if name != "" {
		c.Name = name
	}
	s := compare.Side{Name: c.DisplayName(), Dir: c.Show(c.Dir)}
	req, base, err := opt.Request(c)
	if err != nil {
		return s, err
	}
	if info, err := fs.Stat(c.Repo, c.Dir); err != nil {
		s.Missing = true
		return s, nil
	} else if !info.IsDir() {
		return s, finding.Finding{Severity: finding.Error, Rule: finding.NotFound, File: s.Name, Message: "not a directory",
			Remedy: "name the directory of the component"}
	}
	res, err := plugin.Generate(ctx, req, base)
	if s.Missing = plugin.IsNotDeployed(err); s.Missing {
		return s, err
	}
	if err = opt.Fault(req, err); err != nil {
		if !cli.Reportable(err) {
			return s, err
		}
		s.Failed, s.Findings = true, append(finding.Of(err), res.Findings...)
		return s, nil
	}
	s.Plan, s.Objects, s.Gates, s.Findings, s.Generated = res.Plan, res.Objects, res.Plan.Audit(res.Base), res.Findings, res.Applications()
	return s, nil
}

// isCausedByFlags reports whether an error is caused by a flag: a values file that is
// missing or invalid, or values for a component that accepts none.
func isCausedByFlags(opt flags.Options, f finding.Finding) bool {
	own := opt.Settings.Values
	return f.Rule == render.UnexpectedValues && !own.Empty() || f.File != "" && (slices.Contains(own.Files, f.File) ||
		slices.ContainsFunc(own.SetFile, func(expr string) bool { return strings.HasSuffix(expr, "="+f.File) }))
}

// diffFleet compares a fleet before and after a change.
func diffFleet(ctx context.Context, s cli.Streams, in *command.Any, ch checkout.Change, out diffOutput, commandLine string) error {
	opt, err := in.FleetOptions()
	if err != nil {
		return out.exitError(err)
	}
	r, found, err := command.CompareFleets(ctx, opt, ch, commandLine)
	s.Warn(found...)
	if err != nil {
		return out.exitError(err)
	}
	return out.write(s, r, r.Components(), compare.AnyError(r.New), r.Unknown)
}
