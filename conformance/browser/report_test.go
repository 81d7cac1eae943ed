package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// The inputs: a component with gates, and a fleet.
const (
	operator = "testdata/components/beacon-operator"
	beacon   = "#object=Beacon.light.example.com+default%2Fharbour"
)

func fleetPage(t testing.TB) string {
	return made(t, "testdata/fleets/bands/components", "--environment", "production")
}

const (
	chosen    = `document.querySelector("[aria-current=true] .name")?.textContent.trim() ?? ""`
	focused   = `document.activeElement.querySelector?.(".name")?.textContent.trim() ?? ""`
	status    = `document.getElementById("matches").textContent`
	cards     = `[...document.querySelectorAll(".cards > li")].filter((row) => row.checkVisibility()).length`
	edgeCount = `document.querySelectorAll(".arrow").length`
)

// TestErrorsFirst opens a fleet with errors on a screen and on a phone: the first three
// stand above the ladder, in sight, and lead to all findings. A ladder without warnings
// has nothing there.
func TestErrorsFirst(t *testing.T) {
	file := made(t, "testdata/fleets/faults")
	for _, screen := range []screen{desktop, phone} {
		p := open(t, file, "", screen)
		is(p, `document.querySelectorAll(".banner.error .finding.error").length`, 3)
		is(p, `document.querySelector(".banner.error").getBoundingClientRect().top < innerHeight`, true)
		is(p, `document.querySelector(".banner").compareDocumentPosition(document.querySelector(".ladder"))`+
			` === Node.DOCUMENT_POSITION_FOLLOWING`, true)
		p.run(chromedp.Click(".banner > p a", chromedp.ByQuery))
		p.settle()
		is(p, `location.hash.includes("findings")`, true)
	}
	is(open(t, made(t, operator), "", desktop), `document.querySelectorAll(".banner").length`, 0)
}

// TestMap opens a large fleet: its cards are small, and a line of the map leads to its step.
func TestMap(t *testing.T) {
	p := open(t, made(t, "testdata/fleets/tiers"), "", desktop)
	is(p, `document.querySelectorAll(".ladder.compact").length`, 1)
	is(p, `document.querySelectorAll(".map li").length === document.querySelectorAll(".band").length`, true)
	is(p, `document.querySelectorAll(".map .square").length === document.querySelectorAll(".card").length`, true)
	p.run(chromedp.Click(".map li:last-child button", chromedp.ByQuery))
	p.settle()
	is(p, `document.querySelector(".band:last-child").getBoundingClientRect().top < innerHeight`, true)
	is(open(t, made(t, operator), "", desktop), `document.querySelectorAll(".map, .compact").length`, 0)
}

// TestSelection chooses an object with the mouse.
func TestSelection(t *testing.T) {
	p := open(t, made(t, operator), "", desktop)
	is(p, edgeCount, 0)
	p.run(chromedp.Click(`a[href*="harbour"].card`, chromedp.ByQuery))
	p.settle()
	is(p, chosen, "harbour")
	is(p, `location.hash`, beacon)
	is(p, `document.title`, "Beacon harbour · beacon-operator · Ladder")
	// It is reconciled and admitted by a Deployment, admitted by a webhook configuration,
	// defined by a CRD, and refers to a class.
	is(p, edgeCount, 4)
	is(p, `document.querySelectorAll(".arrow.gate.needs").length`, 3)
	is(p, `document.querySelectorAll(".card.near").length`, 4)
	is(p, `document.querySelector("#details h2").textContent`, "Beaconharbour")
	is(p, `[...document.querySelectorAll("#details h3")].map((e) => e.textContent).join()`, "Why it is in this wave,Depends on 4")
	is(p, `document.querySelectorAll("#details .ends .tag.gate").length`, 3)
	// The details lead on, and back.
	p.run(chromedp.Click(`#details .ends a[href*="Deployment"]`, chromedp.ByQuery))
	p.settle()
	is(p, chosen, "beacon-operator-operator")
	is(p, `document.querySelectorAll(".arrow.needed").length > 0`, true)
	p.run(chromedp.NavigateBack())
	p.settle()
	is(p, chosen, "harbour")
	p.run(chromedp.Click(`#details .close`, chromedp.ByQuery))
	p.settle()
	is(p, chosen, "")
	is(p, `document.body.classList.contains("has-choice")`, false)
}

