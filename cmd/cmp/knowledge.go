package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/nearest"
	"github.com/ladder-cmp/ladder/plugin"
)

func newKnowledge(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "knowledge [GROUP | GROUP/KIND | KIND.GROUP | KIND]",
		Short: "Print what is known about a kind, and from where",
		Long: `Print what is known about a kind: the rung it stands on, what Argo CD waits for,
what its fields refer to, where that is known from, and which ` + knowledge.File + ` changed it.
Of a group, list its kinds; without an argument, list the groups. The core group is
called core.`,
		Example: `  cmp knowledge cert-manager.io/Certificate
  cmp knowledge Certificate
  cmp knowledge cert-manager.io
  cmp knowledge cert-manager.io/Certificate -o yaml > ` + knowledge.File,
		Args: cobra.MaximumNArgs(1),
	}
	ladder := ladderFlag(cmd.Flags())
	dir := cmd.Flags().String("dir", ".", "The component: its "+knowledge.File+" counts, and those above it in the repository")
	format := cmd.Flags().StringP("output", "o", "text", "Form of the output: text, or yaml for records to paste into a "+knowledge.File)
	choices(cmd, "output", "text", "yaml")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := knownFormat(*format, "text", "yaml"); err != nil {
			return err
		}
		if *format == "yaml" && len(args) == 0 {
			return usageError{errors.New("-o yaml prints records of kinds; name a kind or a group")}
		}
		base, err := knowledgeBase(*ladder)
		if err != nil {
			return err
		}
		if info, err := os.Stat(*dir); err != nil || !info.IsDir() {
			message := "no such directory"
			if err == nil {
				message = "this is a file"
			}
			return finding.Finding{Severity: finding.Error, Rule: "no-directory", File: *dir, Message: message, Remedy: "name the directory of a component with --dir"}
		}
		c, err := openCheckout(*dir)
		if err != nil {
			return fmt.Errorf("%s: %w", *dir, err)
		}
		defer c.close()
		base, err = plugin.Request{Repo: c.repo, Dir: c.dir, Show: c.show}.Knowledge(base)
		if err != nil {
			return err
		}
		a := asked{base: base, groups: base.Groups()}
		if len(args) == 0 {
			_, err = io.WriteString(s.Out, a.groupTable())
			return err
		}
		if err := a.find(args[0]); err != nil {
			return err
		}
		text := a.text()
		if *format == "yaml" {
			text = knowledge.YAML(a.kinds)
		}
		_, err = io.WriteString(s.Out, text)
		return err
	}
	return cmd
}

// coreGroup is what the group without a name is called here.
const coreGroup = "core"

// asked is a question about what is known, and what it is about.
type asked struct {
	base   *knowledge.Base
	groups []knowledge.Group
	// kinds are what is asked for, others what the same word may mean.
	kinds, others []knowledge.Kind
	// unknown means that there is no record of the kind.
	unknown bool
	// listed means that the kinds of a group are asked for.
	listed bool
}

// find understands the argument: a group, a kind of a group, or a bare kind.
func (a *asked) find(arg string) error {
	if g, ok := a.group(arg); ok {
		a.kinds, a.listed = g.Kinds, true
		return nil
	}
	if at := strings.LastIndexByte(arg, '/'); at >= 0 {
		group, kind := arg[:at], arg[at+1:]
		if kind == "" || strings.Contains(group, "/") {
			return notFound(arg, "this is neither a group nor a kind", "write GROUP/KIND, without a version")
		}
		a.qualified(group, kind)
		return nil
	}
	if kind, group, ok := strings.Cut(arg, "."); ok {
		_, known := a.group(group)
		if kind == "" || group == "" || !known && strings.ToLower(arg) == arg {
			return notFound(arg, "nothing is known about such a group", a.nearest(arg)+"to ask about a kind in it, write "+arg+"/KIND")
		}
		a.qualified(group, kind)
		return nil
	}
	for _, g := range a.groups {
		for _, k := range g.Kinds {
			if !strings.EqualFold(k.Kind, arg) {
				continue
			}
			if g.Builtin && len(a.kinds) == 0 { // which people mean most
				a.kinds = append(a.kinds, k)
				continue
			}
			a.others = append(a.others, k)
		}
	}
	if len(a.kinds) == 0 {
		a.kinds, a.others = a.others, nil
	}
	if len(a.kinds) == 0 {
		return notFound(arg, "nothing is known about a kind or group of that name", a.nearest(arg)+"see what is known with cmp knowledge")
	}
	return nil
}

