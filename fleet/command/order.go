package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/order"
	"github.com/ladder-cmp/ladder/fleet/steps"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/internal/textedit"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// runInPlace orders Applications that exist already.
func (f stepsFlags) runInPlace(s cli.Streams, all *fleet.Fleet, args []string) error {
	for _, name := range []string{"compact", "only-missing"} {
		if f.set.Changed(name) {
			return finding.Usagef("--%s is for components with component.yaml, but %s contains Applications, which keep their order "+
				"where it works; remove the flag", name, strings.Join(args, " "))
		}
	}
	p := placed{InPlace: steps.ComputeInPlace(all)}
	p.Findings = append(slices.Clone(all.Reading), p.Findings...)
	p.edit()
	if *f.write || *f.check {
		return p.write(s, *f.check)
	}
	text, err := p.render(*f.format, *f.diff, cli.PaintFor(s.Out))
	return printSteps(s, text, err, append(lint.Failures(all, ""), p.Findings...))
}

// placed shows and writes the order of Applications that exist already.
type placed struct {
	*steps.InPlace
	files   []wholefile.File
	changes []order.Change
	byHand  []order.Unwritten
}

// edit applies the changes to the texts of the files. What a file does not allow has to be changed
// by hand.
func (p *placed) edit() {
	changes, byHand := p.Changes(os.ReadFile)
	p.byHand = byHand
	for len(changes) > 0 {
		file := changes[0].File
		n := slices.IndexFunc(changes, func(c order.Change) bool { return c.File != file })
		if n < 0 {
			n = len(changes)
		}
		own := changes[:n]
		changes = changes[n:]
		text, err := readRegular(file)
		if err == nil {
			text, err = order.Edit(text, own)
		}
		if err != nil {
			for _, c := range own {
				p.byHand = append(p.byHand, order.Unwritten{Change: c, Instead: wholefile.Reason(err)})
			}
			continue
		}
		p.changes = append(p.changes, own...)
		p.files = append(p.files, wholefile.File{Name: file, Shown: file, Data: []byte(text)})
	}
}

// readRegular reads a file that may be replaced.
func readRegular(file string) (string, error) {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) { // standard input
		return "", errors.New("it is not read from a file")
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("the file is a symlink")
	}
	text, err := os.ReadFile(file)
	return string(text), err
}

// write writes all files or none, or only lists what it would change.
func (p *placed) write(s cli.Streams, check bool) error {
	s.Warn(p.Findings...)
	var b strings.Builder
	for _, c := range p.changes {
		b.WriteString(p.line(c) + "\n")
	}
	for _, u := range p.byHand {
		fmt.Fprintf(&b, "%s\n  not written, because %s:\n%s", p.line(u.Change), finding.Sanitize(u.Instead), textedit.Indent(u.Patch(), 4))
	}
	if check {
		b.WriteString(differing(len(p.files)))
	} else {
		if err := wholefile.WriteAll(p.files); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s written\n", finding.Counted(len(p.files), "file"))
	}
	for _, note := range p.Notes {
		b.WriteString(finding.Sanitize(note) + "\n")
	}
	if err := s.Print(b.String(), nil); err != nil {
		return err
	}
	switch {
	case finding.Err(p.Findings) != nil:
		return errors.New("no order satisfies all dependencies; fix the errors above and run the command again")
	case check && len(p.files) > 0:
		return errDiffers
	case len(p.byHand) > 0:
		return fmt.Errorf("%s could not be written; make them by hand", finding.Counted(len(p.byHand), "change"))
	}
	return nil
}

// line describes a change.
func (p *placed) line(c order.Change) string {
	at := c.File
	if c.Line > 0 && at != "" {
		at += ":" + strconv.Itoa(c.Line)
	}
	var b strings.Builder
	if at != "" {
		b.WriteString(at + ": ")
	}
	if c.ID.Name != "" {
		b.WriteString(c.ID.Kind + " " + c.ID.Name + ": ")
	}
	b.WriteString(c.Shown())
	if text, is := c.Value.(string); is {
		fmt.Fprintf(&b, " %s -> %s", cmp.Or(c.Before, "(none)"), text)
	}
	if c.Why != "" {
		b.WriteString(", " + c.Why)
	}
	return finding.Sanitize(b.String())
}

