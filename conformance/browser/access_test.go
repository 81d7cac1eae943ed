package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestKeyboard does all of it without a mouse.
func TestKeyboard(t *testing.T) {
	p := open(t, made(t, operator), "", desktop)
	// The first Tab leads to the way past the top.
	p.press(kb.Tab)
	is(p, `document.activeElement.id`, "skip")
	p.press(kb.Enter)
	is(p, `document.activeElement.id`, "main")
	// One Tab leads into the ladder, whose items have one stop in all.
	p.press(kb.Tab)
	is(p, focused, "beaconclasses.light.example.com")
	is(p, `document.querySelectorAll(".card[tabindex='0']").length`, 1)
	is(p, `getComputedStyle(document.activeElement).outlineStyle`, "solid")
	is(p, `document.querySelectorAll(".arrow").length > 0`, true)
	p.press(kb.ArrowRight)
	is(p, focused, "beacons.light.example.com")
	p.press(kb.ArrowDown)
	is(p, focused, "beacon-operator-webhook")
	p.press(kb.ArrowUp)
	is(p, focused, "beaconclasses.light.example.com")
	p.press(kb.End)
	is(p, focused, "steady")
	p.press(kb.ArrowLeft)
	is(p, focused, "harbour")
	p.press(kb.Home)
	is(p, focused, "beaconclasses.light.example.com")
	p.press(kb.End, kb.Enter)
	is(p, chosen, "steady")
	p.press(kb.Escape)
	is(p, chosen, "")
	is(p, focused, "steady")
	// "/" searches, Arrow down goes to what was found, Escape ends the search.
	p.press("/")
	is(p, `document.activeElement.id`, "query")
	p.press("i", "s", "s", "u", "e", "r")
	is(p, status, "1 of 16 objects")
	p.press(kb.ArrowDown)
	is(p, focused, "beacon-operator-selfsigned")
	p.press("/", kb.Escape)
	is(p, `document.getElementById("query").value`, "")
	is(p, cards, 16)
}

// TestTouch measures what fingers point at on a phone, and that focus goes from
// top to bottom and from left to right.
func TestTouch(t *testing.T) {
	p := open(t, made(t, "testdata/fleets/bands/components"), "#object=foundation-vault-core", phone)
	p.run(chromedp.Click("#filters-toggle", chromedp.ByQuery))
	small := eval[[]string](p, `[...document.querySelectorAll("button:not(.skip, .search *), select, #views a, .close, .open, .card")]`+
		`.filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 43.5).map((e) => e.outerHTML.slice(0, 100))`)
	if len(small) > 0 {
		t.Errorf("too small for a finger: %s", strings.Join(small, "\n"))
	}
	order := eval[[]string](p, `(() => {
  scrollTo(0, 0);
  const boxes = [...document.querySelectorAll(".top :is(a, input, select, button):not(.skip)")].filter((e) => e.checkVisibility()).map((e) => ({ e, box: e.getBoundingClientRect() }));
  return boxes.filter(({ box }, i) => i > 0 && (box.bottom <= boxes[i - 1].box.top || box.right <= boxes[i - 1].box.left && box.top < boxes[i - 1].box.bottom)).map(({ e }) => e.outerHTML.slice(0, 80));
})()`)
	if len(order) > 0 {
		t.Errorf("focus goes back to %s", strings.Join(order, "\n"))
	}
}

// TestWithoutProgram reads the page where no program runs.
func TestWithoutProgram(t *testing.T) {
	for _, s := range []screen{desktop, phone} {
		p := open(t, fleetPage(t), "", s)
		p.run(emulation.SetScriptExecutionDisabled(true), chromedp.Reload())
		is(p, `document.querySelectorAll("noscript tbody tr").length > 68`, true)
		is(p, `document.querySelectorAll(".card").length`, 0)
		is(p, `[...document.querySelectorAll("noscript h2")].slice(0, 2).map((e) => e.textContent).join()`,
			"rollout of ameide in production,cluster-crds-external-secrets")
		is(p, `document.querySelector("noscript tr:nth-child(2)").textContent.includes("foundation-namespaces")`, true)
		is(p, `["search", "theme", "details"].some((id) => document.getElementById(id).checkVisibility())`, false)
		is(p, `document.documentElement.scrollWidth <= innerWidth`, true)
	}
}