func notFound(arg, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: "unknown-kind", Field: arg, Message: message, Remedy: remedy}
}

func (a *asked) group(name string) (knowledge.Group, bool) {
	if name == coreGroup {
		name = ""
	} else if name == "" {
		return knowledge.Group{}, false
	}
	at := slices.IndexFunc(a.groups, func(g knowledge.Group) bool { return g.Name == name })
	if at < 0 {
		return knowledge.Group{}, false
	}
	return a.groups[at], true
}

// qualified looks up a kind in its group, however it is spelt.
func (a *asked) qualified(group, kind string) {
	if g, ok := a.group(group); ok {
		for _, k := range g.Kinds {
			if strings.EqualFold(k.Kind, kind) {
				kind = k.Kind
			}
		}
	}
	if group == coreGroup {
		group = ""
	}
	k, ok := a.base.Kind(group, kind)
	if !ok {
		k = a.base.Guess(group, kind)
	}
	a.kinds, a.unknown = []knowledge.Kind{k}, !ok
}

// nearest is the beginning of a remedy that names what may have been meant.
func (a *asked) nearest(arg string) string {
	near := nearest.New(arg)
	for _, g := range a.groups {
		near.Add(groupName(g.Name), g.Name, g.Product)
		for _, k := range g.Kinds {
			near.Add(k.Kind, k.Kind)
		}
	}
	return near.String()
}

func groupName(name string) string {
	if name == "" {
		return coreGroup
	}
	return name
}

func (a *asked) groupTable() string {
	return columns("GROUP\tKINDS\tPRODUCT", func(w io.Writer) {
		for _, g := range a.groups {
			fmt.Fprintf(w, "%s\t%d\t%s\n", finding.Harmless(groupName(g.Name)), len(g.Kinds), a.product(g.Name))
		}
	})
}

// product says to what a group belongs.
func (a *asked) product(group string) string {
	at := slices.IndexFunc(a.groups, func(g knowledge.Group) bool {
		ok, err := path.Match(g.Name, group)
		return g.Product != "" && (g.Name == group || ok && err == nil)
	})
	if at < 0 {
		return "-"
	}
	return a.groups[at].Product
}

func columns(head string, rows func(w io.Writer)) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	rows(w)
	w.Flush() // into memory
	return b.String()
}

// text answers for people.
func (a *asked) text() string {
	if a.listed || len(a.kinds) > 1 {
		table := columns("GROUP\tKIND\tRUNG\tWAVE\tWAITED FOR\tWHY", func(w io.Writer) {
			for _, k := range a.kinds {
				if k.Rung == "" { // of a record for any kind of its group
					k.Rung = a.base.Guess(k.Group, k.Kind).Rung
				}
				rung, _ := a.base.Rung(k.Rung)
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", finding.Harmless(groupName(k.Group)), finding.Harmless(k.Kind), k.Rung, rung.Wave, waited(k), finding.Harmless(k.Why))
			}
		})
		if !a.listed {
			table += "Ask about one of them as GROUP/KIND.\n"
		}
		return table
	}
	return a.record(a.kinds[0])
}

func waited(k knowledge.Kind) string {
	switch {
	case k.Waited():
		return "yes"
	case len(k.Health) == 0 || !slices.ContainsFunc(k.Health, func(h knowledge.Health) bool { return !h.Healthy }):
		return "no"
	}
	return "at times"
}

