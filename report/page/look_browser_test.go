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

// contrasts is a script that returns elements with too little contrast for WCAG 2: text below 4.5
// to 1, and large text and lines of charts below 3 to 1.
const contrasts = `(() => {
  const numbers = (c) => c.match(/[\d.]+/g).map(Number);
  const light = (c) => numbers(c).slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const clear = (c) => c === "transparent" || numbers(c)[3] === 0;
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!clear(c)) return c; } return "rgb(255, 255, 255)"; };
  const weak = new Set();
  let seen = 0;
  const check = (what, color, ground, least) => {
    seen++;
    const r = ratio(color, ground);
    if (r < least) weak.add(what + " " + color + " on " + ground + ": " + r.toFixed(2));
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = texts.nextNode());) {
    const e = n.parentElement, s = getComputedStyle(e);
    if (!n.data.trim() || e.closest("script, title, desc") || !e.getClientRects().length) continue;
    const size = parseFloat(s.fontSize), large = size >= 24 || size >= 18.66 && s.fontWeight >= 700;
    check(e.tagName + "." + e.getAttribute("class") + " " + n.data.trim().slice(0, 30), e.closest("svg") ? s.fill : s.color, behind(e.closest("svg")?.parentElement ?? e), large ? 3 : 4.5);
  }
  for (const e of document.querySelectorAll("svg :is(.mark, rect, line, circle)")) {
    if (e.matches(".grid, .neither, .track")) continue; // these only guide the eye
    const s = getComputedStyle(e), ground = behind(e.closest("svg").parentElement);
    check(e.tagName + "." + e.getAttribute("class"), e.matches("line, .open") ? s.stroke : s.fill, ground, 3);
  }
  for (const e of document.querySelectorAll("input, select, #all")) check(e.tagName + " border", getComputedStyle(e).borderTopColor, behind(e.parentElement), 3);
  return { seen, weak: [...weak] };
})()`

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
		}](b, contrasts)
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