// TestPointing shows arrows for as long as the mouse is on an object.
func TestPointing(t *testing.T) {
	p := open(t, made(t, operator), "", desktop)
	box := eval[[]float64](p,
		`(() => { const b = document.querySelector(".card[href*='Certificate']").getBoundingClientRect(); return [b.x + 20, b.y + 20]; })()`)
	p.run(chromedp.MouseEvent("mouseMoved", box[0], box[1]))
	p.settle()
	is(p, `document.querySelectorAll(".arrow").length > 0`, true)
	p.run(chromedp.MouseEvent("mouseMoved", 5, 5))
	p.settle()
	is(p, edgeCount, 0)
	is(p, chosen, "")
}

// TestArrowsCrossNoText walks along the arrows of every item, which must lead over
// no caption and no other item.
func TestArrowsCrossNoText(t *testing.T) {
	for name, file := range map[string]string{"component": made(t, operator), "fleet": fleetPage(t)} {
		t.Run(name, func(t *testing.T) {
			p := open(t, file, "", desktop)
			crossed := eval[[]string](p, `(async () => {
  `+awaitDrawing+`
  const frame = async () => { await drawn(); await drawn(); };
  const boxes = [...document.querySelectorAll(".band-head h3, .band-head .count, .band-head .when, .why li, .gate, .card")].flatMap((e) => {
    const range = document.createRange();
    range.selectNodeContents(e);
    const rects = e.matches(".card") ? [e.getBoundingClientRect()] : [...range.getClientRects()];
    return rects.map((r) => ({ text: e.textContent.slice(0, 60), left: r.left + 1 + scrollX, right: r.right - 1 + scrollX, top: r.top + 3 + scrollY, bottom: r.bottom - 3 + scrollY }));
  });
  const crossed = new Set();
  let walked = 0;
  for (const card of document.querySelectorAll(".card")) {
    card.focus({ preventScroll: true });
    await frame();
    const svg = document.querySelector(".arrows svg")?.getBoundingClientRect();
    for (const path of document.querySelectorAll(".arrow")) {
      const length = path.getTotalLength();
      for (let at = 8; at < length - 8; at += 4, walked++) {
        const point = path.getPointAtLength(at);
        const x = point.x + svg.left + scrollX;
        const y = point.y + svg.top + scrollY;
        for (const box of boxes) if (x > box.left && x < box.right && y > box.top && y < box.bottom) crossed.add(box.text);
      }
    }
  }
  return walked > 1000 ? [...crossed] : ["there are no arrows"];
})()`)
			if len(crossed) > 0 {
				t.Errorf("arrows cross %q", crossed)
			}
		})
	}
}