// record writes out all that is known about a kind.
func (a *asked) record(k knowledge.Kind) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		for text := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
			b.WriteString(finding.Harmless(text) + "\n")
		}
	}
	rung, _ := a.base.Rung(k.Rung)
	line("%s", knowledge.GroupKind{Group: k.Group, Kind: k.Kind})
	line("  group:   %s%s", groupName(k.Group), note(strings.TrimPrefix(a.product(k.Group), "-")))
	switch {
	case k.Scope == "cluster":
		line("  scope:   cluster, it has no namespace")
	case a.unknown:
		line("  scope:   taken for namespaced, unless its definition is in the component")
	default:
		line("  scope:   namespaced")
	}
	line("  rung:    %s, wave %d: %s", k.Rung, rung.Wave, k.Why)
	a.health(k, line)
	if len(k.References) > 0 {
		line("  refers to:")
		table := columns("FIELD\tMEANING\tTO\tWHY", func(w io.Writer) {
			for _, r := range k.References {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", finding.Harmless(field(r)), meaning(r), finding.Harmless(targets(r.To)), finding.Harmless(r.Why+note(r.Note)))
			}
		})
		line("    %s", strings.ReplaceAll(strings.TrimSuffix(table, "\n"), "\n", "\n    "))
	}
	if rest := k.Rest("kind", "scope", "rung", "why", "source", "health", "references", "sees"); rest != "" {
		line("  besides: %s", strings.ReplaceAll(strings.TrimSuffix(rest, "\n"), "\n", ", "))
	}
	if _, packages := a.base.Brought(k.Group, k.Kind); len(packages) > 0 {
		var names []string
		for _, p := range packages {
			names = append(names, p.String())
		}
		line("  package: %s", strings.Join(names, ", "))
	}
	switch {
	case a.unknown:
		line("  source:  none, there is no record of the kind; add one to a %s:", knowledge.File)
		line("    %s", strings.ReplaceAll(strings.TrimSuffix(knowledge.YAML([]knowledge.Kind{k}), "\n"), "\n", "\n    "))
	default:
		line("  source:  %s", k.Source)
	}
	if len(k.ChangedBy) > 0 {
		line("  changed: by %s", strings.Join(k.ChangedBy, ", then by "))
	} else if !a.unknown {
		line("  changed: by no %s", knowledge.File)
	}
	if len(a.others) > 0 {
		var names []string
		for _, o := range a.others {
			names = append(names, knowledge.GroupKind{Group: o.Group, Kind: o.Kind}.String())
		}
		line("There are others of that name: %s", strings.Join(names, ", "))
	}
	return b.String()
}

// signs tells the signs of health in words.
func signs(all []knowledge.Sign) string {
	var parts []string
	for _, sign := range all {
		what := sign.At
		if sign.Condition != "" {
			what = "condition " + sign.Condition
		}
		parts = append(parts, what+" is "+strings.Join(sign.Values(), " or "))
	}
	return finding.Harmless(strings.Join(parts, " and "))
}

func note(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// health writes what Argo CD waits for, one line for each case.
func (a *asked) health(k knowledge.Kind, line func(string, ...any)) {
	if len(k.Health) == 0 {
		line("  health:  no health check: a wave does not wait for it")
		if k.Sees != nil {
			line("           cmp health makes one: healthy when %s", signs(k.Sees.Healthy))
		}
		return
	}
	for i, h := range k.Health {
		label := "health: "
		if i > 0 {
			label = "        "
		}
		var where, parts []string
		for _, c := range h.When {
			where = append(where, fmt.Sprintf("%s is %s", c.At, strings.Join(c.In, " or ")))
		}
		if len(where) > 0 {
			label += " where " + strings.Join(where, " and ") + ":"
		}
		if h.Healthy {
			parts = append(parts, "healthy as soon as it is applied")
		} else {
			parts = append(parts, "a wave waits for "+h.Waits)
		}
		if len(h.Can) > 0 {
			parts = append(parts, "it can be "+strings.Join(h.Can, " or "))
		}
		for _, warning := range []struct{ what, why string }{{"it may never be healthy", h.Never}, {"it passes through Degraded", h.Passes}} {
			if warning.why != "" {
				parts = append(parts, warning.what+": "+warning.why)
			}
		}
		if h.Since != "" {
			parts = append(parts, "since Argo CD "+h.Since)
		}
		line("  %s %s%s", label, strings.Join(parts, "; "), note(h.Note))
	}
}

// field is where a reference stands.
func field(r knowledge.Reference) string {
	if r.Named != "" {
		return "its name, as " + r.Named
	}
	text := r.At.String()
	if r.Name != "name" {
		text += " (" + r.Name + ")"
	}
	if r.Default != "" {
		text += " or else " + r.Default
	}
	return text
}

func meaning(r knowledge.Reference) string {
	text := string(r.Meaning)
	if r.Hard {
		text += ", hard"
	}
	return text
}

func targets(to knowledge.Targets) string {
	var names []string
	for _, gk := range to {
		names = append(names, gk.String())
	}
	return strings.Join(names, ", ")
}
