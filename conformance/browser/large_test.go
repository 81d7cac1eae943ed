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
func largeFleet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i := range manyComponents {
		component := filepath.Join(dir, fmt.Sprintf("component-%02d", i))
		description := fmt.Sprintf("namespace: space-%d\nrolloutPhase: %d\n", i, 100+10*(i/4))
		write(t, filepath.Join(component, "component.yaml"), description)
		write(t, filepath.Join(component, "objects.yaml"), apps(manyObjects/manyComponents, fmt.Sprintf("c%02d", i))+
			fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: next, namespace: space-%d}\n", i+1)+
			fmt.Sprintf("---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: reader}\nspec: {selector: {matchLabels: {a: r}}, template: {metadata: {labels: {a: r}}, spec: {containers: [{name: a, image: a, envFrom: [{configMapRef: {name: next}}]}]}}}\n"))
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
		fmt.Fprintf(&b, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %[1]s-%[2]d}\nspec: {selector: {matchLabels: {a: a}}, template: {metadata: {labels: {a: a}}, spec: {serviceAccountName: %[1]s-hub, "+
			"containers: [{name: a, image: a, envFrom: [{configMapRef: {name: %[1]s-%[2]d}}, {secretRef: {name: %[1]s-%[2]d}}]}]}}}\n", prefix, i)
	}
	return b.String()
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// work is what Chromium did for a page, in milliseconds.
type work struct{ script, style, layout float64 }

func (w work) sum() float64 { return w.script + w.style + w.layout }

func (w work) String() string {
	return fmt.Sprintf("%.1f ms (script %.1f, style %.1f, layout %.1f)", w.sum(), w.script, w.style, w.layout)
}

// worked measures what something costs. It is work, and not time, since other
// programs may keep the machine busy.
func (p *tab) worked(do func()) work {
	p.Helper()
	read := func() work {
		var w work
		p.run(chromedp.ActionFunc(func(ctx context.Context) error {
			all, err := performance.GetMetrics().Do(ctx)
			for _, m := range all {
				switch m.Name {
				case "ScriptDuration":
					w.script = m.Value * 1000
				case "RecalcStyleDuration":
					w.style = m.Value * 1000
				case "LayoutDuration":
					w.layout = m.Value * 1000
				}
			}
			return err
		}))
		return w
	}
	before := read()
	do()
	after := read()
	return work{after.script - before.script, after.style - before.style, after.layout - before.layout}
}

// frames scrolls all the way down in steps of a screen, one a frame, and returns
// how long the frames took, sorted.
const frames = `new Promise((done) => {
  const all = [];
  let last = performance.now();
  const next = () => {
    const now = performance.now();
    all.push(now - last);
    last = now;
    if (scrollY + innerHeight >= document.documentElement.scrollHeight - 1 || all.length > 400) return done(all.slice(1).sort((a, b) => a - b));
    scrollBy({ top: 200, behavior: "instant" });
    requestAnimationFrame(next);
  };
  scrollTo(0, 0);
  requestAnimationFrame(next);
})`

// TestLarge compares what a reader does in a component of 3,000 objects, and in a
// fleet of 80 components with as many, with the same in a small one.
func TestLarge(t *testing.T) {
	one := t.TempDir()
	write(t, filepath.Join(one, "objects.yaml"), apps(manyObjects, "app"))
	small := t.TempDir()
	write(t, filepath.Join(small, "objects.yaml"), apps(30, "app"))
	measured := map[string]map[string]work{}
	pages := []struct{ name, file, item, word string }{
		{"small", made(t, small), "ServiceAccount/app-hub", "app-1"},
		{"component", made(t, one), "ServiceAccount/app-hub", "app-1"},
		{"fleet", made(t, largeFleet(t)), "component-40", "secret"},
	}
	for _, of := range pages {
		t.Run(of.name, func(t *testing.T) {
			costs := map[string]work{}
			measured[of.name] = costs
			p := open(t, of.file, "", desktop)
			p.run(performance.Enable())
			costs["open"] = p.worked(func() { p.visit("") })
			var count float64
			all := p.worked(func() {
				all := eval[[]float64](p, frames)
				count = float64(len(all))
				t.Logf("%d frames, half of them within %.1f ms, 95%% within %.1f ms, the longest %.1f ms", len(all), all[len(all)/2], all[len(all)*95/100], all[len(all)-1])
			})
			costs["scroll by a frame"] = work{all.script / count, all.style / count, all.layout / count}
			middle := `document.querySelectorAll(".card")[Math.floor(document.querySelectorAll(".card").length / 2)]`
			costs["select"] = p.worked(func() {
				p.run(chromedp.Evaluate(middle+`.click()`, nil))
				p.settle()
			})
			is(p, `document.querySelectorAll(".arrow").length > 0`, true)
			costs["search"] = p.worked(func() {
				p.run(chromedp.Evaluate(`document.getElementById("query").value = "`+of.word+`"; document.getElementById("query").dispatchEvent(new Event("input"))`, nil))
				p.settle()
			})
			is(p, status+` !== ""`, true)
			for _, what := range []string{"open", "scroll by a frame", "select", "search"} {
				t.Logf("%s: %s", what, costs[what])
			}
			size, err := os.Stat(of.file)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d KB", size.Size()/1024)
		})
	}
	if t.Failed() {
		return
	}
	// A hundred times the objects: what is done once for each of them may cost
	// that much more, what a reader does again and again must not.
	for _, name := range []string{"component", "fleet"} {
		for what, most := range map[string]float64{"open": 100, "scroll by a frame": 10, "select": 40, "search": 40} {
			if got, base := measured[name][what], measured["small"][what]; got.sum() > most*max(base.sum(), 1) {
				t.Errorf("%s: to %s costs %s, in a small component %s", name, what, got, base)
			}
		}
	}
}