// orderRow is the place of an Application in the output.
type orderRow struct {
	Now      string `json:"now,omitempty"`
	Computed string `json:"computed,omitempty"`
	Earliest string `json:"earliest,omitempty"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	// Scope is the Application or ApplicationSet that orders it; empty if it is not known.
	Scope   string   `json:"scope,omitempty"`
	By      string   `json:"by"`
	Verdict string   `json:"verdict"`
	Why     string   `json:"why,omitempty"`
	RestsOn []string `json:"restsOn,omitempty"`
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
}

// rows lists the places, in their order.
func (p *placed) rows() []orderRow {
	var all []orderRow
	for _, s := range p.Scopes {
		rows := slices.Clone(s.Rows)
		slices.SortStableFunc(rows, func(x, y order.Row) int {
			return cmp.Or(cmp.Compare(x.Computed, y.Computed), strings.Compare(p.Name(x.Node), p.Name(y.Node)))
		})
		for _, r := range rows {
			n := p.Fleet.Tree.Nodes[r.Node]
			row := orderRow{Kind: n.Object.ID.Kind, Name: p.Name(r.Node), Scope: p.Name(s.Parent), By: "waves", Verdict: r.Verdict, Why: r.Why,
				File: n.Place.File, Line: n.Place.Line}
			if s.Kind != order.Waves {
				row.By = "steps"
			}
			if r.Set {
				row.Now = strconv.Itoa(r.Now)
			}
			if r.Set || r.Computed != r.Now {
				row.Computed = strconv.Itoa(r.Computed)
			}
			if r.Verdict == order.Possible {
				row.Earliest = strconv.Itoa(r.Earliest)
			}
			for _, i := range r.Rests {
				row.RestsOn = append(row.RestsOn, p.Name(i))
			}
			if r.Verdict == order.Equal && len(r.Rests) > 0 {
				row.Why = "stays after " + strings.Join(row.RestsOn, ", ") + ", whose content is not known"
			}
			all = append(all, row)
		}
	}
	return all
}

// place names what orders an Application.
func (r orderRow) place() string {
	if r.Scope == "" {
		return r.By
	}
	return r.By + " of " + r.Scope
}

// render returns the order as text or JSON; with diff, only what is not equal.
func (p *placed) render(format string, diff bool, colors paint.Paint) (string, error) {
	rows := p.rows()
	count := map[string]int{}
	for _, r := range rows {
		count[r.Verdict]++
	}
	if diff {
		rows = slices.DeleteFunc(rows, func(r orderRow) bool { return r.Verdict == order.Equal })
	}
	if format == "json" {
		return paint.JSON(struct {
			Applications []orderRow        `json:"applications"`
			Notes        []string          `json:"notes"`
			Findings     []finding.Finding `json:"findings"`
		}{append([]orderRow{}, rows...), append([]string{}, p.Notes...), append([]finding.Finding{}, p.Findings...)})
	}
	var b strings.Builder
	if len(p.Findings) > 0 {
		b.WriteString(colors.Findings(p.Findings) + "\n")
	}
	head := []string{"NOW", "COMPUTED", "NAME", "ORDER", "WHY"}
	if diff {
		head = []string{"NOW", "COMPUTED", "NAME", "ORDER", "VERDICT", "WHY"}
	}
	var cells [][]string
	for _, r := range rows {
		row := []string{cmp.Or(r.Now, "-"), cmp.Or(r.Computed, "-"), r.Name, r.place()}
		if diff {
			row[1] = cmp.Or(r.Earliest, row[1])
			row = append(row, verdictText(r.Verdict))
		} else if r.Verdict == order.Possible {
			r.Why = ""
		}
		cells = append(cells, append(row, r.Why))
	}
	if len(cells) > 0 {
		for line := range strings.Lines(paint.Rows(head, cells)) {
			b.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s: %d stay, %d must be later, %d must be earlier", finding.Counted(p.count(), "Application"),
		count[order.Equal]+count[order.Possible], count[order.Later], count[order.Earlier])
	for _, more := range []string{order.Missing, order.Unselected, order.Possible} {
		if n := count[more]; n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, verdictText(more))
		}
	}
	b.WriteByte('\n')
	for _, note := range p.Notes {
		b.WriteString(finding.Sanitize(note) + "\n")
	}
	return b.String(), nil
}

// count returns the number of Applications and ApplicationSets that have siblings.
func (p *placed) count() int {
	n := 0
	for _, s := range p.Scopes {
		if s.Parent != inplace.None || len(s.Rows) > 1 {
			n += len(s.Rows)
		}
	}
	return n
}
