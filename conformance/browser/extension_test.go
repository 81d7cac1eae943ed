package browser

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const shop = "testdata/components/shop"

const (
	panelText = `document.querySelector(".ladder-panel button").textContent.trim()`
	headline  = `document.querySelector("#view h2").textContent.trim()`
	places    = `[...document.querySelectorAll("#view .ladder-place")].map((e) => e.textContent).join()`
	openRows  = `document.querySelectorAll("#view .ladder-row").length`
)

// TestExtension opens an Application whose Job is awaited: what the panel, the flyout and the
// view say, with both versions of React and in both themes.
func TestExtension(t *testing.T) {
	for _, version := range reacts {
		for _, theme := range []string{"light", "dark"} {
			t.Run(version+" "+theme, func(t *testing.T) {
				p := hanging(t, theme, version).page(t, desktop)
				is(p, `registered.statusPanel.length + registered.appView.length`, 2)
				is(p, `registered.appView[0].title`, "Ladder")
				is(p, panelText, "wave 51 (2 of 3): waits for Job shop-migrate, 14 min")
				is(p, headline, "wave 51 (2 of 3): waits for Job shop-migrate")
				is(p, places, "Wave 50,Wave 51,Wave 60,PostSync, wave 0")
				is(p, `[...document.querySelectorAll("#view .ladder-counts")].map((e) => e.textContent.trim()).join(";")`,
					"8 done;1 awaited;5 not applied yet;1 not applied yet")
				is(p, openRows, 1)
				blocker := eval[string](p, `document.querySelector("#view .ladder-blockers").textContent`)
				for _, want := range []string{
					"Job shop/shop-migrate is Progressing", "job.batch/shop-migrate created",
					`Pod shop-migrate-x2x: CreateContainerConfigError: secret "db-app" not found`,
					"Failed: Error: secret \"db-app\" not found", "wave 51, because it calls StatefulSet shop/shop-database (inferred)",
					"Needed by: Deployment shop-web",
				} {
					if !strings.Contains(blocker, want) {
						t.Errorf("the view does not say %q: %s", want, blocker)
					}
				}
				is(p, `document.querySelector("#flyout")`, any(nil))
				p.run(chromedp.Click(".ladder-panel button", chromedp.ByQuery))
				p.settle()
				is(p, `document.querySelector("#flyout h2").textContent === document.querySelector("#view h2").textContent`, true)
				// The colours of a theme are those of its class, not of the system.
				is(p, `getComputedStyle(document.querySelector("#view .ladder")).backgroundColor`,
					map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(40, 40, 42)"}[theme])
			})
		}
	}
}

// hanging is the shop while a Pod of its Job waits for a Secret: recorded where the real Argo CD
// 3.5 synced it, with a hook for PostSync beside it; but no Pods ran there.
func hanging(t *testing.T, theme, version string) *argocd {
	a := recorded(t, "waiting.json")
	a.theme, a.react = theme, version
	pod := map[string]any{"version": "v1", "kind": "Pod", "namespace": "shop", "name": "shop-migrate-x2x", "uid": "uid-pod",
		"parentRefs": []any{map[string]any{"kind": "Job", "uid": named(a.Tree["nodes"], "shop-migrate")["uid"]}},
		"health":     map[string]any{"status": "Degraded", "message": `secret "db-app" not found`},
		"info":       []any{map[string]any{"name": "Status Reason", "value": "CreateContainerConfigError"}}}
	a.Tree["nodes"] = append(a.Tree["nodes"].([]any), pod)
	a.Events = map[string]any{"shop-migrate-x2x": map[string]any{"items": []any{
		map[string]any{"type": "Normal", "reason": "Scheduled", "message": "assigned", "lastTimestamp": "2026-03-01T10:14:00Z"},
		map[string]any{"type": "Warning", "reason": "Failed", "message": `Error: secret "db-app" not found`,
			"lastTimestamp": "2026-03-01T10:13:00Z"}}},
		"shop-migrate": map[string]any{"items": nil}}
	return a
}

// TestRecorded reads what the Application alone says, as the status panel does: while the sync
// waits, and after it.
func TestRecorded(t *testing.T) {
	p := hanging(t, "light", reacts[1]).page(t, desktop)
	done := recorded(t, "done.json")
	for want, a := range map[string]*argocd{"wave 51 (2 of 3): waits for Job shop-migrate": recorded(t, "waiting.json"),
		"done: 4 waves, 15 objects": done} {
		is(p, fmt.Sprintf(`ladderExtension.headline(ladderExtension.model(%s, null, null)).text`, encoded(t, a.Application)), want)
	}
	p.run(chromedp.Evaluate(fmt.Sprintf(`show(%s)`, encoded(t, done)), nil))
	p.settle()
	is(p, panelText, "done: 4 waves, 15 objects")
	is(p, `document.querySelectorAll("#view .ladder-at-done").length`, 4)
}

// positions are states of a sync, with the line of the panel.
var positions = []struct {
	name   string
	at     int
	change func(*argocd)
	want   string
}{
	{"running", 51, func(*argocd) {}, "wave 51 (2 of 3): waits for Job shop-migrate"},
	{"several", 50, func(*argocd) {}, "wave 50 (1 of 3): waits for NetworkPolicy shop-web and 7 more"},
	{"between steps", 51, func(a *argocd) { a.entry("shop-migrate")["hookPhase"] = "Succeeded" }, "wave 51 (2 of 3): applied"},
	{"no step yet", 51, func(a *argocd) { a.operation()["syncResult"] = nil }, "begins"},
	{"sync window", 51, func(a *argocd) {
		a.operation()["syncResult"] = nil
		a.operation()["message"] = "Sync operation blocked by sync window"
	}, "waits for a sync window"},
	{"terminating", 51, func(a *argocd) { a.operation()["phase"] = "Terminating" },
		"is being terminated; wave 51 (2 of 3): waits for Job shop-migrate"},
	{"failed", 51, func(a *argocd) {
		a.entry("shop-migrate")["hookPhase"], a.operation()["phase"] = "Failed", "Failed"
	}, "wave 51 (2 of 3) failed: Job shop-migrate"},
	{"not applied", 51, func(a *argocd) {
		a.entry("shop-migrate")["hookPhase"], a.entry("shop-migrate")["status"], a.operation()["phase"] = nil, "SyncFailed", "Failed"
	}, "wave 51 (2 of 3) failed: Job shop-migrate"},
	{"invalid", 51, func(a *argocd) {
		a.operation()["phase"], a.operation()["syncResult"], a.operation()["message"] = "Error", nil, "Failed to load application project: gone"
	}, "failed: Failed to load application project: gone"},
	// The pause before a retry is phase Running with a time at which it finished.
	{"retry", 51, func(a *argocd) {
		a.entry("shop-migrate")["hookPhase"], a.operation()["finishedAt"] = "Failed", "2026-03-01T10:10:00Z"
	}, "wave 51 (2 of 3) failed: Job shop-migrate; waits for the next attempt"},
	// Nothing waits for the last wave, whose entries remain Running.
	{"done", 60, func(a *argocd) {
		a.operation()["phase"] = "Succeeded"
		for _, r := range a.Application["status"].(map[string]any)["resources"].([]any) {
			r.(map[string]any)["health"] = map[string]any{"status": "Healthy"}
		}
	}, "done: 3 waves, 14 objects"},
	{"not healthy", 60, func(a *argocd) { a.operation()["phase"] = "Succeeded" },
		"synced, but not healthy: PodDisruptionBudget shop-web and 4 more"},
	{"out of sync since", 60, func(a *argocd) {
		a.operation()["phase"] = "Succeeded"
		a.operation()["syncResult"].(map[string]any)["resources"] = []any{}
		for _, r := range a.Application["status"].(map[string]any)["resources"].([]any) {
			r.(map[string]any)["health"] = map[string]any{"status": "Healthy"}
		}
		maps.Copy(a.resource("shop-config"), map[string]any{"status": "OutOfSync", "health": map[string]any{"status": "Missing"}})
	}, "the last sync is done; 1 object out of sync"},
	{"failing", 60, func(a *argocd) { a.entry("shop")["hookPhase"] = "Failed" },
		"wave 60 (3 of 3): waits for PodDisruptionBudget shop-web and 3 more; Ingress shop failed"},
	{"never", 0, func(a *argocd) { a.Application["status"].(map[string]any)["operationState"] = nil }, "not synced yet"},
	{"no status", 0, func(a *argocd) { a.Application["status"] = nil }, "not synced yet"},
	{"pruned", 51, func(a *argocd) {
		old := map[string]any{"group": "batch", "version": "v1", "kind": "Job", "namespace": "default", "name": "old"}
		status := a.Application["status"].(map[string]any)
		status["resources"] = append(status["resources"].([]any), with(old, map[string]any{"status": "OutOfSync", "requiresPruning": true}))
		result := a.operation()["syncResult"].(map[string]any)
		result["resources"] = append(result["resources"].([]any),
			with(old, map[string]any{"status": "Pruned", "syncPhase": "Sync", "hookPhase": "Succeeded"}))
		a.entry("shop-migrate")["hookPhase"], a.operation()["message"] = "Succeeded", "waiting for deletion of batch/Job/old"
	}, "objects to remove: waits for the deletion of Job old"},
	// Before Argo CD 3.4, the Application does not tell the wave of a hook: it is that of
	// the entry before.
	{"hook", 50, func(a *argocd) {
		finish(a)
		a.hook("shop-check", "Sync", "Running")
	}, "wave 50 (1 of 3): waits for Job shop-check"},
	{"hook of another phase", 60, func(a *argocd) {
		finish(a)
		a.hook("shop-smoke", "PostSync", "Running")
	}, "PostSync: waits for Job shop-smoke"},
}

// TestPositions reads the line of the panel for each state of a sync.
func TestPositions(t *testing.T) {
	objects := explain(t, shop)
	p := synced(objects, 51).page(t, desktop)
	for _, tt := range positions {
		a := synced(objects, tt.at)
		tt.change(a)
		got := eval[string](p, fmt.Sprintf(`ladderExtension.headline(ladderExtension.model(%s, null, null)).text`, encoded(t, a.Application)))
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		// It is drawn without a complaint.
		p.run(chromedp.Evaluate(fmt.Sprintf(`show(%s)`, encoded(t, a)), nil))
		p.settle()
		is(p, headline, tt.want)
	}
}

// TestHooksToCome reads hooks that do not exist yet from the manifests of the revision that is
// synced, and nothing of the sort when all is done.
func TestHooksToCome(t *testing.T) {
	a := synced(explain(t, shop), 51)
	a.Manifests = []string{
		`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"smoke",` +
			`"annotations":{"argocd.argoproj.io/hook":"PostSync","argocd.argoproj.io/sync-wave":"7"}}}`,
		`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"before",` +
			`"annotations":{"helm.sh/hook":"pre-install,test","helm.sh/hook-weight":"-5"}}}`,
		`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"rescue","annotations":{"argocd.argoproj.io/hook":"SyncFail"}}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"test","annotations":{"helm.sh/hook":"test"}}}`, `no JSON`, `null`,
	}
	p := a.page(t, desktop)
	is(p, places, "PreSync, wave -5,Wave 50,Wave 51,Wave 60,PostSync, wave 7")
	done := synced(explain(t, shop), 60)
	done.operation()["phase"] = "Succeeded"
	done.page(t, desktop)
	if slices.Contains(done.asked, "manifests") || !slices.Contains(done.asked, "managed-resources") {
		t.Errorf("the extension asks for %q", done.asked)
	}
}

// TestWithoutReasons opens an Application that Ladder did not render, and one whose user may
// not read more than the Application.
func TestWithoutReasons(t *testing.T) {
	objects := explain(t, shop)
	for i := range objects {
		objects[i].Why = ""
	}
	p := synced(objects, 51).page(t, desktop)
	is(p, headline, "wave 51 (2 of 3): waits for Job shop-migrate")
	is(p, `document.querySelectorAll("#view .ladder-why").length`, 0)
	is(p, `document.querySelector("#view .ladder-hint").textContent.includes("explain: annotations")`, true)

	a := hanging(t, "light", reacts[0])
	a.Forbidden = []string{"manifests"}
	p = a.page(t, desktop)
	is(p, `document.querySelector("#view [role=alert]").textContent`, "Hooks that do not exist yet could not be read: 403 Forbidden")
	is(p, `document.querySelectorAll("#view .ladder-place").length`, 3)
	p.forget() // Chromium itself tells the console

	a = hanging(t, "light", reacts[0])
	a.Forbidden = []string{"managed-resources", "manifests", "events", "resource"}
	p = a.page(t, desktop)
	is(p, headline, "wave 51 (2 of 3): waits for Job shop-migrate")
	is(p, `document.querySelector("#view [role=alert]").textContent`, "Reasons could not be read: 403 Forbidden")
	is(p, `document.querySelector("#view .ladder-blockers").textContent.includes("could not be read: 403 Forbidden")`, true)
	p.forget() // Chromium itself tells the console
}

// TestHints reads what else changes what to do.
func TestHints(t *testing.T) {
	a := synced(explain(t, shop), 51)
	status := a.Application["status"].(map[string]any)
	status["sync"] = map[string]any{"revisions": []any{"cccccccc33333333", "bbbbbbbb22222222"}}
	a.operation()["syncResult"].(map[string]any)["revisions"] = []any{"cccccccc33333333", "aaaaaaaa11111111"}
	status["conditions"] = []any{map[string]any{"type": "SyncError", "message": "it failed"}}
	delete(a.Application, "operation")
	a.operation()["operation"].(map[string]any)["sync"].(map[string]any)["resources"] = []any{
		map[string]any{"group": "batch", "kind": "Job", "name": "shop-migrate"}}
	p := a.page(t, desktop)
	got := eval[string](p, `[...document.querySelectorAll("#view .ladder-hint")].map((e) => e.textContent).join("\n")`)
	for _, want := range []string{"Commit bbbbbbbb waits until this sync of aaaaaaaa ends",
		"the Application has no operation field", "applies 1 selected object and no hooks", "SyncError: it failed"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	is(p, `[...document.querySelectorAll("#view .ladder-counts")].pop().textContent.trim()`, "5 not part of this sync")
}

// TestManyObjects opens 4,000 objects, most of them in one wave: only what is open is drawn,
// and not all of it at once.
func TestManyObjects(t *testing.T) {
	var objects []explained
	for i := range 4000 {
		wave := min(i/1000, 2)
		objects = append(objects, explained{Kind: "ConfigMap", Namespace: "default", Name: fmt.Sprintf("settings-%d", i),
			Why: "configuration comes before the objects that read it", Wave: &wave})
	}
	p := synced(objects, 2).page(t, desktop)
	is(p, panelText, "wave 2 (3 of 3): waits for ConfigMap settings-2000 and 1999 more, 14 min")
	is(p, openRows, 200)
	is(p, `document.querySelectorAll("#view *").length < 3000`, true)
	p.run(chromedp.Click("#view .ladder-more", chromedp.ByQuery))
	p.settle()
	is(p, openRows, 1200)
	is(p, `document.querySelectorAll("#view .ladder-blockers li").length`, 3)
}

// TestExtensionKeyboard opens positions and copies the command without a mouse.
func TestExtensionKeyboard(t *testing.T) {
	p := hanging(t, "dark", reacts[1]).page(t, desktop)
	const focused = `document.activeElement.textContent.trim()`
	p.run(chromedp.Evaluate(`window.copied = ""; Object.defineProperty(navigator, "clipboard", { value: { writeText: `+
		`async (text) => { window.copied = text; } } })`, nil))
	p.press(kb.Tab)
	is(p, `document.activeElement.closest(".ladder-panel") !== null`, true)
	is(p, `getComputedStyle(document.activeElement).outlineStyle`, "solid")
	p.press(kb.Tab)
	is(p, focused, "Copy")
	p.press(kb.Enter)
	is(p, `window.copied`, "cmp why shop -n argocd")
	is(p, `document.querySelector(".ladder-copy [role=status]").textContent`, "copied")
	p.press(kb.Tab)
	is(p, `document.activeElement.getAttribute("aria-expanded")`, "false")
	p.press(kb.Enter)
	is(p, `document.activeElement.getAttribute("aria-expanded")`, "true")
	is(p, openRows, 9)
	// What is open remains open, and the focus stays, when the host's streams bring news.
	p.run(chromedp.Evaluate(fmt.Sprintf(`show(%s)`, encoded(t, synced(explain(t, shop), 60))), nil))
	p.settle()
	is(p, `document.activeElement.getAttribute("aria-expanded")`, "true")
	is(p, headline, "wave 60 (3 of 3): waits for PodDisruptionBudget shop-web and 4 more")
}

// TestExtensionAccess has axe-core look at both themes, on a screen and on a phone, and reads
// what a screen reader is told.
func TestExtensionAccess(t *testing.T) {
	axe := fromNPM(t, "axe-core@4.11.0", "axe.min.js")
	for _, theme := range []string{"light", "dark"} {
		for _, s := range []screen{desktop, phone} {
			t.Run(fmt.Sprint(theme, s.width), func(t *testing.T) {
				p := hanging(t, theme, reacts[1]).page(t, s)
				p.run(chromedp.Click("#view .ladder-position button", chromedp.ByQuery))
				p.settle()
				noViolations(t, axe, p)
				is(p, `document.documentElement.scrollWidth <= innerWidth`, true)
			})
		}
	}
	p := hanging(t, "light", reacts[1]).page(t, desktop)
	var nodes []*accessibility.Node
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		var err error
		nodes, err = accessibility.GetFullAXTree().Do(ctx)
		return err
	}))
	var told []string
	for _, n := range nodes {
		if !n.Ignored && n.Role != nil && n.Name != nil {
			told = append(told, unquoted(n.Role.Value)+" "+unquoted(n.Name.Value))
		}
	}
	for _, want := range []string{"region Ladder", "list Positions of the sync, from the first to the last",
		"button Wave 51 (2 of 3) 1 awaited", "button Copy cmp why shop -n argocd", "heading What is awaited"} {
		if !slices.Contains(told, want) {
			t.Errorf("nobody is told %q, but %q", want, told)
		}
	}
}

