package view_test

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"batch.example/batch/internal/sample"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
)

// attacks try to run a script, to load something or to break out of their place.
var attacks = []string{
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

// hostile has all attacks in each text; the ones that cannot have lines have them in one.
func hostile(place string) string {
	all := place + " " + strings.Join(attacks, "\n")
	switch place {
	case "status":
		return attacks[0] + attacks[1] + "\u202e"
	case "file name", "gold file name", "test", "model", "repo", "who", "tool", "engine":
		line := strings.NewReplacer("\n", " ", "\r", " ").Replace(all)
		return strings.ToValidUTF8(line[:min(len(line), 190)], "")
	case "canceled", "worker":
		return attacks[0] + attacks[1] + attacks[9]
	}
	return all
}

// hostileIDs are ids of instances, as far as ids allow.
var hostileIDs = []string{
	`<script>hacked=1<script>`, `"><img src=x onerror=hacked=2>`, `' onmouseover='hacked=3' x='`, `javascript:hacked=6`, "\u202edetrever\u2028\x1b[31m<b>\r", `{{.}}?a=b&c#d%2f..%20`,
}

// hostileSite serves a sweep with attacks in all places where others write.
func hostileSite(t *testing.T) (s *site, run string, running *recorder) {
	t.Helper()
	sweep := filepath.Join(t.TempDir(), `"><img src=x onerror=hacked=2>`)
	run = filepath.Join(sweep, `<svg onload=hacked=5>`)
	store := writeRun(t, run, hostileIDs, 14, hostile)
	x := sweeps.Index{Batch: attacks[0], Cells: []sweeps.Cell{{Folder: filepath.Base(run), Entry: attacks[0] + attacks[1], Attempt: 1, Model: attacks[1]}}}
	must(t, x.Write(sweep))
	steered(t, sweep, hostile)
	a, err := store.Begin(hostileIDs[5], manifest.Settings{})
	must(t, err)
	running = &recorder{t: t, a: a, text: hostile}
	running.begin()
	running.work(1)
	must(t, a.Journal().Flush())
	return serve(t, filepath.Dir(sweep), hostile, nil), run, running
}

// foreign is a script that returns everything in a page that others' texts have made.
const foreign = `(() => {
  const tags = new Set("html head meta title link script body a header nav p button main h1 h2 h3 section div table thead tbody tr th td bdi small span br strong progress form label input select option details summary fieldset legend code pre article ul ol li dl dt dd figure figcaption svg rect mark textarea noscript kbd dialog time".split(" "));
  const names = new Set("lang charset name content rel href src defer class id tabindex hidden type aria-label aria-labelledby role scope colspan max min value for action method checked selected open data-mark data-from data-live data-grows data-stream viewBox height width preserveAspectRatio x y title aria-current download datetime placeholder inputmode rows cols maxlength required http-equiv".split(" "));
  const wrong = [];
  if (window.hacked !== undefined) wrong.push("a script ran: " + window.hacked);
  if (document.scripts.length !== 1) wrong.push(document.scripts.length + " scripts");
  for (const e of document.querySelectorAll("*")) {
    if (!tags.has(e.tagName.toLowerCase())) wrong.push("an element: " + e.outerHTML.slice(0, 100));
    for (const a of e.attributes) if (!names.has(a.name)) wrong.push("an attribute " + a.name + ": " + e.outerHTML.slice(0, 200));
  }
  for (const e of document.querySelectorAll("meta[http-equiv]:not([http-equiv=Content-Security-Policy]), link:not([rel=stylesheet], [rel=icon])")) wrong.push(e.outerHTML);
  for (const e of document.querySelectorAll("a[href], form[action]")) {
    const to = e.href?.baseVal ?? e.href ?? e.action;
    if (new URL(to, location).protocol !== location.protocol || new URL(to, location).host !== location.host) wrong.push("it leads to " + to);
  }
  const text = document.title + document.body.innerText;
  const bad = text.match(/[\u202a-\u202e\u2066-\u2069\u2028\u2029\u001b\u0007]/);
  if (bad) wrong.push("it contains the character " + escape(bad[0]) + " near " + escape(text.slice(Math.max(0, bad.index - 60), bad.index + 10)));
  return [...new Set(wrong)].slice(0, 8);
})()`

// harmless fails if others' texts became a part of the page.
func (b *tab) harmless(what string, shows bool) {
	b.t.Helper()
	if wrong := js[[]string](b, foreign); len(wrong) > 0 {
		b.t.Errorf("%s:\n  %s", what, strings.Join(wrong, "\n  "))
	}
	if shows && !strings.Contains(js[string](b, `document.body.textContent`), "<script>hacked=1") {
		b.t.Errorf("%s does not show the text as it is", what)
	}
}

// hostileText is looked at with the pages' policy and without it.
func hostileText(t *testing.T, b *tab) {
	s, run, running := hostileSite(t)
	b.enter(s)
	addresses := pagesOf(run, hostileIDs)
	for i := range hostileIDs {
		addresses = append(addresses, "/run/"+url.PathEscape(run)+"/"+url.PathEscape(hostileIDs[i])+"/tests")
	}
	for _, bypass := range []bool{false, true} {
		if _, err := chromedp.Call(b.ctx, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: bypass}); err != nil {
			t.Fatal(err)
		}
		for i, address := range addresses {
			b.open(address)
			b.harmless(address, address == "/" || strings.HasPrefix(address, "/instance/") || strings.HasSuffix(address, "step=last"))
			if !bypass && i%4 == 0 {
				b.inspect(address)
			}
		}
		searches := []string{"kind=text&q=hacked"}
		for _, kind := range []string{"text", "ran", "regexp"} {
			for _, word := range []string{"hacked=11", "desc", "img src", "curl"} {
				searches = append(searches, "kind="+kind+"&q="+url.QueryEscape(word))
			}
		}
		for i, query := range append(searches[:1:1], sample.Some(t, 4, searches[1:])...) {
			b.open("/search?" + query)
			b.until(`document.getElementById("searching").textContent !== "Searching."`)
			b.harmless("the hits of "+query, i == 0)
		}
		if bypass {
			hostileAddresses(b, run)
		}
		b.open("/live")
		_ = js[string](b, `document.querySelector("[data-live]").firstElementChild.id = "old"`)
		b.do(chromedp.WaitNotPresent(chromedp.CSS("#old")))
		b.harmless("the live page", true)
		b.open("/run/" + url.PathEscape(run) + "/" + url.PathEscape(hostileIDs[5]) + "?step=last")
		step := running.step
		running.work(4)
		must(t, running.a.Journal().Flush())
		b.do(chromedp.WaitReady(chromedp.ID("step-" + string(rune('0'+step+2)))))
		b.harmless("the running attempt", true)
	}
	for _, m := range b.problems { // the policy would have stopped it, but nothing should need it
		if strings.Contains(m, "Content Security Policy") {
			t.Error(m)
		}
	}
	b.quiet()
	exportedHostile(t, b, s)
}

