// Package browser opens the pages that cmp graph -o html writes in a real Chromium.
//
// It needs the programs chromium and npm (Debian's names); npm brings the checks
// of accessibility (axe-core) and of the page's program (eslint).
package browser

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "make the pictures of the documentation anew")

// program is cmp, and browser the context of one Chromium for all tests.
var (
	program string
	browser context.Context
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "browser-test-")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir)
	program, installed = filepath.Join(dir, "cmp"), filepath.Join(dir, "npm")
	build := exec.Command("go", "build", "-o", program, "./cmd/cmp")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return failed(fmt.Errorf("%w: %s", err, out))
	}
	// As root, which CI is, Chromium has no sandbox.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("font-render-hinting", "none"))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	var end context.CancelFunc
	browser, end = chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Run(browser); err != nil {
		return failed(err)
	}
	return m.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// root is where the repository is.
const root = "../.."

// made writes the page of a component or a fleet, which is named relative to the
// repository.
func made(t testing.TB, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	cmd := exec.Command(program, append([]string{"graph", "-o", "html"}, args...)...)
	cmd.Dir = root
	page, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, page, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// tab is a page that is open in the browser.
type tab struct {
	testing.TB
	ctx  context.Context
	stop context.CancelCauseFunc
	file string
	mu   sync.Mutex
	// logged is what the page wrote to its console, and requested what it requested
	// besides itself.
	logged, requested []string
}

// screen is how a page is looked at.
type screen struct {
	width, height int64
	scheme        string // light or dark
	reduced       bool   // prefers-reduced-motion
	print         bool
}

var desktop = screen{width: 1280, height: 860, scheme: "light"}
var phone = screen{width: 360, height: 740, scheme: "light"}

// open opens a place of a page, which must neither complain nor ask for anything
// as long as the test goes on.
func open(t testing.TB, file, place string, s screen) *tab {
	t.Helper()
	ctx, stop := chromedp.NewContext(browser)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	ctx, end := context.WithCancelCause(ctx)
	p := &tab{TB: t, ctx: ctx, stop: end, file: file}
	chromedp.ListenTarget(ctx, p.listen)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.logged) > 0 {
			t.Errorf("the page says: %s", strings.Join(p.logged, "\n"))
		}
		if len(p.requested) > 0 {
			t.Errorf("the page asks for %s", strings.Join(p.requested, ", "))
		}
		end(nil)
		cancel()
		stop()
	})
	p.run(page.BringToFront(), network.Enable(), log.Enable(), emulation.SetFocusEmulationEnabled(true), s.media(),
		emulation.SetDeviceMetricsOverride(s.width, s.height, 1, s.width < 500))
	p.visit(place)
	return p
}

// media is what a page is told of the screen besides its size.
func (s screen) media() chromedp.Action {
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}
	if s.reduced {
		features = append(features, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
	}
	media := emulation.SetEmulatedMedia().WithFeatures(features)
	if s.print {
		media = media.WithMedia("print")
	}
	return media
}

// listen notes what a page must not do.
func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *inspector.EventTargetCrashed:
		p.stop(errors.New("the tab of Chromium crashed"))
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			p.logged = append(p.logged, string(arg.Value)+arg.Description)
		}
	case *runtime.EventExceptionThrown:
		p.logged = append(p.logged, e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		p.logged = append(p.logged, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if url := e.Request.URL; !strings.HasPrefix(url, p.address()) && !strings.HasPrefix(url, "data:image/svg+xml,") {
			p.requested = append(p.requested, url)
		}
	}
}

func (p *tab) run(actions ...chromedp.Action) {
	p.Helper()
	switch err := chromedp.Run(p.ctx, actions...); {
	case err == nil:
	case p.ctx.Err() != nil:
		p.Fatalf("Chromium stopped answering: %v", context.Cause(p.ctx))
	default:
		p.Fatal(err)
	}
}

// visit goes to a place of the page as from a link in a message: the page is
// loaded anew.
func (p *tab) visit(place string) {
	p.Helper()
	p.run(chromedp.Navigate("about:blank"), chromedp.Navigate(p.address()+place))
	p.settle()
}

// address is where the page is: that of its file, or of the server that serves it.
func (p *tab) address() string {
	if strings.HasPrefix(p.file, "http://") {
		return p.file
	}
	return "file://" + p.file
}

// awaitDrawing is a function that waits until the page is drawn, at most a quarter of a
// second: on a busy machine Chromium may stop drawing a page until something else
// happens to it.
const awaitDrawing = `const drawn = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 250); });`

// settle waits until the page has drawn what was asked of it.
func (p *tab) settle() {
	p.Helper()
	p.run(chromedp.Evaluate(`(async () => {
  `+awaitDrawing+`
  await new Promise((done) => setTimeout(done, 150));
  await drawn();
  await drawn();
})()`, nil, awaited))
}

func awaited(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }

// eval computes an expression in the page.
func eval[T any](p *tab, expression string) T {
	p.Helper()
	var value T
	p.run(chromedp.Evaluate(expression, &value, awaited))
	return value
}

// press presses keys, one after the other.
func (p *tab) press(keys ...string) {
	p.Helper()
	for _, key := range keys {
		if len(key) > 1 || key < " " { // a key without a character
			p.run(chromedp.KeyEvent(key))
			continue
		}
		// The browser types the character, unless the page takes the key for itself.
		p.run(input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithText(key), input.DispatchKeyEvent(input.KeyUp).WithKey(key))
	}
	p.settle()
}

// is compares an expression in the page with what it should be.
func is[T comparable](p *tab, expression string, want T) {
	p.Helper()
	if got := eval[T](p, expression); got != want {
		p.Errorf("%s is %v, want %v", expression, got, want)
	}
}
