package view_test

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"batch.example/batch/control"
	"batch.example/batch/internal/chromium"
	"batch.example/batch/internal/tier"
	"batch.example/batch/view"
)

// patience is the time limit of a step, also on a busy machine.
const patience = time.Minute

// TestInABrowser looks at pages as people do. In every test, a page asks only its own server, every
// request succeeds, and nothing is written to the console.
func TestInABrowser(t *testing.T) {
	tier.Rest(t, "view", "internal/chromium")
	if chromium.Path() == "" {
		t.Skip("no chromium: scripts/ensure-extras installs it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
	t.Cleanup(cancel)
	first, stop, err := chromium.Open(ctx, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stopping the browser: %v", err)
		}
	})
	for name, test := range map[string]func(*testing.T, *tab){
		"every page": everyPage, "the exported folder": exportedFolder, "keys": keys, "the keyboard": keyboard,
		"without scripts": withoutScripts, "live": live, "searching": searching, "hostile text": hostileText,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, closeTab := chromedp.NewContext(first)
			defer closeTab()
			b := &tab{ctx: ctx, t: t}
			b.listen()
			test(t, b)
			b.quiet()
		})
	}
}

// tab is a tab of the browser, and records what its pages do.
type tab struct {
	ctx  context.Context
	t    *testing.T
	base string // of the addresses that may be asked
	fail bool   // an answer may be an error

	mu       sync.Mutex
	requests []string
	problems []string
}

func (b *tab) listen() {
	b.t.Helper()
	err := chromedp.Listen(b.ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		note := func(format string, args ...any) { b.problems = append(b.problems, fmt.Sprintf(format, args...)) }
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, e.Request.URL)
		case *network.EventLoadingFailed:
			if !e.Canceled && e.ErrorText != "net::ERR_ABORTED" { // a stream ends with its page
				note("a request failed: %s %s", e.ErrorText, e.BlockedReason)
			}
		case *network.EventResponseReceived:
			if e.Response.Status >= 400 && !b.fail {
				note("%s: status %d", e.Response.URL, e.Response.Status)
			}
		case *network.EventWebSocketCreated:
			b.requests = append(b.requests, e.URL)
		case *runtime.EventConsoleAPICalled:
			note("console: %v", e.Type)
		case *runtime.EventExceptionThrown:
			note("exception: %s", e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if !b.fail || !strings.Contains(e.Entry.Text, "status of 4") {
				note("in the console: %s", e.Entry.Text)
			}
		}
	})
	if err == nil {
		_, err = chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// quiet fails if a page asked another server, or had a problem.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, address := range b.requests {
		if !strings.HasPrefix(address, b.base) {
			b.t.Errorf("the page requests %s", address)
		}
	}
	if len(b.requests) == 0 {
		b.t.Error("no request was seen, not even the one for the page")
	}
	for _, p := range b.problems {
		b.t.Error(p)
	}
	b.requests, b.problems = nil, nil
}

// enter opens the link of a server.
func (b *tab) enter(s *site) {
	b.t.Helper()
	b.base = "http://" + s.config.Hosts[0] + "/"
	b.look(1280, "light")
	b.open("/?token=" + token)
	if at := js[string](b, "location.href"); at != b.base {
		b.t.Fatalf("the link leads to %s", at)
	}
}

// open shows a page of the server.
func (b *tab) open(address string) {
	b.t.Helper()
	b.do(chromedp.Navigate(strings.TrimSuffix(b.base, "/") + address))
}

func (b *tab) look(width int64, scheme string) {
	b.t.Helper()
	if err := chromium.Look(b.ctx, width, 900, 1, "screen", scheme); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// js returns the value of a JavaScript expression.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	return ask(b, expression, chromedp.Evaluate[T](expression))
}

