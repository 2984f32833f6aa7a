package view_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"batch.example/batch/internal/chromium/browsertest"
	"batch.example/batch/internal/sample"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
)

var attacks = browsertest.Attacks

// hostile returns a text with all attacks, in one line at places that have no lines.
func hostile(place string) string {
	all := place + " " + strings.Join(attacks, "\n")
	switch place {
	case "status":
		return attacks[0] + attacks[1] + "\u202e"
	case "file name", "gold file name", "test", "model", "repo", "who", "tool", "engine":
		line := strings.NewReplacer("\n", " ", "\r", " ").Replace(all)
		return strings.ToValidUTF8(line[:min(len(line), 190)], "")
	case "canceled", "worker", "queued":
		return attacks[0] + attacks[1] + attacks[9]
	}
	return all
}

// hostileIDs are instance ids with attacks, as far as ids allow.
var hostileIDs = []string{
	`<script>hacked=1<script>`, `"><img src=x onerror=hacked=2>`, `' onmouseover='hacked=3' x='`, `javascript:hacked=6`, "\u202edetrever\u2028\x1b[31m<b>\r", `{{.}}?a=b&c#d%2f..%20`,
}

// hostileSite serves a sweep with attacks at all places that others write.
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

// hostileText opens the pages with their policy and without it.
func hostileText(t *testing.T, b *browsertest.Tab) {
	s, run, running := hostileSite(t)
	open := enter(b, s)
	at := "/run/" + url.PathEscape(run) + "/"
	addresses := pagesOf(run, hostileIDs)
	for _, id := range hostileIDs {
		addresses = append(addresses, at+url.PathEscape(id)+"/tests")
	}
	for _, bypass := range []bool{false, true} {
		browsertest.Call(b, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: bypass})
		for i, address := range addresses {
			open(address)
			b.Harmless(address, address == "/" || strings.HasPrefix(address, "/instance/") || strings.HasSuffix(address, "step=last"))
			if !bypass && i%4 == 0 {
				b.Inspect(address)
			}
		}
		for _, query := range []string{"kind=text&q=hacked", "kind=ran&q=curl", "kind=regexp&q=img+src"} {
			open("/search?" + query)
			b.Until(`document.getElementById("searching").textContent !== "Searching."`)
			b.Harmless("the hits of "+query, query == "kind=text&q=hacked")
		}
		open("/live")
		renewed(b)
		b.Harmless("the live page", true)
		open(at + url.PathEscape(hostileIDs[5]) + "?step=last")
		step := running.step
		running.work(4)
		must(t, running.a.Journal().Flush())
		b.Do(chromedp.WaitReady(chromedp.ID("step-" + string(rune('0'+step+2)))))
		b.Harmless("the running attempt", true)
	}
	b.Quiet() // nothing needs the policy
	hostileAddresses(b, at, open)
	exportedHostile(t, b, s)
}

// hostileAddresses puts attacks into all parts of addresses.
func hostileAddresses(b *browsertest.Tab, at string, open func(address string)) {
	b.MayFail = true
	defer func() { b.Quiet(); b.MayFail = false }()
	one := at + url.PathEscape(hostileIDs[0])
	all := []string{}
	for _, attack := range append([]string{strings.Join(attacks[:3], "")}, attacks[3:]...) {
		for _, address := range []string{
			"/?q=§&repo=§&sort=§&state=§&run=§&group=§", "/report?run=§", "/search?q=§&kind=§&in=§&run=§&edits=§&whole=1", "/search?q=§&kind=regexp&whole=1", "/search?q=§",
			"/instance/§?run=§", "/run/§/§", "/run/§/§/patch?gold=§", at + "§", one + "?attempt=§&step=§", one + "?step=§", "/instance/" + url.PathEscape(hostileIDs[0]) + "?run=§&every=§",
		} {
			path, query, _ := strings.Cut(address, "?")
			all = append(all, strings.ReplaceAll(path, "§", url.PathEscape(attack))+"?"+strings.ReplaceAll(query, "§", url.QueryEscape(attack)))
		}
	}
	for _, address := range sample.Some(b, 20, all) {
		open(address)
		b.Harmless(address, false)
	}
}

// exportedHostile opens all exported files from a disk, and follows their links within the folder.
func exportedHostile(t *testing.T, b *browsertest.Tab, s *site) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out #1")
	must(t, s.Export(t.Context(), out, false, nil))
	b.Base = (&url.URL{Scheme: "file", Path: out}).String() + "/"
	opened := 0
	must(t, fs.WalkDir(os.DirFS(out), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		b.Open((&url.URL{Scheme: "file", Path: filepath.Join(out, name)}).String())
		b.Harmless(name, false)
		if opened%4 == 0 {
			b.Inspect(name)
		}
		opened++
		for _, link := range browsertest.JS[[]string](b, `[...document.querySelectorAll("a[href]")].map(a => a.href?.baseVal ? new URL(a.href.baseVal, location).href : a.href)`) {
			u, err := url.Parse(link)
			must(t, err)
			if _, err := os.Stat(u.Path); err != nil || !strings.HasPrefix(link, b.Base) {
				t.Errorf("%s leads out of the folder, to %s: %v", name, link, err)
			}
		}
		return nil
	}))
	if opened < 20 {
		t.Errorf("only %d pages were opened", opened)
	}
}
