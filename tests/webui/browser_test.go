package webui_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a window of Chromium with a profile of its own.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu        sync.Mutex
	problems  []string       // errors that scripts and the browser reported
	responses map[string]int // the last status of each method and path
}

// open starts a browser, with more options. The test is skipped if Chromium is not installed.
func open(t *testing.T, more ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED: the pages are not tested in a browser, because chromium is not installed; make deps installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("no-first-run", true), chromedp.Flag("disable-component-update", true), chromedp.WindowSize(1400, 900))
	options = append(options, more...)
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		cancel()
		stop() // waits for the end of the process, which uses the directory
	})
	b := &browser{t: t, ctx: ctx, responses: map[string]int{}}
	methods := map[network.RequestID]string{}
	err = chromedp.Listen(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, exception(ev.ExceptionDetails))
		case *runtime.EventConsoleAPICalled:
			if ev.Type == runtime.ConsoleAPICalledTypeError || ev.Type == runtime.ConsoleAPICalledTypeAssert {
				b.problems = append(b.problems, fmt.Sprintf("console: %s", text(ev.Args)))
			}
		case *log.EventEntryAdded:
			// The status of responses is checked where it matters.
			if ev.Entry.Level == log.EntryLevelError && ev.Entry.Source != log.EntrySourceNetwork {
				b.problems = append(b.problems, fmt.Sprintf("%s: %s", ev.Entry.Source, ev.Entry.Text))
			}
		case *network.EventRequestWillBeSent:
			methods[ev.RequestID] = ev.Request.Method
		case *network.EventResponseReceived:
			_, path, _ := strings.Cut(ev.Response.URL, "://")
			_, path, _ = strings.Cut(path, "/")
			path, _, _ = strings.Cut(path, "?")
			b.responses[methods[ev.RequestID]+" /"+path] = int(ev.Response.Status)
		}
	})
	if err != nil {
		t.Fatalf("start of Chromium: %v", err)
	}
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	call(b, network.Enable, network.EnableParams{})
	return b
}

// call sends a command of the protocol.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	b.check(err)
	return result
}

// exception describes an exception of a script.
func exception(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text
}

func text(args []*runtime.RemoteObject) string {
	var parts []string
	for _, a := range args {
		parts = append(parts, string(a.Value)+a.Description)
	}
	return strings.Join(parts, " ")
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.check(chromedp.Do(b.ctx, actions...))
}

// check ends the test after an error of the browser.
func (b *browser) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("%v; the browser reported %q", err, b.reported())
	}
}

func (b *browser) reported() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.problems...)
}

// clean fails the test if a script or the browser reported an error.
func (b *browser) clean() {
	b.t.Helper()
	for _, p := range b.reported() {
		b.t.Errorf("the browser reported: %s", p)
	}
}

// status returns the status of the last response to "METHOD /path"; 0: there was none.
func (b *browser) status(request string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.responses[request]
}

func (b *browser) goTo(url string) {
	b.t.Helper()
	b.run(chromedp.Navigate(url))
}

// arrives waits until a script of the page has led the browser to a path.
func (b *browser) arrives(path string) {
	b.t.Helper()
	for deadline := time.Now().Add(*patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		// An expression fails while the browser leaves a page.
		at, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.readyState === 'complete' ? location.pathname : ''`))
		if err == nil && at == path {
			return
		}
	}
	b.t.Fatalf("the browser did not arrive at %s", path)
}

// eval returns the value of an expression.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	b.check(err)
	return v
}

// do executes statements.
func (b *browser) do(statements string) {
	b.t.Helper()
	eval[bool](b, `(() => { `+statements+`; return true; })()`)
}

// patience is how long a test waits for what must come; it is no measure.
var patience = flag.Duration("patience", 2*time.Minute, "how long tests wait for what must come")

// await waits until an expression is true.
func (b *browser) await(expression string) {
	b.t.Helper()
	late := fmt.Sprintf(`performance.now() - began > %d`, patience.Milliseconds())
	came := eval[bool](b, `new Promise((done) => { const began = performance.now(); const look = () => {
		if (`+expression+`) done(true); else if (`+late+`) done(false); else setTimeout(look, 20); }; look(); })`)
	if !came {
		page := eval[string](b, `location.href + '\n' + document.body.innerText`)
		b.t.Fatalf("the page did not become as expected: %s\n%s\nthe browser reported %q", expression, page, b.reported())
	}
}

// find is an expression for the visible element with a role's selector and a text or a name.
func find(selector, name string) string {
	quoted, _ := json.Marshal(name)
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.checkVisibility() && ((e.getAttribute('aria-label') ?? '') + '\n' + e.textContent).includes(%s))`, selector, quoted)
}

