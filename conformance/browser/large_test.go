package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// The sizes that a page must stay fluid with.
const (
	manyComponents = 80
	manyObjects    = 3000
)

// largeFleet writes a fleet of many components, of which each needs the one before.
func largeFleet(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for i := range manyComponents {
		component := filepath.Join(dir, fmt.Sprintf("component-%02d", i))
		description := fmt.Sprintf("namespace: space-%d\nrolloutPhase: %d\n", i, 100+10*(i/4))
		write(t, filepath.Join(component, "component.yaml"), description)
		write(t, filepath.Join(component, "objects.yaml"), apps(manyObjects/manyComponents, fmt.Sprintf("c%02d", i))+
			fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: next, namespace: space-%d}\n", i+1)+
			fmt.Sprintf("---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: reader}\nspec: {selector: {matchLabels: {a: r}}, "+
				"template: {metadata: {labels: {a: r}}, spec: {containers: [{name: a, image: a, envFrom: [{configMapRef: {name: next}}]}]}}}\n"))
	}
	return dir
}

// apps are manifests of Deployments with what they need; all run as one account.
func apps(count int, prefix string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s-hub}\n", prefix)
	for i := range (count - 1) / 4 {
		for _, kind := range []string{"ConfigMap", "Secret", "Service"} {
			fmt.Fprintf(&b, "---\napiVersion: v1\nkind: %s\nmetadata: {name: %s-%d}\n", kind, prefix, i)
		}
		fmt.Fprintf(&b, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %[1]s-%[2]d}\n"+
			"spec: {selector: {matchLabels: {a: a}}, template: {metadata: {labels: {a: a}}, spec: {serviceAccountName: %[1]s-hub, "+
			"containers: [{name: a, image: a, envFrom: [{configMapRef: {name: %[1]s-%[2]d}}, {secretRef: {name: %[1]s-%[2]d}}]}]}}}\n", prefix, i)
	}
	return b.String()
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sized are pages of a component of 30 objects, of one of 3,000, and of a fleet of
// 80 components with as many.
func sized(t testing.TB) []sizedPage {
	t.Helper()
	one, small := t.TempDir(), t.TempDir()
	write(t, filepath.Join(one, "objects.yaml"), apps(manyObjects, "app"))
	write(t, filepath.Join(small, "objects.yaml"), apps(30, "app"))
	return []sizedPage{
		{"small", made(t, small), "app-1"},
		{"component", made(t, one), "app-1"},
		{"fleet", made(t, largeFleet(t)), "secret"},
	}
}

// sizedPage is a page, with a word that much of it is found by.
type sizedPage struct{ name, file, word string }

// What a reader does.
const (
	middle     = `document.querySelectorAll(".card")[Math.floor(document.querySelectorAll(".card").length / 2)]`
	chooseIt   = middle + `.click()`
	scrollDown = `(async () => {
  ` + awaitDrawing + `
  let frames = 0;
  scrollTo(0, 0);
  await drawn();
  while (scrollY + innerHeight < document.documentElement.scrollHeight - 1 && frames <= 400) {
    frames++;
    scrollBy({ top: 200, behavior: "instant" });
    await drawn();
  }
  return frames;
})()`
)

func searchFor(word string) string {
	return `document.getElementById("query").value = "` + word + `"; document.getElementById("query").dispatchEvent(new Event("input"))`
}

// changed counts what the page changes of itself while it does something.
func (p *tab) changed(expression string) int {
	p.Helper()
	p.run(chromedp.Evaluate(`window.changes = 0; window.watch = new MutationObserver((all) => { window.changes += all.length; }); `+
		`window.watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true }); 0`, nil))
	p.run(chromedp.Evaluate(expression, nil, awaited))
	p.settle()
	return eval[int](p, `(window.changes += window.watch.takeRecords().length, window.watch.disconnect(), window.changes)`)
}