// TestReducedMotion leaves out what moves where people ask for that.
func TestReducedMotion(t *testing.T) {
	const duration = `getComputedStyle(document.querySelector(".card")).transitionDuration`
	file, calm := made(t, operator), desktop
	calm.reduced = true
	t.Run("reduced", func(t *testing.T) { is(open(t, file, "", calm), duration, "0s") })
	t.Run("as usual", func(t *testing.T) { is(open(t, file, "", desktop), duration, "0.12s, 0.12s") })
}

// TestAxe has axe-core look for what hinders people, in every view.
func TestAxe(t *testing.T) {
	axe := fromNPM(t, "axe-core@4.11.0", "axe.min.js")
	component, fleet, faults := made(t, operator), fleetPage(t), made(t, "testdata/fleets/faults/components", "--environment", "main")
	everywhere := made(t, "testdata/fleets/bands/components")
	night, smallNight := desktop, phone
	night.scheme, smallNight.scheme = "dark", "dark"
	for _, at := range []struct{ file, place string }{{component, ""}, {component, beacon}, {component, "#q=role"}, {fleet, ""},
		{fleet, "#object=foundation-vault-core"}, {fleet, "#view=timeline"}, {everywhere, "#view=timeline"}, {everywhere, "#environment=staging"},
		{faults, "#view=findings"}, {faults, "#object=ring-a&only=findings"}} {
		for _, s := range []screen{desktop, night, phone, smallNight} {
			t.Run(fmt.Sprint(at.place, s.width, s.scheme), func(t *testing.T) { noViolations(t, axe, open(t, at.file, at.place, s)) })
		}
	}
}

func noViolations(t *testing.T, axe string, p *tab) {
	t.Helper()
	p.run(chromedp.Evaluate(axe, nil))
	var violations []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	is(p, `axe.run(document).then((r) => { window.found = r; return r.passes.length > 20; })`, true)
	text := eval[string](p, `JSON.stringify(window.found.violations)`)
	if err := json.Unmarshal([]byte(text), &violations); err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Errorf("%s: %s in %d places, such as %s: %s", v.ID, v.Help, len(v.Nodes), v.Nodes[0].HTML, v.Nodes[0].FailureSummary)
	}
}

// TestListening reads what a screen reader is told.
func TestListening(t *testing.T) {
	p := open(t, fleetPage(t), "", desktop)
	var nodes []*accessibility.Node
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		var err error
		nodes, err = accessibility.GetFullAXTree().Do(ctx)
		return err
	}))
	var accessible []string
	for _, n := range nodes {
		if !n.Ignored && n.Role != nil && n.Name != nil {
			accessible = append(accessible, unquoted(n.Role.Value)+" "+unquoted(n.Name.Value))
		}
	}
	for _, want := range []string{
		"banner ", "navigation Views", "search ", "searchbox Search objects by name, kind, namespace or rung",
		"main ", "complementary Details", "status ",
		"heading rollout of ameide", "heading Steps", "heading Step 150 foundation, workloads", "region Step 150 foundation, workloads",
		"link foundation · runtime 1 note foundation-vault-core ; 13 objects in 1 wave ; in namespace vault; others wait until it is healthy",
	} {
		if !slices.Contains(accessible, want) {
			role, _, _ := strings.Cut(want, " ")
			near := slices.DeleteFunc(slices.Clone(accessible), func(s string) bool { return !strings.HasPrefix(s, role+" ") })
			t.Errorf("nobody is told %q; of that role there are %q", want, near)
		}
	}
}

func unquoted(raw []byte) string {
	var text string
	json.Unmarshal(raw, &text) // a value that is not a string has no name
	return text
}