// pictures is where to write what the views look like.
var pictures = flag.String("pictures", "", "directory for pictures of the views")

// lowContrast is an expression for the texts whose contrast with their background is less than
// 4.5 (WCAG 2, level AA). Controls that are disabled are exempt.
const lowContrast = `(() => {
	const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
	const rgba = (css) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = css; canvas.fillRect(0, 0, 1, 1); return canvas.getImageData(0, 0, 1, 1).data; };
	const behind = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
	const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, k, i) => { const v = c[i] / 255; return sum + k * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); }, 0);
	return [...document.querySelectorAll('body *:not(script, style, noscript, title)')].filter((e) => {
		if (![...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim()) || !e.checkVisibility() || e.closest(':disabled, svg')) return false;
		const a = light(rgba(getComputedStyle(e).color)), b = light(behind(e));
		return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
	}).map((e) => e.className + ': ' + e.textContent.slice(0, 40)).slice(0, 5).join('; ');
})()`

// picture checks that the view fits the window in its width, that all of its text differs
// enough from its background, and writes a picture if that is asked for.
func (b *browser) picture(name string) {
	b.t.Helper()
	if wide := eval[int](b, "document.documentElement.scrollWidth - window.innerWidth"); wide > 0 {
		b.t.Errorf("%s: %d pixels wider than the window", name, wide)
	}
	const unreadable = `[...document.querySelectorAll('main *')].filter((e) => {
		const text = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim()), style = getComputedStyle(e);
		return text && e.checkVisibility() && (style.color === style.backgroundColor || e.getBoundingClientRect().width === 0);
	}).map((e) => e.textContent).join('; ')`
	if text := eval[string](b, unreadable); text != "" {
		b.t.Errorf("%s: unreadable: %s", name, text)
	}
	if text := eval[string](b, lowContrast); text != "" {
		b.t.Errorf("%s: the contrast is low: %s", name, text)
	}
	if *pictures == "" {
		return
	}
	image, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	b.check(err)
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), image, 0o600); err != nil {
		b.t.Error(err)
	}
}

// sees waits until the page shows an element with a text or a name.
func (b *browser) sees(selector, name string) {
	b.t.Helper()
	b.await(find(selector, name))
}

// click waits for an element that is not disabled, and clicks it.
func (b *browser) click(selector, name string) {
	b.t.Helper()
	e := find(selector, name)
	b.await(e + " && !" + e + ".disabled")
	b.do(e + `.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }))`)
}

// keys presses keys where the focus is.
func (b *browser) keys(text string) {
	b.t.Helper()
	b.run(chromedp.KeyEvent(text))
}

// slash presses the key that moves the focus to the search. Unlike keys, the key inserts
// its character only if the page does not use it.
func (b *browser) slash() {
	b.t.Helper()
	key := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "/", Code: "Slash", Text: "/"}
	call(b, input.DispatchKeyEvent, key)
	key.Type, key.Text = input.DispatchKeyEventTypeKeyUp, ""
	call(b, input.DispatchKeyEvent, key)
	b.await("document.activeElement.type === 'search'")
}

// named checks that every control of the page has a name for screen readers.
func (b *browser) named(where string) {
	b.t.Helper()
	nodes := call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes
	controls := 0
	for _, n := range nodes {
		role := value(n.Role)
		switch role {
		case "button", "link", "textbox", "searchbox", "checkbox", "combobox", "navigation", "complementary", "table", "timer", "progressbar", "image", "dialog":
		default:
			continue
		}
		if n.Ignored || role == "timer" {
			continue
		}
		controls++
		if strings.TrimSpace(value(n.Name)) == "" {
			b.t.Errorf("%s: a %s has no name", where, role)
		}
	}
	if controls < 8 {
		b.t.Errorf("%s: only %d controls were found", where, controls)
	}
}

func value(v *accessibility.Value) (s string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &s) // not a string: empty
	}
	return s
}

// prefer sets the colour scheme of the operating system.
func (b *browser) prefer(scheme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// logIn answers the question of the browser for a user and a password.
func (b *browser) logIn(user, password string) {
	b.t.Helper()
	answer := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: user, Password: password}
	asked, paused := chromedp.Events(b.ctx, fetch.AuthRequired), chromedp.Events(b.ctx, fetch.RequestPaused)
	go func() { // the ends of the loops are that of the browser
		for ev, err := range asked {
			if err == nil {
				_, _ = chromedp.Call(b.ctx, fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{RequestID: ev.RequestID, AuthChallengeResponse: answer})
			}
		}
	}()
	go func() {
		for ev, err := range paused {
			if err == nil {
				_, _ = chromedp.Call(b.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
			}
		}
	}()
	yes := true
	call(b, fetch.Enable, fetch.EnableParams{HandleAuthRequests: &yes})
}