// metric is one that Chromium counts of a page.
func (p *tab) metric(name string) float64 {
	p.Helper()
	var value float64
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		all, err := performance.GetMetrics().Do(ctx)
		for _, m := range all {
			if m.Name == name {
				value = m.Value
			}
		}
		return err
	}))
	return value
}

// TestLarge counts what a browser has to do for what a reader does in large
// pages: how long that takes is the machine's affair, how much it is is the
// page's.
func TestLarge(t *testing.T) {
	// Items that are laid out are those near the screen: a few blocks of them.
	const laidOut = `[...document.querySelectorAll(".card")].filter((c) => c.checkVisibility({ contentVisibilityAuto: true })).length`
	const mostLaidOut = 6 * 48
	for _, of := range sized(t) {
		t.Run(of.name, func(t *testing.T) {
			p := open(t, of.file, "", desktop)
			p.run(performance.Enable())
			within := func(what string, got, most int) {
				t.Helper()
				t.Logf("%s: %d", what, got)
				if got > most {
					t.Errorf("%s: %d, want at most %d", what, got, most)
				}
			}
			items := eval[int](p, `document.querySelectorAll(".card").length`)
			within("elements for each item", eval[int](p, `document.querySelectorAll("body *").length`)/items, 20)
			within("laid out at first", eval[int](p, laidOut), mostLaidOut)
			within("changes while scrolling", p.changed(scrollDown), 0)
			within("laid out at the end", eval[int](p, laidOut), mostLaidOut)
			p.run(chromedp.Evaluate(middle+`.scrollIntoView({ block: "center" })`, nil))
			p.settle()
			within("laid out in the middle", eval[int](p, laidOut), mostLaidOut)
			layouts := p.metric("LayoutCount")
			within("changes to choose", p.changed(chooseIt), 400)
			within("layouts to choose", int(p.metric("LayoutCount")-layouts), 20)
			is(p, edgeCount+` > 0`, true)
			if of.name == "component" { // what a thousand others refer to has as many arrows as one can tell apart
				within("changes to choose what all refer to", p.changed(`document.querySelector('.card[href*="ServiceAccount"]').click()`), 400)
				within("arrows", eval[int](p, edgeCount), 150)
			}
			layouts = p.metric("LayoutCount")
			within("changes to search", p.changed(searchFor(of.word)), 2*items+400)
			within("layouts to search", int(p.metric("LayoutCount")-layouts), 20)
			is(p, status+` !== ""`, true)
		})
	}
}

// BenchmarkPage measures in milliseconds of the page's thread, and as often as the
// small page, what a reader does.
func BenchmarkPage(b *testing.B) {
	base := map[string]float64{}
	for _, of := range sized(b) {
		b.Run(of.name, func(b *testing.B) {
			for b.Loop() {
				p := open(b, of.file, "", desktop)
				p.run(performance.Enable())
				worked := func(what string, times float64, do func()) {
					before := p.work()
					do()
					cost := (p.work() - before) / times
					if of.name == "small" {
						base[what] = cost
					}
					b.ReportMetric(cost, "ms-to-"+what)
					b.ReportMetric(cost/base[what], "times-to-"+what)
				}
				worked("open", 1, func() { p.visit("") })
				worked("scroll", max(1, eval[float64](p, scrollDown)), func() { eval[int](p, scrollDown) })
				worked("choose", 1, func() { p.run(chromedp.Evaluate(chooseIt, nil)); p.settle() })
				worked("search", 1, func() { p.run(chromedp.Evaluate(searchFor(of.word), nil)); p.settle() })
			}
			size, err := os.Stat(of.file)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(size.Size()/1024), "KB")
		})
	}
}

// work is how long the page's thread has worked so far, in milliseconds.
func (p *tab) work() float64 {
	return 1000 * (p.metric("ScriptDuration") + p.metric("RecalcStyleDuration") + p.metric("LayoutDuration"))
}
