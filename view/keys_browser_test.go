package view_test

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// here is the mark that the keys have reached.
func (b *tab) here() string {
	b.t.Helper()
	return js[string](b, `(document.querySelector(".here") || {id: ""}).id || [...document.querySelectorAll("[data-mark]")].indexOf(document.querySelector(".here")).toString()`)
}

func keys(t *testing.T, b *tab) {
	s := usualSite(t, 130)
	b.enter(s)
	page := "/run/" + url.PathEscape(filepath.Join(s.dir, "a")) + "/" + instances[1]
	b.open(page)
	for _, one := range []struct{ key, want string }{{"j", "step-1"}, {"j", "step-2"}, {"k", "step-1"}, {"n", "step-2"}, {"n", "step-4"}, {"n", "step-5"}, {"p", "step-4"}} {
		b.press(one.key)
		if got := b.here(); got != one.want {
			t.Errorf("after %s: %s, want %s", one.key, got, one.want)
		}
	}
	if got := js[string](b, `location.hash + " " + document.activeElement.id`); got != "#step-4 step-4" {
		t.Errorf("the address and the focus are %s", got)
	}
	open := `[...document.querySelectorAll("#step-4 details")].filter(d => d.open).length`
	for _, want := range []bool{true, false} {
		b.press("o")
		if got := js[int](b, open); got > 0 != want {
			t.Errorf("after o, %d folds are open", got)
		}
	}
	b.do(chromedp.Focus(chromedp.CSS("#step-4 summary"))) // no letter is typed there
	b.press("k")
	if got := b.here(); got != "step-3" {
		t.Errorf("from a fold, k leads to %s", got)
	}
	b.press("j")
	b.press("?")
	if !js[bool](b, `document.getElementById("keys").open`) {
		t.Error("? does not show the keys")
	}
	b.press("j")
	if got := b.here(); got != "step-4" {
		t.Errorf("in the dialog, j leads to %s", got)
	}
	b.press(kb.Escape)
	if js[bool](b, `document.getElementById("keys").open`) || js[string](b, `document.activeElement.id`) != "step-4" {
		t.Error("Escape does not close the dialog, or the focus is lost")
	}
	for key, want := range map[string]string{"]": "51", "[": "1"} {
		b.open(page + "?step=" + map[string]string{"]": "1", "[": "51"}[key])
		b.press(key)
		b.wait("#step-" + want)
	}
	b.open(page + "?step=50#step-50")
	b.press("j") // from the last step of a page to the next page
	b.wait("#step-51")
	b.press("u")
	b.wait("table.beside")
	b.press("j")
	if got := b.here(); got != "0" {
		t.Errorf("side by side, j leads to row %s", got)
	}
	b.press("/") // a page without a field goes to the search
	b.wait("#find")
	b.do(chromedp.Focus(chromedp.CSS("#find")))
	b.press("jknpou?/][")
	if got := js[string](b, `document.getElementById("find").value + location.pathname + document.getElementById("keys").open`); got != "jknpou?/][/searchfalse" {
		t.Errorf("keys that are typed do something: %s", got)
	}
	b.open("/")
	b.press("/")
	if got := js[string](b, `document.activeElement.id`); got != "find" {
		t.Errorf("/ leads to %q", got)
	}
}

// keyboard reaches everything with the key Tab, and the focus can always be seen.
func keyboard(t *testing.T, b *tab) {
	s := pagesSite(t, 12)
	b.enter(s)
	run := "/run/" + url.PathEscape(filepath.Join(s.dir, "a")) + "/"
	for _, address := range []string{"/", "/search?q=text&whole=1", "/live", "/instance/" + instances[0], run + instances[0], run + instances[1] + "/tests", run + instances[0] + "/patch?gold=1"} {
		b.open(address)
		n := js[int](b, `(() => {
		  window.reached = new Set(); window.unseen = [];
		  addEventListener("focusin", (e) => {
		    window.reached.add(e.target);
		    const s = getComputedStyle(e.target);
		    if (s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 2) window.unseen.push(e.target.outerHTML.slice(0, 100));
		  });
		  window.wanted = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]")]
		    .filter(e => e.tabIndex >= 0 && e.getClientRects().length && !e.closest("details:not([open]) > :not(summary)") && !e.closest("dialog"));
		  return window.wanted.length;
		})()`)
		for range n + 3 {
			b.press(kb.Tab)
		}
		missed := js[[]string](b, `[...window.wanted.filter(e => e.isConnected && !window.reached.has(e)).map(e => "not reached: " + e.outerHTML.slice(0, 100)), ...window.unseen.map(e => "cannot be seen: " + e)]`)
		if n < 5 || len(missed) > 0 {
			t.Errorf("%s: %d elements; %s", address, n, strings.Join(missed[:min(len(missed), 5)], "\n"))
		}
	}
}