// TestSearch narrows a component by words and by what objects are.
func TestSearch(t *testing.T) {
	p := open(t, made(t, operator), "", desktop)
	is(p, status, "")
	p.run(chromedp.SendKeys("#query", "role binding", chromedp.ByQuery))
	p.settle()
	is(p, status, "2 of 16 objects")
	is(p, cards, 2)
	is(p, `document.getElementById("matches").getAttribute("role")`, "status")
	// It is part of the address.
	is(p, `location.hash`, "#q=role+binding")
	p.run(chromedp.Reload())
	p.settle()
	is(p, cards, 2)
	// Nothing is said where nothing matches, and how to come back.
	p.visit("#q=role&kind=Gone")
	is(p, cards, 0)
	is(p, `document.querySelector("select[name=kind]").value`, "Gone")
	p.run(chromedp.Click("#nothing button", chromedp.ByQuery))
	p.settle()
	is(p, cards, 16)
	is(p, `document.getElementById("nothing").checkVisibility()`, false)
	p.run(chromedp.Click("#filters-toggle", chromedp.ByQuery),
		chromedp.SetValue(`select[name="kind"]`, "CustomResourceDefinition", chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector("select[name=kind]").dispatchEvent(new Event("change"))`, nil))
	p.settle()
	is(p, cards, 2)
	is(p, status, "2 of 16 objects")
}

// TestFleet goes from phases to the ladder of a component and back, and finds
// objects in all of them.
func TestFleet(t *testing.T) {
	p := open(t, fleetPage(t), "", desktop)
	is(p, cards, 68)
	p.run(chromedp.SendKeys("#query", "vault statefulset", chromedp.ByQuery))
	p.settle()
	is(p, `document.querySelectorAll("#inside li").length > 0`, true)
	is(p, status, "1 of 68 components, with 1 object")
	p.run(chromedp.Click("#inside a", chromedp.ByQuery))
	p.settle()
	is(p, chosen, "vault")
	is(p, `document.querySelector("main h2").textContent`, "foundation-vault-core")
	p.run(chromedp.Click(".crumbs a", chromedp.ByQuery))
	p.settle()
	is(p, chosen, "foundation-vault-core")
	p.run(chromedp.Click("#details .open", chromedp.ByQuery))
	p.settle()
	is(p, `location.hash`, "#component=foundation-vault-core")
	is(p, `document.activeElement.id`, "main")
	p.run(chromedp.Click(`#views a[href*="timeline"]`, chromedp.ByQuery))
	p.settle()
	is(p, `document.querySelectorAll(".bar").length`, 67)
	is(p, `document.querySelectorAll(".bar.critical").length > 10`, true)
	is(p, `document.querySelectorAll(".path li").length > 10`, true)
}

// TestEnvironments goes through the rollouts of a fleet that has several.
func TestEnvironments(t *testing.T) {
	p := open(t, made(t, "testdata/fleets/bands/components"), "", desktop)
	const lead = `document.querySelector("main .lead").textContent`
	const environment = `document.getElementById("environment").value`
	is(p, `[...document.querySelectorAll("#environment option")].map((o) => o.textContent).join()`, "all 3,dev,production,staging")
	is(p, environment, "")
	is(p, cards, 71)
	is(p, `document.querySelectorAll("#details .environments a").length`, 3)
	// The timeline of all is a choice.
	p.run(chromedp.Click(`#views a[href*="timeline"]`, chromedp.ByQuery))
	p.settle()
	is(p, `document.querySelectorAll(".bar").length`, 0)
	p.run(chromedp.Click(`main .environments a[href*="production"]`, chromedp.ByQuery))
	p.settle()
	is(p, environment, "production")
	is(p, `location.hash`, "#environment=production&view=timeline")
	is(p, `document.querySelectorAll(".bar").length`, 67)
	// The page is then that of the environment, by whatever way.
	p.run(chromedp.Click(`#views li:first-child a`, chromedp.ByQuery))
	p.settle()
	is(p, cards, 68)
	of := open(t, fleetPage(t), "", desktop)
	is(of, `document.getElementById("environments").checkVisibility()`, false)
	for _, what := range []string{lead, `document.querySelector(".ladder").textContent`, `document.querySelector("#details").textContent`} {
		is(of, what, eval[string](p, what))
	}
	p.visit("#environment=production&object=foundation-vault-core")
	is(p, chosen, "foundation-vault-core")
	p.run(chromedp.Click("#details .open", chromedp.ByQuery))
	p.settle()
	is(p, `location.hash`, "#environment=production&component=foundation-vault-core")
	// Who chooses another one stays with the choice, and finds the way back.
	p.visit("")
	p.run(chromedp.Focus("#environment", chromedp.ByQuery))
	p.press("s")
	is(p, environment, "staging")
	is(p, `document.activeElement.id`, "environment")
	is(p, `location.hash`, "#environment=staging")
	p.run(chromedp.NavigateBack())
	p.settle()
	is(p, environment, "")
	is(p, cards, 71)
	p.visit("#environment=gone&view=timeline")
	is(p, environment, "")
	is(p, `document.querySelectorAll("main .environments a").length`, 3)
}

// TestFindings shows faults where they are, and all of them in one list.
func TestFindings(t *testing.T) {
	p := open(t, made(t, "testdata/fleets/faults/components", "--environment", "main"), "#object=ring-a", desktop)
	is(p, `document.querySelectorAll(".arrow.against").length > 0`, true)
	is(p, `document.querySelectorAll("#details .finding.error").length`, 1)
	is(p, `document.querySelector("[aria-current=true] .badge.error").textContent`, "✕ 11 error")
	// What is wrong with an item is among the words that find it.
	p.visit("#q=later-step")
	is(p, `[...document.querySelectorAll(".card .name")].filter((e) => e.checkVisibility())`+
		`.map((e) => e.textContent.trim()).includes("ring-a")`, true)
	is(p, `document.querySelector(".card .badge.note") && getComputedStyle(document.querySelector(".card .badge.note")).fontSize`, "12px")
	p.visit("#view=findings")
	is(p, `document.querySelectorAll(".finding").length > 20`, true)
	p.run(chromedp.SendKeys("#query", "cycle", chromedp.ByQuery))
	p.settle()
	is(p, `document.querySelectorAll(".finding").length < 20`, true)
}

// TestDeepLink opens places from addresses, loaded anew.
func TestDeepLink(t *testing.T) {
	p := open(t, fleetPage(t), "#component=foundation-vault-core&object=StatefulSet.apps+vault%2Fvault", desktop)
	for range 2 {
		is(p, chosen, "vault")
		is(p, `(() => { const box = document.querySelector("[aria-current=true].card").getBoundingClientRect(); `+
			`return box.top > 0 && box.bottom < innerHeight; })()`, true)
		p.run(chromedp.Reload())
		p.settle()
	}
	p.visit("#component=gone&object=gone") // of a page that was written since
	is(p, cards, 68)
}

// TestThemes reads the colours that each scheme and the switch lead to.
func TestThemes(t *testing.T) {
	const background = `getComputedStyle(document.body).backgroundColor`
	const light, dark = "rgb(250, 250, 248)", "rgb(19, 20, 23)"
	file := made(t, operator)
	night := desktop
	night.scheme = "dark"
	p := open(t, file, "", desktop)
	is(p, background, light)
	p.run(night.media())
	is(p, background, dark)
	p.run(chromedp.Click("#theme", chromedp.ByQuery))
	is(p, background, light)
	is(p, `document.getElementById("theme").textContent`, "Theme: light")
	p.run(chromedp.Reload())
	is(p, background, light)
	p.run(chromedp.Click("#theme", chromedp.ByQuery), chromedp.Click("#theme", chromedp.ByQuery))
	is(p, `document.getElementById("theme").textContent`, "Theme: auto")
}

// TestChosenOnPhone selects each object on a phone: the details leave its card visible.
func TestChosenOnPhone(t *testing.T) {
	p := open(t, made(t, operator), "", screen{width: 390, height: 844, scheme: "light"})
	hidden := eval[[]string](p, `(async () => {
  `+awaitDrawing+`
  const hidden = [];
  for (const card of document.querySelectorAll(".card")) {
    card.scrollIntoView({ block: "end" });
    card.focus({ preventScroll: true });
    card.click();
    await drawn();
    await drawn();
    const sheet = document.getElementById("details").getBoundingClientRect();
    const box = card.getBoundingClientRect();
    if (getComputedStyle(document.getElementById("details")).position !== "fixed" || box.top < 0 || box.bottom > sheet.top) hidden.push(card.textContent.slice(0, 40));
  }
  return document.querySelectorAll(".card").length > 5 ? hidden : ["there are no cards"];
})()`)
	if len(hidden) > 0 {
		t.Errorf("the details cover the selected cards %q", hidden)
	}
	is(open(t, made(t, operator), beacon, screen{width: 390, height: 844, scheme: "light"}),
		`document.querySelector("[aria-current=true].card").getBoundingClientRect().bottom <= `+
			`document.getElementById("details").getBoundingClientRect().top`, true)
}

// TestBlindGate shows a gate at which Argo CD does not wait, for lack of a health check.
func TestBlindGate(t *testing.T) {
	p := open(t, made(t, "testdata/components/vault-shop"), "#object=VaultStaticSecret.secrets.hashicorp.com+default%2Fdatabase", desktop)
	is(p, `document.querySelector(".lead").textContent`, "4 objects in 2 waves, 0 gates; Argo CD does not wait for 1 object")
	is(p, `document.querySelector(".band .gate summary").textContent`,
		"Argo CD does not wait here: 1 object that later ones need, without a health check")
	is(p, `document.querySelectorAll(".band:nth-of-type(2) .why li").length`, 1)
	is(p, `document.querySelectorAll(".card .hourglass, #details .tag.gate, .gate.awaited, .arrow.gate").length`, 0)
	is(p, `[...document.querySelectorAll("#details .tag")].map((e) => e.textContent).join()`, "Argo CD does not wait")
	is(p, `document.querySelector("#details").textContent.includes("Why Argo CD waits for it")`, false)
}

// TestReasonsOfWaves reads above each wave why it comes after the one before, and the number of
// gates, which are boundaries.
func TestReasonsOfWaves(t *testing.T) {
	p := open(t, made(t, operator), "", desktop)
	is(p, `document.querySelectorAll(".band:first-of-type .why").length`, 0)
	is(p, `document.querySelector(".band:nth-of-type(2) .why li").textContent`,
		"Deployment beacon-operator-operator mounts Secret default/beacon-operator-tls, which is written by Certificate beacon-operator-webhook")
	is(p, `document.querySelector(".ladder").textContent.includes("first wave with objects of rung")`, false)
	is(p, `document.querySelector(".lead").textContent.match(/(\d+) gates?$/)[1]`+
		` === String(document.querySelectorAll(".gate.awaited").length)`, true)
}

// TestPhone looks for anything that is wider than a phone.
func TestPhone(t *testing.T) {
	component, fleet := made(t, operator), fleetPage(t)
	for _, at := range []struct{ file, place string }{{component, ""}, {component, beacon}, {component, "#view=findings"}, {fleet, ""},
		{fleet, "#q=vault"}, {fleet, "#view=timeline"}, {fleet, "#object=foundation-vault-core"},
		{made(t, "conformance/browser/testdata/hostile"), ""}} {
		t.Run(filepath.Base(filepath.Dir(at.file))+at.place, func(t *testing.T) {
			p := open(t, at.file, at.place, phone)
			is(p, `document.documentElement.scrollWidth`, 360)
			wide := eval[[]string](p, `[...document.querySelectorAll("body *")]`+
				`.filter((e) => !e.closest(".unseen, .arrows, [hidden], thead") && e.getBoundingClientRect().right > 361)`+
				`.map((e) => e.outerHTML.slice(0, 120))`)
			if len(wide) > 0 {
				t.Errorf("wider than the screen: %s", strings.Join(wide, "\n"))
			}
		})
	}
}

// TestNamesStayWhole reads where the name of a file is broken.
func TestNamesStayWhole(t *testing.T) {
	p := open(t, made(t, operator), beacon, desktop)
	is(p, `(() => {
  const from = [...document.querySelectorAll("#details dt")].find((e) => e.textContent === "From").nextSibling;
  const range = document.createRange();
  range.selectNodeContents(from.lastChild);
  return from.lastChild.textContent + " in " + new Set([...range.getClientRects()].map((r) => r.top)).size;
})()`, "beacons.yaml in 1")
}

// TestPaper prints: no controls, nothing cut off, and what Argo CD waits for.
func TestPaper(t *testing.T) {
	p := open(t, made(t, "testdata/fleets/bands/components"), "#environment=dev&component=foundation-vault-core", desktop)
	var pdf []byte
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		var err error
		pdf, _, err = page.PrintToPDF().Do(ctx)
		return err
	}))
	if len(pdf) < 10_000 {
		t.Errorf("the print has %d bytes", len(pdf))
	}
	is(p, `[...document.querySelectorAll("details.gate")].every((d) => d.open)`, true)
	paper := desktop
	paper.print = true
	p = open(t, p.file, "#environment=dev", paper)
	is(p, `document.getElementById("search").checkVisibility()`, false)
	is(p, `["environments", "theme", "filters"].some((id) => document.getElementById(id).checkVisibility())`, false)
	is(p, `[...document.querySelectorAll(".card .name, .card .note")].every((e) => e.scrollHeight <= e.clientHeight + 1)`, true)
}