// TestExtensionHostile shows texts of the cluster that are markup, in every place that shows one.
func TestExtensionHostile(t *testing.T) {
	const evil = `</script><img src=x onerror="window.hacked=1">`
	wave, later := 1, 2
	objects := []explained{{Group: evil, Kind: "Job", Namespace: evil, Name: evil, Why: "calls " + evil, Wave: &wave},
		{Kind: "__proto__", Name: "constructor", Namespace: "toString", Why: "needs Job " + evil + "/" + evil, Wave: &later}}
	a := synced(objects, 1)
	a.operation()["message"], a.entry(evil)["message"], a.resource(evil)["health"] = evil, evil+"1",
		map[string]any{"status": evil, "message": evil + "2"}
	a.Events[evil] = map[string]any{"items": []any{map[string]any{"type": "Warning", "reason": evil, "message": evil}}}
	a.Live[evil] = map[string]any{
		"status": map[string]any{"conditions": []any{map[string]any{"type": evil + "failed", "status": "True", "message": evil + "3"}}}}
	a.Application["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": evil, "message": evil},
		map[string]any{"type": evil, "message": evil}}
	p := a.page(t, desktop)
	is(p, headline, "wave 1 (1 of 2): waits for Job "+evil)
	is(p, `typeof window.hacked`, "undefined")
	is(p, `document.querySelectorAll("#app img, #app script").length`, 0)
	for _, end := range []string{"2", "3"} {
		is(p, fmt.Sprintf(`document.querySelector("#view .ladder-blockers").textContent.includes('onerror="window.hacked=1">%s')`, end), true)
	}
	is(p, `document.querySelector("#view .ladder-blockers").textContent.includes("Needed by: __proto__ constructor")`, true)
	is(p, `ladderExtension.commandOf({ metadata: { name: "a'; rm -rf /", namespace: "x" } })`, `cmp why 'a'\''; rm -rf /' -n x`)
	// A fault of the extension leaves the page of Argo CD as it is.
	p.run(chromedp.Evaluate(`show({ application: { metadata: { name: "shop" }, `+
		`get status() { throw new Error("torn"); } }, tree: null })`, nil))
	p.settle()
	is(p, `document.querySelector("#view").textContent`, "Ladder cannot show this Application: torn")
	p.forget() // React tells the console
}

// TestExtensionFile holds what Argo CD's server and Helm's chart ask of the file.
func TestExtensionFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "ui-extension", "extension-ladder.js"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "{{") || !strings.HasSuffix(string(text), "})();\n") || strings.Count(string(text), "\n") > 600 {
		t.Error("the file has two adjacent braces, which a template reads, or does not end with its function, or is too long")
	}
	for _, word := range []string{"innerHTML", "dangerouslySetInnerHTML", "eval(", "import ", "export ", "createRoot", "ReactDOM"} {
		if strings.Contains(string(text), word) {
			t.Errorf("the file has %q", word)
		}
	}
}
