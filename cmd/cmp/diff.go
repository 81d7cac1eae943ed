package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/compare"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/plugin"
)

// The formats of a comparison.
const (
	diffText     = "text"
	diffMarkdown = "markdown"
	diffJSON     = "json"
)

// exitRules is how commands that compare tell people how they end.
const exitRules = `Exits with 1 if the change brings a finding of severity error, such as a component
that cannot be rendered any more. With --exit-code it is as with diff and kubectl
diff: 0 if nothing differs, 1 if something does, 2 if that could not be found out.`

func newDiff(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff DIR DIR | REV[..[.]REV] DIR...",
		Short: "Say what a change does to the objects and waves of components",
		Long: `Render components before and after a change, and say what differs: objects that
come, go and change, field by field; waves that move, and why; what is waited for
and was not, or is no more; and which findings are new or fixed. Of Secrets, the
keys that changed are named, and never their values.

` + twoSides + `

` + exitRules,
		Example: `  cmp diff main ./component
  cmp diff origin/main... ./apps/* -o markdown > comment.md
  cmp diff v1.4..v1.5 ./component -o json
  cmp diff ./component.old ./component`,
		Args: cobra.MinimumNArgs(2),
	}
	in := addInputs(cmd)
	out := addDiffOutput(cmd, "directory")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		ch, err := readChange(s, args)
		if err != nil {
			return out.trouble(err)
		}
		r := diffReport{command: "cmp " + strings.Join(append([]string{"diff"}, args...), " ")}
		for i := range ch.before {
			before, after, err := in.sides(cmd, ch, i)
			if err != nil {
				return out.trouble(err)
			}
			if before.Failed && after.Failed {
				r.unknown = append(r.unknown, ch.after[i])
			}
			c := compare.Components(before, after)
			if c.Different() {
				r.all = append(r.all, named{ch.after[i], c})
			} else if after.Failed {
				warn(s, after.Findings)
				continue // and it did before
			}
			r.looked++
		}
		return out.write(s, r, r.all.names(), r.all.fails(), r.unknown)
	}
	return cmd
}

// sides renders a component before and after a change.
func (in *inputs) sides(cmd *cobra.Command, ch change, i int) (before, after compare.Side, err error) {
	// Of two directories one is called otherwise because there cannot be two of a
	// name; an Application has one.
	name := ""
	if !ch.revisions {
		name = filepath.Base(existing(ch.after[i]))
	}
	if before, err = in.side(cmd, ch.before[i], ch.from, name); err != nil {
		return before, after, err
	}
	if after, err = in.side(cmd, ch.after[i], ch.to, name); err != nil {
		return before, after, err
	}
	if before.Failed && after.Failed && after.Findings[0].Rule == folderRule {
		return before, after, after.Findings[0]
	}
	if before.Failed && after.Failed && slices.ContainsFunc(after.Findings, in.asked) {
		return before, after, finding.Err(after.Findings)
	}
	for _, side := range []compare.Side{before, after} {
		if side.Missing && (!ch.revisions || before.Missing && after.Missing) {
			return before, after, finding.Finding{Severity: finding.Error, Rule: "no-directory", File: side.Name, Message: "no such directory", Remedy: "check the path"}
		}
	}
	return before, after, nil
}

// side renders a component as it is on disk, or at a commit. name is what its
// directory is taken to be called; empty means what it is.
func (in *inputs) side(cmd *cobra.Command, dir string, at *commit, name string) (compare.Side, error) {
	c, err := openCheckout(dir)
	if err != nil {
		return compare.Side{}, fmt.Errorf("%s: %w", dir, err)
	}
	defer c.close()
	c = c.at(at)
	if name != "" {
		c.name = name
	}
	side := compare.Side{Name: c.called(), Dir: c.show(c.dir)}
	req, base, err := in.requestFor(c)
	if err != nil {
		return side, err
	}
	if info, err := fs.Stat(c.repo, c.dir); err != nil {
		side.Missing = true
		return side, nil
	} else if !info.IsDir() {
		return side, finding.Finding{Severity: finding.Error, Rule: "no-directory", File: side.Name, Message: "this is a file", Remedy: "name the directory of the component"}
	}
	res, err := plugin.Generate(cmd.Context(), req, base)
	if err = in.blamed(in.notOne(cmd, req, err)); err != nil {
		if !reportable(err) {
			return side, err
		}
		side.Failed, side.Findings = true, finding.Of(err)
		return side, nil
	}
	side.Plan, side.Objects, side.Gates, side.Findings = res.Plan, res.Objects, res.Plan.Audit(res.Base), res.Findings
	return side, nil
}

