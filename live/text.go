package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/object"
)

// maxLines limits the text of a diagnosis.
const maxLines = 10

// String returns the place of a sync, such as "Sync, wave 51 (2 of 3)".
func (p position) String() string {
	switch {
	case p.Phase == "":
		return ""
	case p.Of > 1:
		return fmt.Sprintf("%s, wave %d (%d of %d)", p.Phase, p.Wave, p.Number, p.Of)
	}
	return fmt.Sprintf("%s, wave %d", p.Phase, p.Wave)
}

// duration formats seconds for people.
func duration(seconds int64) string {
	count := func(n int64, unit string) string { return finding.Counted(int(n), unit) }
	switch {
	case seconds < 120:
		return count(max(seconds, 0), "second")
	case seconds < 2*3600:
		return count(seconds/60, "minute")
	case seconds < 2*86400:
		return count(seconds/3600, "hour")
	}
	return count(seconds/86400, "day")
}

// Headline is the answer in one line.
func (d Diagnosis) Headline() string {
	at := ""
	if place := d.At.String(); place != "" {
		at = " in " + place
	}
	name := d.Application.Name
	head := ""
	switch {
	case d.IsDeleted:
		head = fmt.Sprintf("%s is being deleted, for %s", name, duration(d.Seconds))
	case d.State == Healthy && d.IsBehind:
		return name + " is healthy, but OutOfSync: it differs from its source"
	case d.State == Healthy:
		return name + " is healthy"
	case d.State == Slow && d.Operation == running:
		head = fmt.Sprintf("%s is syncing%s, for %s", name, strings.Replace(at, " in ", ": ", 1), duration(d.Seconds))
		if len(d.Awaited) > 0 {
			return head + "; it waits for " + d.Awaited[0].String()
		}
		return head
	case d.State == Slow && d.IsAsked:
		return name + " is to be synced; Argo CD has not begun"
	case d.State == Slow:
		head = name + " is synced, and not healthy yet"
		if len(d.Awaited) > 0 {
			return head + ": " + d.Awaited[0].String()
		}
		return head
	case d.State == Hangs && (d.Operation == running || d.Operation == terminating):
		head = fmt.Sprintf("%s hangs%s, for %s", name, at, duration(d.Seconds))
	case d.State == Hangs:
		head = name + " is not healthy"
	case d.IsRetrying:
		head = fmt.Sprintf("%s failed%s, and waits for %s", name, at, d.attempt())
	case d.Operation == failed || d.Operation == faulty:
		head = fmt.Sprintf("%s failed%s, %s ago", name, at, duration(d.Seconds))
		if d.Retries == 1 {
			head += ", after 1 retry"
		} else if d.Retries > 1 {
			head += fmt.Sprintf(", after %d retries", d.Retries)
		}
	default:
		head = name + " is not healthy"
	}
	if len(d.Chains) == 0 {
		if d.Message != "" && !d.IsDeleted {
			return head + ": " + d.Message
		}
		return head
	}
	first, root := d.Chains[0].Steps[0], d.Chains[0].root()
	subject := first.Object.String()
	if first.Object == d.Application {
		subject = "it"
	}
	head += ": " + subject + " " + first.Text
	if len(d.Chains[0].Steps) > 1 {
		head = strings.TrimSuffix(head, ".") + "; behind it: " + root.Object.String() + " " + root.Text
	}
	return head
}

func (d Diagnosis) attempt() string {
	if d.Limit > 0 {
		return fmt.Sprintf("retry %d of %d", d.Retries, d.Limit)
	}
	return fmt.Sprintf("retry %d", d.Retries)
}

func (p Progress) String() string {
	if p.Text == "" {
		return p.Object.String()
	}
	return fmt.Sprintf("%s (%s)", p.Object, p.Text)
}

