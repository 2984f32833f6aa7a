package page_test

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"batch.example/batch/internal/chromium"
	"batch.example/batch/report/page"
)

func contrast(t *testing.T, b *tab) {
	text := written(t, invented(40, 8, 1))
	for _, look := range []struct{ medium, scheme string }{{"screen", "light"}, {"screen", "dark"}, {"print", "dark"}} {
		b.show(text, 1280, 900, look.scheme)
		if err := chromium.Look(b.ctx, 1280, 900, 1, look.medium, look.scheme); err != nil {
			t.Fatal(err)
		}
		_ = js[bool](b, `document.querySelectorAll("details").forEach(d => d.open = true), true`)
		got := js[struct {
			Seen int
			Weak []string
		}](b, chromium.Contrasts)
		if got.Seen < 500 || len(got.Weak) > 0 {
			t.Errorf("%v: %d looked at, too weak:\n%s", look, got.Seen, strings.Join(got.Weak, "\n"))
		}
		ground := js[string](b, `getComputedStyle(document.body).backgroundColor`)
		wantDark := look.medium == "screen" && look.scheme == "dark"
		if (ground == "rgb(20, 23, 26)") != wantDark {
			t.Errorf("%v: the ground is %s", look, ground)
		}
	}
}

// widths looks for a page that is wider than its window, on a phone and on a desk.
func widths(t *testing.T, b *tab) {
	long := invented(30, 3, 1)
	long.Entries[0].Name = strings.Repeat("averylongname", 20)
	long.Entries[1].Name = strings.Repeat("a very long name ", 20)
	for name, d := range map[string]page.Data{"usual": invented(60, 4, 1), "long": long, "hostile": hostileData()} {
		text := written(t, d)
		for _, width := range []int64{320, 375, 1280} {
			b.show(text, width, 900, "light")
			_ = js[bool](b, `document.querySelectorAll("details").forEach(d => d.open = true), true`)
			if got := js[int64](b, `document.documentElement.scrollWidth`); got > width {
				wide := js[[]string](b, `[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll *") && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + "." + e.getAttribute("class")).slice(0, 8)`)
				t.Errorf("%s at %d pixels is %d wide: %q", name, width, got, wide)
			}
		}
	}
}

// paper prints a page: without controls, with all rows, and with closed lists opened.
func paper(t *testing.T, b *tab) {
	b.open(invented(100, 4, 1), 1280, 900, "dark")
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(), chromedp.PDFPrintBackground()))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(pdf), "%PDF-") || strings.Count(string(pdf), "/Type /Page\n") < 3 {
		t.Errorf("a PDF of %d bytes and %d pages", len(pdf), strings.Count(string(pdf), "/Type /Page\n"))
	}
	if dir := os.Getenv("BATCH_PAPER"); dir != "" {
		_ = os.WriteFile(dir, pdf, 0o600)
	}
	if js[bool](b, `document.querySelector("details").open`) {
		t.Error("a list that was closed stays open after printing")
	}
	if err := chromium.Look(b.ctx, 1010, 700, 1, "print", "dark"); err != nil {
		t.Fatal(err)
	}
	_ = js[bool](b, `dispatchEvent(new Event("beforeprint")), true`)
	got := js[struct {
		Controls, Nav, Cut, Closed, Beyond int
	}](b, `({
	  Controls: document.getElementById("controls").getClientRects().length,
	  Nav: document.querySelector("nav").getClientRects().length,
	  Cut: [...document.querySelectorAll(".scroll")].filter(e => getComputedStyle(e).overflowX !== "visible" || e.clientHeight < e.scrollHeight - 1).length,
	  Beyond: Math.max(0, document.getElementById("table").getBoundingClientRect().right - innerWidth), // landscape A4
	  Closed: document.querySelectorAll("details:not([open])").length,
	})`)
	if got.Controls+got.Nav+got.Cut+got.Closed+got.Beyond > 0 {
		t.Errorf("on paper are %+v", got)
	}
}

func withoutScripts(t *testing.T, b *tab) {
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.open(invented(60, 2, 1), 1280, 900, "light")
	got := js[struct {
		Rows, Buttons, Controls, Charts int
	}](b, `({
	  Rows: [...document.querySelectorAll("#table tbody tr")].filter(r => r.offsetParent && r.innerText.trim()).length,
	  Buttons: document.querySelectorAll("th button").length,
	  Controls: document.getElementById("controls").getClientRects().length,
	  Charts: [...document.querySelectorAll("svg[role=img]")].filter(e => e.getBoundingClientRect().height > 9 && e.querySelector("title").textContent).length,
	})`)
	if got.Rows != 60 || got.Buttons != 0 || got.Controls != 0 || got.Charts < 20 {
		t.Errorf("without scripts there are %+v", got)
	}
}
