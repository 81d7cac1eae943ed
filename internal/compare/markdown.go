package compare

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Markdown formats parts as a comment with a size limit. The most severe
// differences of all parts come before the details of any. All content from the
// input is formatted as code, so that markup and mentions have no effect. unknown
// are the names of components that could not be compared.
func Markdown(parts []Part, looked int, what, command string, limit int, unknown []string) string {
	rest := ""
	if len(unknown) > 0 {
		rest = "\n" + unknownMarkdown(unknown, limit/8)
	}
	if len(parts) == 0 && looked == 0 {
		return strings.TrimPrefix(rest, "\n")
	}
	if len(parts) == 0 {
		return "Ladder finds no difference in " + finding.Counted(looked, what) + ".\n" + rest
	}
	// A truncated command would not work.
	show := code(command)
	if len(show) > limit/4 {
		show = "the same command without `-o markdown`"
	}
	left := limit - leftOutRoom - len(show) - len(rest)
	shown := 0
	for _, p := range parts {
		if left -= len(headMarkdown(p, len(parts))); left < 0 {
			break
		}
		shown++
	}
	left = max(left, 0)
	// blocks are the sections of each part, in output order.
	blocks := make([][]string, shown)
	lost, sections := 0, 0
	deepest := 0
	for _, p := range parts[:shown] {
		deepest = max(deepest, len(p.Sections))
	}
	for rank := range deepest {
		for i, p := range parts[:shown] {
			if rank >= len(p.Sections) {
				continue
			}
			text, rest := sectionMarkdown(p.Sections[rank], left)
			left -= len(text)
			if rest > 0 {
				lost += rest
				sections++
			}
			blocks[i] = append(blocks[i], text)
		}
	}
	var b strings.Builder
	for i, p := range parts[:shown] {
		b.WriteString(headMarkdown(p, len(parts)))
		b.WriteString(strings.Join(blocks[i], ""))
	}
	var out []string
	if more := len(parts) - shown; more > 0 {
		out = append(out, finding.Counted(more, what))
	}
	if lost > 0 {
		out = append(out, finding.Counted(lost, "line")+" of "+finding.Counted(sections, "list"))
	}
	if len(out) > 0 {
		fmt.Fprintf(&b, "\n_Left out, since a comment has only so much room: %s._ All of it is shown by %s.\n",
			strings.Join(out, " and "), show)
	}
	if same := looked - len(parts); same > 0 {
		fmt.Fprintf(&b, "\nNo difference in %s.\n", finding.Counted(same, "other "+what))
	}
	return b.String() + rest
}

// MostMarkdown is the size limit of a comment on GitHub in characters, minus room
// for additions by whoever posts it. GitLab allows a million.
const MostMarkdown = 65536 - 1024

// LeastMarkdown is the minimum useful size of a comment.
const LeastMarkdown = 2000

// leftOutRoom is reserved for the line about omitted differences, besides the
// command to show them.
const leftOutRoom = 300

// unknownMarkdown lists components that could not be compared, in limited space.
func unknownMarkdown(names []string, room int) string {
	var shown []string
	for i, name := range names {
		if room -= len(name) + 4; room < 0 {
			shown = append(shown, fmt.Sprintf("and %d more", len(names)-i))
			break
		}
		shown = append(shown, code(name))
	}
	return capital(UnknownText(strings.Join(shown, ", "))) + ".\n"
}

func headMarkdown(p Part, of int) string {
	var b strings.Builder
	if of > 1 || p.Name != "" {
		fmt.Fprintf(&b, "\n### Ladder: %s\n", code(p.Name))
	}
	if len(p.Head) > 0 {
		fmt.Fprintf(&b, "\n%s\n", code(p.Head[0]))
		for _, text := range p.Head[1:] {
			fmt.Fprintf(&b, "\n**%s**\n", html.EscapeString(text))
		}
	}
	return b.String()
}

// sectionMarkdown formats a section in limited space, and returns the number of
// omitted lines.
func sectionMarkdown(s Section, room int) (text string, rest int) {
	fence := strings.Repeat("`", 3)
	for _, l := range s.Lines {
		for strings.Contains(l.Text, fence) {
			fence += "`"
		}
	}
	open := ""
	if s.Open {
		open = " open"
	}
	before := fmt.Sprintf("\n<details%s><summary>%s (%d)</summary>\n\n%sdiff\n", open, capital(s.Title), itemsIn(s.Lines), fence)
	after := fence + "\n\n</details>\n"
	room -= len(before) + len(after)
	var b strings.Builder
	for i, l := range s.Lines {
		text := finding.Sanitize(l.String()) + "\n"
		if b.Len()+len(text) > room {
			rest = len(s.Lines) - i
			break
		}
		b.WriteString(text)
	}
	if b.Len() == 0 {
		return "", len(s.Lines)
	}
	return before + b.String() + after, rest
}

// itemsIn counts the items of a section: lines that are not part of others.
func itemsIn(lines []Line) int {
	return len(slices.DeleteFunc(slices.Clone(lines), func(l Line) bool { return l.Mark == "@@" || strings.HasPrefix(l.Text, " ") }))
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// code formats a text as inline code. Line breaks would end it and expose the rest
// as markup.
func code(text string) string {
	if text = finding.Sanitize(text); text == "" {
		return "(empty)"
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}