// String returns at most ten lines: the answer, what is behind it, the proof, and the fix.
func (d Diagnosis) String() string {
	lines := []string{d.Headline()}
	if len(d.Chains) > 0 {
		lines = append(lines, d.Chains[0].lines()...)
	}
	if d.Blocked.Rule != "" {
		lines = append(lines, "  it "+d.Blocked.Text, "  fix: "+d.Blocked.Fix, "    "+d.Blocked.Command)
	}
	more := []string{}
	for _, c := range d.Chains[min(1, len(d.Chains)):] {
		if line := "  also: " + c.Awaited.String() + " " + c.Steps[0].Text; !slices.Contains(more, line) &&
			(c.Awaited != d.Chains[0].Awaited || c.Steps[0].Text != d.Chains[0].Steps[0].Text) {
			more = append(more, line)
		}
	}
	if len(d.Chains) == 0 && len(d.Awaited) > 1 {
		for _, p := range d.Awaited[1:] {
			more = append(more, "  and for "+p.String())
		}
	}
	var end []string
	if d.Later > 0 {
		end = append(end, "  not applied yet, because it comes later: "+finding.Counted(d.Later, "object"))
	}
	for _, n := range d.Notes {
		end = append(end, "  "+n)
	}
	space := max(maxLines-len(lines)-min(len(end), 2), 0)
	if len(more) > space {
		left := len(more) - max(space-1, 0)
		more = more[:max(space-1, 0)]
		if space > 0 {
			more = append(more, fmt.Sprintf("  and %d more", left))
		}
	}
	lines = append(append(lines, more...), end...)
	if len(lines) > maxLines {
		lines = lines[:maxLines]
	}
	return strings.Join(lines, "\n") + "\n"
}

// lines are the steps behind the first one, the proof and the fix of the innermost.
func (c Chain) lines() (all []string) {
	const most = 3 // of the steps in between; the headline has the first and the last
	for i := 1; i < len(c.Steps)-1 && i <= most; i++ {
		all = append(all, "  "+c.Steps[i].Object.String()+" "+c.Steps[i].Text)
	}
	root := c.root()
	proof := root.Proof
	if len(c.Steps) > 1 && c.Steps[0].Evidence > root.Evidence {
		proof = c.Steps[0].Proof
	}
	return append(all, "  proof: "+proof, "  fix: "+root.Fix, "    "+root.Command)
}

// JSON is the diagnosis for programs.
func (d Diagnosis) JSON() (string, error) {
	type cause struct {
		Rule     string   `json:"rule"`
		Object   string   `json:"object"`
		Text     string   `json:"text"`
		Proof    string   `json:"proof"`
		Evidence Evidence `json:"evidence"`
		Fix      string   `json:"fix,omitempty"`
		Command  string   `json:"command,omitempty"`
	}
	of := func(id object.ID, c Cause) cause {
		return cause{c.Rule, id.Qualified(), c.Text, c.Proof, c.Evidence, c.Fix, c.Command}
	}
	out := struct {
		Application string    `json:"application"`
		Namespace   string    `json:"namespace"`
		State       State     `json:"state"`
		Headline    string    `json:"headline"`
		Operation   string    `json:"operation,omitempty"`
		Message     string    `json:"message,omitempty"`
		At          position  `json:"at"`
		Seconds     int64     `json:"seconds"`
		Awaited     []string  `json:"awaited"`
		Later       int       `json:"later"`
		Causes      [][]cause `json:"causes"`
		Blocked     *cause    `json:"blocked,omitempty"`
		Notes       []string  `json:"notes,omitempty"`
	}{d.Application.Name, d.Application.Namespace, d.State, d.Headline(), d.Operation, d.Message, d.At, d.Seconds, []string{},
		d.Later, [][]cause{}, nil, d.Notes}
	for _, p := range d.Awaited {
		out.Awaited = append(out.Awaited, p.Object.Qualified())
	}
	for _, c := range d.Chains {
		var steps []cause
		for _, s := range c.Steps {
			steps = append(steps, of(s.Object, s.Cause))
		}
		out.Causes = append(out.Causes, steps)
	}
	if d.Blocked.Rule != "" {
		blocked := of(d.Application, d.Blocked)
		out.Blocked = &blocked
	}
	return paint.JSON(out)
}
