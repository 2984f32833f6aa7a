package page_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"batch.example/batch/internal/chromium"
	"batch.example/batch/internal/tier"
	"batch.example/batch/report/page"
)

// patience is the time limit of a step, also on a busy machine.
const patience = 5 * time.Minute

// TestInABrowser looks at pages as people do. In every test, the page makes no request and writes
// nothing to the console.
func TestInABrowser(t *testing.T) {
	tier.Rest(t, "report/page", "internal/chromium")
	if chromium.Path() == "" {
		t.Skip("no chromium: scripts/ensure-extras installs it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	t.Cleanup(cancel)
	first, stop, err := chromium.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stopping the browser: %v", err)
		}
	})
	for name, test := range map[string]func(*testing.T, *tab){
		"sorting": sorting, "filtering": filtering, "the keyboard": keyboard, "several attempts": severalAttempts,
		"contrast": contrast, "widths": widths, "paper": paper, "without scripts": withoutScripts,
		"hostile text": hostileText, "links": links,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, closeTab := chromedp.NewContext(first)
			defer closeTab()
			b := &tab{ctx: ctx, t: t, dir: t.TempDir()}
			b.listen()
			test(t, b)
			b.quiet()
		})
	}
}

// tab is a tab of the browser, and records the actions of its page.
type tab struct {
	ctx context.Context
	t   *testing.T
	dir string

	mu       sync.Mutex
	requests []string
	messages []string
}

func (b *tab) listen() {
	b.t.Helper()
	err := chromedp.Listen(b.ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, e.Request.URL)
		case *network.EventWebSocketCreated:
			b.requests = append(b.requests, e.URL)
		case *runtime.EventConsoleAPICalled:
			b.messages = append(b.messages, fmt.Sprint(e.Type))
		case *runtime.EventExceptionThrown:
			b.messages = append(b.messages, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			b.messages = append(b.messages, e.Entry.Text)
		}
	})
	if err == nil {
		_, err = chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// quiet fails if the page made a request, except for its own file, or wrote a message.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.requests {
		if !strings.HasPrefix(url, "file:///") || !strings.HasSuffix(url, "/report.html") {
			b.t.Errorf("the page requests %s", url)
		}
	}
	if len(b.requests) == 0 {
		b.t.Error("no request was seen, not even that for the page")
	}
	for _, m := range b.messages {
		b.t.Errorf("in the console: %s", m)
	}
}

// open shows the page of d on a screen.
func (b *tab) open(d page.Data, width, height int64, scheme string) {
	b.t.Helper()
	b.show(written(b.t, d), width, height, scheme)
}

// show shows a page that was written once for all screens.
func (b *tab) show(text string, width, height int64, scheme string) {
	b.t.Helper()
	file := filepath.Join(b.dir, "report.html")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := chromium.Look(b.ctx, width, height, 1, "screen", scheme); err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.Navigate("file://" + file))
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
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// column returns a column's cells in the visible rows.
func (b *tab) column(n int) []string {
	b.t.Helper()
	return js[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("#table tbody tr")].filter(r => r.offsetParent).map(r => r.cells[%d].innerText.trim())`, n))
}

func (b *tab) click(css string) { b.t.Helper(); b.do(chromedp.Click(chromedp.CSS(css))) }

func (b *tab) press(keys string) { b.t.Helper(); b.do(chromedp.KeyEvent(keys)) }

// pick moves a select down by a number of choices, with the keyboard.
func (b *tab) pick(css string, down int) {
	b.t.Helper()
	b.do(chromedp.Focus(chromedp.CSS(css)))
	for range down {
		b.press(kb.ArrowDown)
	}
}