// hostileAddresses puts attacks into all parts of addresses.
func hostileAddresses(b *tab, run string) {
	b.fail = true
	defer func() { b.quiet(); b.fail = false }()
	at := "/run/" + url.PathEscape(run) + "/"
	one := at + url.PathEscape(hostileIDs[0])
	all := []string{}
	for _, attack := range []string{attacks[0] + attacks[1] + attacks[2], attacks[3] + attacks[4] + attacks[7], attacks[5], attacks[6] + attacks[8], attacks[9], attacks[10] + attacks[11]} {
		for _, address := range []string{
			"/?q=§&repo=§&sort=§&state=§&run=§&group=§", "/search?q=§&kind=§&in=§&run=§&edits=§&whole=1", "/search?q=§&kind=regexp&whole=1", "/search?q=§",
			"/instance/§?run=§", "/run/§/§", "/run/§/§/patch?gold=§", at + "§", one + "?attempt=§&step=§", one + "?step=§", "/instance/" + url.PathEscape(hostileIDs[0]) + "?run=§&every=§",
		} {
			path, query, _ := strings.Cut(address, "?")
			all = append(all, strings.ReplaceAll(path, "§", url.PathEscape(attack))+"?"+strings.ReplaceAll(query, "§", url.QueryEscape(attack)))
		}
	}
	for _, address := range sample.Some(b.t, 20, all) {
		b.open(address)
		b.harmless(address, false)
	}
}

// exportedHostile opens all exported files.
func exportedHostile(t *testing.T, b *tab, s *site) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	must(t, s.Export(t.Context(), out, nil))
	b.base = "file://"
	found, err := filepath.Glob(filepath.Join(out, "*", "*", "*.html"))
	must(t, err)
	more, err := filepath.Glob(filepath.Join(out, "*", "*.html"))
	must(t, err)
	list := slices.Concat([]string{filepath.Join(out, "index.html")}, more, found)
	if len(list) < 20 {
		t.Fatalf("only %d pages: %q", len(list), list)
	}
	for _, file := range list {
		b.do(chromedp.Navigate((&url.URL{Scheme: "file", Path: file}).String()))
		b.harmless(strings.TrimPrefix(file, out), false)
	}
}
