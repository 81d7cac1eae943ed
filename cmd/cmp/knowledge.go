package main

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/knowledge"
)

func newKnowledge(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "knowledge [GROUP | GROUP/KIND | KIND.GROUP | KIND]",
		Short: "Print what Ladder knows about a kind, with sources",
		Long: `Print what Ladder knows about a kind: its rung, what Argo CD waits for, what its
fields refer to, the sources, and which ` + knowledge.File + ` changed it.
For a group, list its kinds; without an argument, list the groups. The core group
is called core.`,
		Example: `  cmp knowledge cert-manager.io/Certificate
  cmp knowledge Certificate
  cmp knowledge cert-manager.io
  cmp knowledge cert-manager.io/Certificate -o yaml > certificate.yaml`,
		Args: cli.Args(0, 1),
	}
	ladder := flags.LadderFlag(cmd.Flags())
	dir := cmd.Flags().String("dir", ".",
		"Directory of a component, whose "+knowledge.File+" files apply, including those above it in the repository")
	format := cli.FormatFlag(cmd, "Format: text, or yaml for records to paste into a "+knowledge.File, "text", "yaml")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if *format == "yaml" && len(args) == 0 {
			return finding.Usage("-o yaml prints records of kinds; name a kind or a group")
		}
		base, err := flags.KnowledgeOf(*ladder)
		if err != nil {
			return err
		}
		if base, err = flags.KnowledgeAt(*dir, base); err != nil {
			return err
		}
		q := question{Base: base, Groups: base.Groups()}
		if len(args) == 0 {
			return s.Emit(q.GroupTable(), nil)
		}
		if err := q.Find(args[0]); err != nil {
			return err
		}
		text := q.Text()
		if *format == "yaml" {
			text = knowledge.YAML(q.Kinds)
		}
		return s.Print(text, nil)
	}
	return cmd
}

// question is a query with its results.
type question struct {
	Base   *knowledge.Base
	Groups []knowledge.Group
	// Kinds are the results, others further kinds of the same name.
	Kinds, others []knowledge.Kind
	// unknown means that the kind has no record.
	unknown bool
	// listed means that the query is for all kinds of a group.
	listed bool
}

// Find resolves the argument: a group, a kind with its group, or a kind only.
func (a *question) Find(arg string) error {
	if g, ok := a.group(arg); ok {
		a.Kinds, a.listed = g.Kinds, true
		return nil
	}
	if at := strings.LastIndexByte(arg, '/'); at >= 0 {
		group, kind := arg[:at], arg[at+1:]
		if kind == "" || strings.Contains(group, "/") {
			return notFound(arg, "neither an API group nor a kind", "use GROUP/KIND, without a version")
		}
		a.qualified(group, kind)
		return nil
	}
	if kind, group, ok := strings.Cut(arg, "."); ok {
		_, known := a.group(group)
		if version, rest, ok := strings.Cut(group, "."); ok && !known && apiVersion.MatchString(version) { // as kubectl takes it
			group = groupName(rest)
			_, known = a.group(group)
		}
		if kind == "" || group == "" || !known && strings.ToLower(arg) == arg {
			return notFound(arg, "unknown API group", "use "+arg+"/KIND for a kind in it").Asking(a.nearest(arg).String())
		}
		a.qualified(group, kind)
		return nil
	}
	var all []knowledge.Kind
	for _, g := range a.Groups {
		all = append(all, g.Kinds...)
	}
	named := spelled(arg, all)
	for _, g := range a.Groups {
		for _, k := range g.Kinds {
			if k.Kind != named {
				continue
			}
			if g.Builtin && len(a.Kinds) == 0 { // usually the one that users mean
				a.Kinds = append(a.Kinds, k)
				continue
			}
			a.others = append(a.others, k)
		}
	}
	if len(a.Kinds) == 0 {
		a.Kinds, a.others = a.others, nil
	}
	if len(a.Kinds) == 0 {
		return notFound(arg, "unknown kind or API group", "list what Ladder knows with cmp knowledge").Asking(a.nearest(arg).String())
	}
	return nil
}