// ask asks a page, or the next one if the page is left meanwhile.
func ask[T any](b *tab, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		v, err := chromedp.Run(ctx, action)
		switch {
		case err == nil:
			return v
		case ctx.Err() == nil && (strings.Contains(err.Error(), "context with specified id") || strings.Contains(err.Error(), "navigated or closed")):
			continue
		}
		b.t.Fatalf("%s: %v", what, err)
	}
}

func (b *tab) press(keys string) { b.t.Helper(); b.do(chromedp.KeyEvent(keys)) }

// wait waits until an element is there. It asks the page that is shown at each time: a node of a
// page that is left meanwhile cannot be found again.
func (b *tab) wait(css string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for !js[bool](b, fmt.Sprintf(`document.readyState !== "loading" && document.querySelector(%q) !== null`, css)) {
		select {
		case <-ctx.Done():
			b.t.Fatalf("%s: %v", css, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// until waits until a JavaScript expression is true.
func (b *tab) until(expression string) {
	b.t.Helper()
	ask(b, expression, chromedp.Poll[bool](expression))
}

// accessible is a script that returns what keeps people from using a page: without a mouse, with a
// screen reader, or in a narrow window. All folds must be open.
const accessible = `(() => {
  const wrong = [];
  const name = (e) => e.tagName + "#" + e.id + "." + e.className + " " + (e.textContent || "").trim().slice(0, 40);
  const all = (css) => [...document.querySelectorAll(css)].filter(e => e.getClientRects().length);
  if (document.documentElement.scrollWidth > innerWidth) {
    const wide = all("main *").filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, pre, .fold, svg"));
    wrong.push("it is " + document.documentElement.scrollWidth + " wide: " + wide.slice(0, 3).map(name).join("; "));
  }
  if (document.documentElement.lang !== "en") wrong.push("no language");
  if (all("main").length !== 1 || all("header").length < 1 || all("nav").length < 1) wrong.push("landmarks");
  if (!document.title.trim()) wrong.push("no title");
  const heads = all("h1, h2, h3, h4, h5, h6").map(h => +h.tagName[1]);
  if (heads.filter(n => n === 1).length !== 1) wrong.push("heads of level 1: " + heads.filter(n => n === 1).length);
  heads.forEach((n, i) => { if (i > 0 && n > heads[i - 1] + 1) wrong.push("a head of level " + n + " after one of level " + heads[i - 1]); });
  for (const h of all("h1, h2, h3")) if (!h.textContent.trim()) wrong.push("an empty head");
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a[href], summary")) {
    const label = e.ariaLabel || [...(e.labels || [])].map(l => l.innerText).join("") || e.textContent || (e.tagName.toLowerCase() === "a" && e.querySelector("title")?.textContent) || "";
    if (!label.trim()) wrong.push("without a name: " + e.outerHTML.slice(0, 120));
  }
  for (const e of document.querySelectorAll("section:not([aria-labelledby]):not([aria-label])")) if (!e.querySelector("h2, h3")) wrong.push("a section without a head: " + name(e));
  for (const e of document.querySelectorAll("[aria-labelledby]")) if (!document.getElementById(e.getAttribute("aria-labelledby"))) wrong.push("no label: " + name(e));
  for (const e of document.querySelectorAll("[role=region], [role=img], progress, dialog, nav")) if (!e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby")) wrong.push("without a label: " + name(e));
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
  for (const id of ids.filter((id, i) => ids.indexOf(id) !== i)) wrong.push("the id " + id + " is there twice");
  for (const e of all("*")) {
    const s = getComputedStyle(e);
    if (!/auto|scroll/.test(s.overflowX + s.overflowY) || e === document.documentElement || e === document.body) continue;
    if ((e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1) && e.tabIndex < 0) wrong.push("cannot be scrolled with the keyboard: " + name(e));
  }
  for (const t of all("table")) if (!t.closest(".scroll")) wrong.push("a table does not scroll in its own region");
  for (const th of all("th")) if (!th.scope) wrong.push("a head of a table without a scope: " + name(th));
  if (all("[style], [onclick]").length) wrong.push("a style or a handler in an element");
  return [...new Set(wrong)].slice(0, 12);
})()`

// inspect looks at the page on two screens, in light and in dark.
func (b *tab) inspect(what string) {
	b.t.Helper()
	_ = js[bool](b, `document.querySelectorAll("details").forEach(d => d.open = true), true`)
	for _, width := range []int64{1280, 400} {
		for _, scheme := range []string{"light", "dark"} {
			b.look(width, scheme)
			if wrong := js[[]string](b, accessible); len(wrong) > 0 && scheme == "light" {
				b.t.Errorf("%s, %d wide:\n  %s", what, width, strings.Join(wrong, "\n  "))
			}
			got := js[struct {
				Seen int
				Weak []string
			}](b, chromium.Contrasts)
			if got.Seen < 5 || len(got.Weak) > 0 {
				b.t.Errorf("%s, %d wide, %s: %d texts, with little contrast:\n  %s", what, width, scheme, got.Seen, strings.Join(got.Weak[:min(len(got.Weak), 8)], "\n  "))
			}
		}
	}
	b.look(1280, "light")
}

// pagesSite serves a run with forms whose process works, and a run that has ended.
func pagesSite(t testing.TB, steps int) *site {
	dir := t.TempDir()
	writeRun(t, filepath.Join(dir, "a"), instances, steps, usual) // its process is there until the end of the test
	steered(t, filepath.Join(dir, "a"), usual)
	must(t, writeRun(t, filepath.Join(dir, "b"), instances, 12, usual).Close())
	return serve(t, dir, usual, func(c *view.Config) {
		c.Control = func(verb control.Verb, args []string) ([]control.Command, error) {
			return []control.Command{{ID: control.NewID(), Verb: verb}}, nil
		}
	})
}

func everyPage(t *testing.T, b *tab) {
	s := pagesSite(t, 130)
	b.enter(s)
	for _, address := range pagesOf(filepath.Join(s.dir, "a"), instances) {
		b.open(address)
		b.inspect(address)
	}
	b.quiet()
	b.fail = true
	b.open("/run/none/x")
	b.inspect("a failure")
}

// exportedFolder opens all kinds of pages from a disk, and follows their links.
func exportedFolder(t *testing.T, b *tab) {
	s := usualSite(t, 60)
	out := filepath.Join(t.TempDir(), "out #1")
	must(t, s.Export(t.Context(), out, nil))
	b.base = (&url.URL{Scheme: "file", Path: out}).String() + "/"
	queue, seen := []string{b.base + "index.html"}, map[string]bool{}
	kinds := map[string]int{}
	for len(queue) > 0 {
		address := queue[0]
		queue = queue[1:]
		kind := kindOf(address)
		if seen[address] || kinds[kind] > 2 {
			continue
		}
		seen[address] = true
		kinds[kind]++
		b.do(chromedp.Navigate(address))
		b.inspect(strings.TrimPrefix(address, b.base))
		for _, link := range js[[]string](b, `[...document.querySelectorAll("a[href]")].map(a => a.href?.baseVal ? new URL(a.href.baseVal, location).href : a.href)`) {
			u, err := url.Parse(link)
			must(t, err)
			u.Fragment = ""
			if !strings.HasPrefix(u.String(), b.base) {
				t.Errorf("%s leads out of the folder, to %s", address, link)
			} else if strings.HasSuffix(u.Path, ".html") {
				queue = append(queue, u.String())
			}
		}
	}
	if len(kinds) < 5 {
		t.Errorf("only these kinds of pages were reached: %v", kinds)
	}
}

// kindOf says what an exported page is about.
func kindOf(address string) string {
	name := strings.TrimSuffix(address, ".html")
	for _, kind := range []string{"patch", "tests", "audit"} {
		if strings.HasSuffix(name, "."+kind) {
			return kind
		}
	}
	for _, kind := range []string{"instance", "run"} {
		if strings.Contains(name, "/"+kind+"/") {
			return kind
		}
	}
	return "index"
}
