package browsertest

import (
	"strings"

	"github.com/chromedp/chromedp/kb"

	"batch.example/batch/internal/chromium"
)

// Attacks try to run a script, to load something or to break out of their place.
var Attacks = []string{
	`<script>hacked=1</script>`,
	`"><img src=x onerror=hacked=2>`,
	`' onmouseover='hacked=3' x='`,
	`</title></style></textarea></script></pre></code></bdi></td></table></main><script>hacked=4</script>`,
	`<svg onload=hacked=5><desc></svg>`,
	`javascript:hacked=6`,
	`{{.Script}}{{template "top"}}<iframe srcdoc="<script>parent.hacked=7</script>">`,
	`<!-- --!><base href=http://example.com><link rel=stylesheet href=http://example.com/x.css>`,
	`&lt;img src=x onerror=hacked=8&gt;<meta http-equiv=refresh content="0;url=javascript:hacked=9">`,
	"\u202edetrever\u2066\u2028\u2029\x1b]8;;javascript:hacked=10\x1b\\link\x1b]8;;\x1b\\\x1b[31m<b>red\x1b[0m\x1b]0;title\a\x1b[?1049h",
	"\r\n\r\nevent: append\ndata: <img src=x onerror=hacked=11>\n\nevent: replace\ndata: <b>\n\n",
	"\rdata: <img src=x onerror=hacked=12>\r\r",
}

// foreign is a script that returns everything in a page that others' texts have made.
const foreign = `(() => {
  const tags = new Set("html head meta title link style script body a header footer nav p button main h1 h2 h3 section div table caption thead tbody tr th td bdi small span br strong progress form label input select option details summary fieldset legend code pre article ul ol li dl dt dd figure figcaption svg g rect line circle path text tspan desc mark textarea noscript kbd dialog time".split(" "));
  const names = new Set("lang charset name content rel href src defer class id tabindex hidden type aria-label aria-labelledby aria-hidden aria-live aria-sort role scope colspan max min value for action method checked selected open data-mark data-from data-live data-grows data-stream data-entry data-s data-sort data-v viewBox height width preserveAspectRatio x y x1 x2 y1 y2 cx cy r d dx dy overflow text-anchor title aria-current download datetime placeholder inputmode rows cols maxlength required http-equiv autocomplete spellcheck".split(" "));
  const wrong = [];
  if (window.hacked !== undefined) wrong.push("a script ran: " + window.hacked);
  if (document.scripts.length !== 1) wrong.push(document.scripts.length + " scripts");
  for (const e of document.querySelectorAll("*")) {
    if (!tags.has(e.tagName.toLowerCase())) wrong.push("an element: " + e.outerHTML.slice(0, 100));
    for (const a of e.attributes) if (!names.has(a.name)) wrong.push("an attribute " + a.name + ": " + e.outerHTML.slice(0, 200));
  }
  for (const e of document.querySelectorAll("style:not(head style), meta[http-equiv]:not([http-equiv=Content-Security-Policy]), link:not([rel=stylesheet], [rel=icon])")) wrong.push(e.outerHTML);
  for (const e of document.querySelectorAll("a[href], form[action]")) {
    const to = e.href?.baseVal ?? e.href ?? e.action;
    if (new URL(to, location).protocol !== location.protocol || new URL(to, location).host !== location.host) wrong.push("it leads to " + to);
  }
  const text = document.title + document.body.innerText;
  const bad = text.match(/[\u202a-\u202e\u2066-\u2069\u2028\u2029\u001b\u0007]/);
  if (bad) wrong.push("it contains the character " + escape(bad[0]) + " near " + escape(text.slice(Math.max(0, bad.index - 60), bad.index + 10)));
  return [...new Set(wrong)].slice(0, 8);
})()`

// Harmless fails if others' texts became a part of the page, or if it should show the first attack as
// it is and does not.
func (b *Tab) Harmless(what string, shows bool) {
	b.Helper()
	if wrong := JS[[]string](b, foreign); len(wrong) > 0 {
		b.Errorf("%s:\n  %s", what, strings.Join(wrong, "\n  "))
	}
	if shows && !strings.Contains(JS[string](b, `document.body.textContent`), "<script>hacked=1") {
		b.Errorf("%s does not show the text as it is", what)
	}
}

// accessible is a script that returns what keeps people from using a page: without a mouse, with a
// screen reader, or in a narrow window. All folds must be open.
const accessible = `(() => {
  const wrong = [];
  const name = (e) => e.tagName + "#" + e.id + "." + e.getAttribute("class") + " " + (e.textContent || "").trim().slice(0, 40);
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
  for (const e of document.querySelectorAll("[role=region], [role=img], progress, dialog, nav")) if (!e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby") && !e.querySelector("title")) wrong.push("without a label: " + name(e));
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

// Inspect looks at the page on a desk and on a phone, in light and in dark.
func (b *Tab) Inspect(what string) {
	b.Helper()
	const ground = `getComputedStyle(document.body).backgroundColor`
	_ = JS[bool](b, `document.querySelectorAll("details").forEach(d => d.open = true), true`)
	for _, width := range []int64{1280, 320} {
		b.Look(width, "screen", "light")
		if wrong := JS[[]string](b, accessible); len(wrong) > 0 {
			b.Errorf("%s, %d wide:\n  %s", what, width, strings.Join(wrong, "\n  "))
		}
		b.Contrast(what)
		light := JS[string](b, ground)
		b.Look(width, "screen", "dark")
		b.Contrast(what + " in dark")
		if dark := JS[string](b, ground); dark == light {
			b.Errorf("%s: in dark and in light the ground is %s", what, dark)
		}
	}
	b.Look(1280, "screen", "light")
}

// Contrast fails if texts, fields or charts of the page have too little contrast.
func (b *Tab) Contrast(what string) {
	b.Helper()
	got := JS[struct {
		Seen int
		Weak []string
	}](b, chromium.Contrasts)
	if got.Seen < 5 || len(got.Weak) > 0 {
		b.Errorf("%s: %d texts, with little contrast:\n  %s", what, got.Seen, strings.Join(got.Weak[:min(len(got.Weak), 8)], "\n  "))
	}
}

// Keyboard fails if the key Tab does not reach everything that can be used, or if the focus cannot be
// seen there.
func (b *Tab) Keyboard(what string) {
	b.Helper()
	n := JS[int](b, `(() => {
	  window.reached = new Set(); window.unseen = [];
	  addEventListener("focusin", (e) => {
	    window.reached.add(e.target);
	    const s = getComputedStyle(e.target);
	    if (s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 2) window.unseen.push(e.target.outerHTML.slice(0, 100));
	  });
	  window.wanted = [...document.querySelectorAll("a[href], button:enabled, input:not([type=hidden]), select, textarea, summary, [tabindex]")]
	    .filter(e => e.tabIndex >= 0 && e.getClientRects().length && !e.closest("details:not([open]) > :not(summary)") && !e.closest("dialog"));
	  return window.wanted.length;
	})()`)
	for range n + 3 {
		b.Press(kb.Tab)
	}
	missed := JS[[]string](b, `[...window.wanted.filter(e => e.isConnected && !window.reached.has(e)).map(e => "not reached: " + e.outerHTML.slice(0, 100)), ...window.unseen.map(e => "cannot be seen: " + e)]`)
	if n < 5 || len(missed) > 0 {
		b.Errorf("%s: %d elements; %s", what, n, strings.Join(missed[:min(len(missed), 5)], "\n"))
	}
}
