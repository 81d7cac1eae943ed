package compare

import (
	"fmt"
	"strings"
	"testing"
)

// manyParts are comparisons of which no comment holds all.
func manyParts(components, lines int) []Part {
	var parts []Part
	for i := range components {
		p := Part{Name: fmt.Sprintf("apps/%03d", i), Head: []string{"main:a -> a", "1 object changed"}}
		grave := Section{Title: "findings", Open: true, Lines: []Line{{"+", fmt.Sprintf("error: grave %03d", i)}}}
		var much Section
		much.Title = "changed"
		for j := range lines {
			much.Lines = append(much.Lines, Line{"+", fmt.Sprintf("line %d of %s", j, strings.Repeat("ü", 40))})
		}
		p.Sections = []Section{grave, much}
		parts = append(parts, p)
	}
	return parts
}

// TestMarkdownFits: what is too long for a comment is left out from the end of
// what is least grave, and the comment says so.
func TestMarkdownFits(t *testing.T) {
	for _, c := range []struct {
		components, lines int
		full              bool
	}{{1, 10, true}, {1, 10_000, false}, {40, 200, false}, {2000, 1, false}, {1, 0, true}} {
		t.Run(fmt.Sprintf("%dx%d", c.components, c.lines), func(t *testing.T) {
			parts := manyParts(c.components, c.lines)
			text := Markdown(parts, len(parts), "component", "cmp diff main apps/*", MostMarkdown, nil)
			if len(text) > MostMarkdown {
				t.Errorf("%d bytes", len(text))
			}
			if left := strings.Contains(text, "Left out, since a comment has only so much room: "); left == c.full {
				t.Errorf("left out: %v", left)
			}
			if c.full {
				return
			}
			if len(text) < MostMarkdown*9/10 {
				t.Errorf("only %d bytes of %d are used", len(text), MostMarkdown)
			}
			if c.components <= 40 && strings.Count(text, "error: grave") != c.components {
				t.Error("a finding had to give way to a detail")
			}
			if strings.Count(text, "```diff") != strings.Count(text, "\n```\n") ||
				strings.Count(text, "<details") != strings.Count(text, "</details>") {
				t.Error("a block is not closed")
			}
			if !strings.Contains(text, "All of it is shown by `cmp diff main apps/*`") {
				t.Error("it does not say where all of it is")
			}
		})
	}
}

// TestMarkdownNamesTheWholeCommand: a command that is cut is none.
func TestMarkdownNamesTheWholeCommand(t *testing.T) {
	parts := manyParts(1, 10_000)
	for n, want := range map[int]string{40: strings.Repeat(" apps/one", 40) + "`", 4000: "by the same command without `-o markdown`."} {
		text := Markdown(parts, 1, "component", "cmp diff main"+strings.Repeat(" apps/one", n), 5000, nil)
		if !strings.Contains(text, want) || len(text) > 5000 {
			t.Errorf("%d arguments, %d bytes: want %q in %s", n, len(text), want, text[max(0, len(text)-500):])
		}
	}
}

// TestMarkdownShowsAndDoesNotObey: what comes from manifests is code.
func TestMarkdownShowsAndDoesNotObey(t *testing.T) {
	evil := "x```\n</details> @everyone <img src=x> `y` #1"
	text := Markdown([]Part{{Name: "a`b", Head: []string{"``c", "1 object changed"}, Sections: []Section{
		{Title: "changed", Lines: []Line{{"+", strings.ReplaceAll(evil, "\n", " ")}}}}}}, 1, "component", "cmp diff", MostMarkdown, nil)
	if !strings.Contains(text, "\n````diff\n+ x``` </details> @everyone") || !strings.Contains(text, "\n````\n\n</details>\n") {
		t.Errorf("the fence is not long enough:\n%s", text)
	}
	if !strings.Contains(text, "### Ladder: `` a`b ``\n") || !strings.Contains(text, "\n``` ``c ```\n") {
		t.Errorf("a name ends its code:\n%s", text)
	}
}