func (a *question) group(name string) (knowledge.Group, bool) {
	if name == coreGroup {
		name = ""
	} else if name == "" {
		return knowledge.Group{}, false
	}
	at := slices.IndexFunc(a.Groups, func(g knowledge.Group) bool { return g.Name == name })
	if at < 0 {
		return knowledge.Group{}, false
	}
	return a.Groups[at], true
}

// apiVersion matches the version of a kind.
var apiVersion = lazyregexp.New(`^v\d+((alpha|beta)\d+)?$`)

// spelled returns the one of some kinds that a word is, in any case, or is a short name or the
// plural of; the full kind if it is none of them.
func spelled(word string, kinds []knowledge.Kind) string {
	word = knowledge.FullKind(word)
	for _, spelling := range []func(string) string{strings.ToLower, knowledge.Plural} {
		at := slices.IndexFunc(kinds, func(k knowledge.Kind) bool { return spelling(k.Kind) == strings.ToLower(word) })
		if at >= 0 {
			return kinds[at].Kind
		}
	}
	return word
}

// qualified looks up a kind in a group, in any spelling.
func (a *question) qualified(group, kind string) {
	g, _ := a.group(group)
	kind = spelled(kind, g.Kinds)
	if group == coreGroup {
		group = ""
	}
	k, ok := a.Base.Kind(group, kind)
	if !ok {
		k = a.Base.Guess(group, kind)
	}
	a.Kinds, a.unknown = []knowledge.Kind{k}, !ok
}

// nearest suggests kinds and groups for an unknown name.
func (a *question) nearest(arg string) *finding.Nearest {
	near := finding.NearestTo(arg)
	for _, g := range a.Groups {
		near.Add(groupName(g.Name), g.Name, g.Product)
		for _, k := range g.Kinds {
			near.Add(k.Kind, k.Kind)
		}
	}
	return near
}

// GroupTable lists the groups with records.
func (a *question) GroupTable() string {
	return paint.Columns("GROUP\tKINDS\tPRODUCT", func(w io.Writer) {
		for _, g := range a.Groups {
			fmt.Fprintf(w, "%s\t%d\t%s\n", finding.Sanitize(groupName(g.Name)), len(g.Kinds), a.product(g.Name))
		}
	})
}

// product returns the product of a group.
func (a *question) product(group string) string {
	at := slices.IndexFunc(a.Groups, func(g knowledge.Group) bool {
		ok, err := path.Match(g.Name, group)
		return g.Product != "" && (g.Name == group || ok && err == nil)
	})
	if at < 0 {
		return "-"
	}
	return a.Groups[at].Product
}

// Text formats the answer for users.
func (a *question) Text() string {
	if a.listed || len(a.Kinds) > 1 {
		table := paint.Columns("GROUP\tKIND\tRUNG\tWAVE\tARGO CD WAITS\tWHY", func(w io.Writer) {
			for _, k := range a.Kinds {
				if k.Rung == "" { // a record for any kind of its group
					k.Rung = a.Base.Guess(k.Group, k.Kind).Rung
				}
				rung, _ := a.Base.Rung(k.Rung)
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", finding.Sanitize(groupName(k.Group)), finding.Sanitize(k.Kind), k.Rung,
					rung.Wave, waited(k), finding.Sanitize(k.Why))
			}
		})
		if !a.listed {
			table += "To show one of them, run: cmp knowledge GROUP/KIND\n"
		}
		return table
	}
	return a.record(a.Kinds[0])
}