// TestHostileNames opens a component whose names are markup.
func TestHostileNames(t *testing.T) {
	file := made(t, "conformance/browser/testdata/hostile")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "planted-secret") {
		t.Error("the page tells what a Secret holds")
	}
	p := open(t, file, "", desktop)
	is(p, `typeof window.hacked`, "undefined")
	is(p, `document.querySelectorAll("img, main script, svg[onload]").length`, 0)
	names := eval[[]string](p, `[...document.querySelectorAll(".card .name")].map((e) => e.textContent.trim())`)
	for _, want := range []string{`</script><img src=x onerror="window.hacked=1">`,
		`"><svg onload=window.hacked=2>`, `a\u202eb\u2028&lt;b>&amp;`, `{{constructor}}${alert(1)}`} {
		if !slices.Contains(names, want) {
			t.Errorf("%q is not among %q", want, names)
		}
	}
	for i := range 4 {
		p.run(chromedp.Evaluate(`document.querySelectorAll(".card")[`+string(rune('0'+i))+`].click()`, nil))
		p.settle()
		is(p, `typeof window.hacked`, "undefined")
		is(p, `document.querySelector("[aria-current=true] .name").textContent.trim()`+
			` === document.querySelector("#details h2 .name").textContent`, true)
	}
}

// TestProgram has eslint read the program of the page, and the extension of Argo CD.
func TestProgram(t *testing.T) {
	fromNPM(t, "eslint@9.39.1", "package.json")
	dir := filepath.Join(installed, "node_modules", ".bin")
	config, err := filepath.Abs("eslint.config.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"internal/report/page", "deploy/ui-extension"} {
		cmd := exec.Command(filepath.Join(dir, "eslint"), "--config", config, "--max-warnings", "0", ".")
		cmd.Dir = filepath.Join(root, source)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", source, err, out)
		}
	}
}
