// Package browsertest opens pages in a headless chromium as people do: it types, clicks, and checks
// what holds for all pages of batch, whatever their texts are.
package browsertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"batch.example/batch/internal/chromium"
)

// patience is the time limit of a step, also on a busy machine.
const patience = 5 * time.Minute

// Tab is a tab of the browser. It records what its pages do.
type Tab struct {
	testing.TB
	Base    string // the beginning of all addresses that pages may ask for
	MayFail bool   // whether an answer may be an error

	ctx      context.Context
	mu       sync.Mutex
	requests []string
	problems []string
}

// Run starts a browser that can reach some addresses, and runs each test in a tab of its own. The
// pages of a test ask only for what begins with the tab's Base, every request succeeds, and nothing
// is written to the console.
func Run(t *testing.T, tests map[string]func(*testing.T, *Tab), reach ...string) {
	t.Helper()
	if chromium.Path() == "" {
		t.Skip("no chromium: scripts/ensure-extras installs it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	t.Cleanup(cancel)
	first, stop, err := chromium.Open(ctx, reach...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stopping the browser: %v", err)
		}
	})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, closeTab := chromedp.NewContext(first)
			defer closeTab()
			b := &Tab{TB: t, ctx: ctx}
			if err := chromedp.Listen(ctx, b.record); err != nil {
				t.Fatal(err)
			}
			Call(b, network.Enable, network.EnableParams{})
			b.Look(1280, "screen", "light")
			test(t, b)
			b.Quiet()
		})
	}
}

func (b *Tab) record(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	note := func(format string, args ...any) { b.problems = append(b.problems, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *network.EventWebSocketCreated:
		b.requests = append(b.requests, e.URL)
	case *network.EventLoadingFailed:
		if !e.Canceled && e.ErrorText != "net::ERR_ABORTED" { // a stream ends with its page
			note("a request failed: %s %s", e.ErrorText, e.BlockedReason)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 && !b.MayFail {
			note("%s: status %d", e.Response.URL, e.Response.Status)
		}
	case *runtime.EventConsoleAPICalled:
		note("console: %v", e.Type)
	case *runtime.EventExceptionThrown:
		note("exception: %s", e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if !b.MayFail || !strings.Contains(e.Entry.Text, "status of 4") {
			note("in the console: %s", e.Entry.Text)
		}
	}
}

// Quiet fails if a page asked for something else, or had a problem, since the last call.
func (b *Tab) Quiet() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, address := range b.requests {
		if b.Base == "" || !strings.HasPrefix(address, b.Base) {
			b.Errorf("the page requests %s", address)
		}
	}
	if len(b.requests) == 0 {
		b.Error("no request was seen, not even the one for the page")
	}
	for _, p := range b.problems {
		b.Error(p)
	}
	b.requests, b.problems = nil, nil
}

// Do takes steps in the tab.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// Call gives the browser a command of its protocol.
func Call[P, R any](b *Tab, command cdp.Command[P, R], params P) {
	b.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.Fatal(err)
	}
}

// Open shows a page.
func (b *Tab) Open(address string) { b.Helper(); b.Do(chromedp.Navigate(address)) }

// Look sets the width, the medium ("screen" or "print") and the color scheme ("light" or "dark").
func (b *Tab) Look(width int64, medium, scheme string) {
	b.Helper()
	if err := chromium.Look(b.ctx, width, 900, 1, medium, scheme); err != nil {
		b.Fatal(err)
	}
}

// WithoutScripts keeps the tab from running scripts of pages.
func (b *Tab) WithoutScripts() {
	b.Helper()
	Call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// JS returns the value of a JavaScript expression.
func JS[T any](b *Tab, expression string) T {
	b.Helper()
	return Ask(b, expression, chromedp.Evaluate[T](expression))
}

// Ask asks a page, or the next one if the page is left meanwhile.
func Ask[T any](b *Tab, what string, action chromedp.Action[T]) T {
	b.Helper()
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
		b.Fatalf("%s: %v", what, err)
	}
}

// Press types keys.
func (b *Tab) Press(keys string) { b.Helper(); b.Do(chromedp.KeyEvent(keys)) }

// Click follows a link, or presses a button or a fold, as soon as it is there.
func (b *Tab) Click(css string) {
	b.Helper()
	b.Wait(css)
	JS[bool](b, fmt.Sprintf(`(e => { e.focus(); e.click(); return true })(document.querySelector(%q))`, css))
}

// Wait waits until an element is there. It asks the page that is shown at each time: a node of a
// page that is left meanwhile cannot be found again.
func (b *Tab) Wait(css string) {
	b.Helper()
	for end := time.Now().Add(patience); !JS[bool](b, fmt.Sprintf(`document.readyState !== "loading" && document.querySelector(%q) !== null`, css)); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("there is no %s", css)
		}
	}
}

// Until waits until a JavaScript expression is true.
func (b *Tab) Until(expression string) {
	b.Helper()
	Ask(b, expression, chromedp.Poll[bool](expression))
}