// record formats all knowledge about a kind.
func (a *question) record(k knowledge.Kind) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		for text := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
			b.WriteString(finding.Sanitize(text) + "\n")
		}
	}
	rung, _ := a.Base.Rung(k.Rung)
	line("%s", knowledge.GroupKind{Group: k.Group, Kind: k.Kind})
	line("  group:   %s%s", groupName(k.Group), note(strings.TrimPrefix(a.product(k.Group), "-")))
	switch {
	case k.Scope == "cluster":
		line("  scope:   cluster, it has no namespace")
	case a.unknown:
		line("  scope:   assumed to be namespaced, unless the component has its CRD")
	default:
		line("  scope:   namespaced")
	}
	line("  rung:    %s, wave %d: %s", k.Rung, rung.Wave, k.Why)
	a.health(k, line)
	if len(k.References) > 0 {
		line("  refers to:")
		table := paint.Columns("FIELD\tMEANING\tTO\tWHY", func(w io.Writer) {
			for _, r := range k.References {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", finding.Sanitize(field(r)), meaning(r), finding.Sanitize(targets(r.To)),
					finding.Sanitize(r.Why+note(r.Note)))
			}
		})
		line("    %s", strings.ReplaceAll(strings.TrimSuffix(table, "\n"), "\n", "\n    "))
	}
	if rest := k.Rest("kind", "scope", "rung", "why", "source", "health", "references", "sees"); rest != "" {
		line("  besides:\n    %s", strings.ReplaceAll(strings.TrimSuffix(rest, "\n"), "\n", "\n    "))
	}
	if _, packages := a.Base.Origin(k.Group, k.Kind); len(packages) > 0 {
		var names []string
		for _, p := range packages {
			names = append(names, p.String())
		}
		line("  package: %s", strings.Join(names, ", "))
	}
	switch {
	case a.unknown:
		line("  source:  none, Ladder has no record of the kind; add one to a %s:", knowledge.File)
		line("    %s", strings.ReplaceAll(strings.TrimSuffix(knowledge.YAML([]knowledge.Kind{k}), "\n"), "\n", "\n    "))
	default:
		line("  source:  %s", k.Source)
	}
	if k.Observed != "" {
		line("  seen:    %s ran on a real node", k.Observed)
	}
	if len(k.ChangedBy) > 0 {
		line("  changed: by %s", strings.Join(k.ChangedBy, ", then by "))
	} else if !a.unknown {
		line("  changed: no")
	}
	if len(a.others) > 0 {
		var names []string
		for _, o := range a.others {
			names = append(names, knowledge.GroupKind{Group: o.Group, Kind: o.Kind}.String())
		}
		line("other kinds with this name: %s", strings.Join(names, ", "))
	}
	return b.String()
}

// health formats what Argo CD waits for, with one line for each case.
func (a *question) health(k knowledge.Kind, line func(string, ...any)) {
	if len(k.Health) == 0 {
		line("  health:  no health check: a wave does not wait for it")
		if k.Status != nil {
			line("           cmp health prints one: healthy when %s", signs(k.Status.Healthy))
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
		for _, warning := range []struct{ what, why string }{{"it may never be healthy", h.Never},
			{"it passes through Degraded", h.TemporarilyDegraded}, {"it is healthy as soon as", h.Early}} {
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

// coreGroup is the name for the group with the empty name.
const coreGroup = "core"

func notFound(arg, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: "unknown-kind", Field: arg, Message: message, Remedy: remedy}
}

// groupName returns the name of a group on the command line.
func groupName(name string) string {
	if name == "" {
		return coreGroup
	}
	return name
}

func waited(k knowledge.Kind) string {
	switch {
	case k.IsAwaited():
		return "yes"
	case len(k.Health) == 0 || !slices.ContainsFunc(k.Health, func(h knowledge.Health) bool { return !h.Healthy }):
		return "no"
	}
	return "at times"
}

// signs describes signs of health.
func signs(all []knowledge.Sign) string {
	var parts []string
	for _, sign := range all {
		what := sign.At
		if sign.Condition != "" {
			what = "condition " + sign.Condition
		}
		parts = append(parts, what+" is "+strings.Join(sign.Values(), " or "))
	}
	return finding.Sanitize(strings.Join(parts, " and "))
}

func note(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// field returns the field of a reference.
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