// diffOutput are the flags that say how a comparison is told.
type diffOutput struct {
	format             *string
	exitCode, nameOnly *bool
	null               *bool
	limit              *int
	// given reports whether a flag was.
	given func(flag string) bool
}

func addDiffOutput(cmd *cobra.Command, what string) diffOutput {
	flags := cmd.Flags()
	return diffOutput{
		given:    flags.Changed,
		format:   formatFlag(cmd, "Format (markdown is for a comment on a pull request)", diffText, diffMarkdown, diffJSON),
		limit:    flags.Int("limit", mostMarkdown, "Bytes of markdown, of which GitHub takes 65536 characters in a comment; the rest is left out, and said to be"),
		exitCode: flags.Bool("exit-code", false, "Exit with 1 if anything differs, and with 2 if that could not be found out"),
		nameOnly: flags.Bool("name-only", false, "Print only the name of each "+what+" that differs"),
		null:     flags.Bool("null", false, "With --name-only: end each name with a NUL and write it as it is, for programs; names may hold line breaks"),
	}
}

func (o diffOutput) check() error {
	if err := knownFormat(*o.format, diffText, diffMarkdown, diffJSON); err != nil {
		return err
	}
	if *o.limit < leastMarkdown {
		return usageError{fmt.Errorf("--limit is %d; give it at least %d", *o.limit, leastMarkdown)}
	}
	if *o.nameOnly && *o.format != diffText {
		return usageError{fmt.Errorf("--name-only prints names and nothing else; drop it, or -o %s", *o.format)}
	}
	if *o.null && !*o.nameOnly {
		return usageError{errors.New("--null has no effect without --name-only; add it")}
	}
	if o.given("limit") && *o.format != diffMarkdown {
		return usageError{errors.New("--limit is for markdown, and the rest is never cut; drop it, or add -o markdown")}
	}
	return nil
}

// trouble is an error that with --exit-code must not look like a difference.
func (o diffOutput) trouble(err error) error {
	if *o.exitCode {
		return usageError{err}
	}
	return err
}

// told is what can be written in each of the formats.
type told interface {
	text(p paint) string
	// markdown is of at most so many bytes.
	markdown(limit int) string
	json() any
}

// write prints a comparison. names are what differs, fails says that the change
// brings an error, and unknown are the names of what nothing can be said of.
func (o diffOutput) write(s streams, what told, names []string, fails bool, unknown []string) error {
	var text string
	switch {
	case *o.nameOnly:
		for _, name := range names {
			if *o.null {
				text += name + "\x00"
			} else {
				text += finding.Harmless(name) + "\n"
			}
		}
	case *o.format == diffJSON:
		data, err := json.MarshalIndent(what.json(), "", "  ")
		if err != nil {
			return o.trouble(err)
		}
		text = string(data) + "\n"
	case *o.format == diffMarkdown:
		text = what.markdown(*o.limit)
	default:
		text = what.text(paintFor(s.Out))
	}
	if _, err := io.WriteString(s.Out, text); err != nil {
		return o.trouble(err)
	}
	if *o.exitCode && len(unknown) > 0 {
		return usageError{errors.New(unknownText(finding.Harmless(strings.Join(unknown, ", "))))}
	}
	if *o.exitCode && len(names) > 0 || !*o.exitCode && fails {
		return errReported
	}
	return nil
}

// named is what a change does to the component that the user calls so.
type named struct {
	name string
	compare.Comparison
}

type comparisons []named

func (all comparisons) names() []string {
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	return names
}

// fails reports whether a change brings an error.
func (all comparisons) fails() bool {
	return slices.ContainsFunc(all, func(c named) bool { return anyError(c.New) })
}

func anyError(all []finding.Finding) bool {
	return slices.ContainsFunc(all, func(f finding.Finding) bool { return f.Severity == finding.Error })
}
