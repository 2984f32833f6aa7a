package view_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"batch.example/batch/internal/chromium/browsertest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run/control"
	"batch.example/batch/view"
	"batch.example/batch/vocab"
)

func TestInABrowser(t *testing.T) {
	tier.Rest(t, "view", "internal/chromium")
	browsertest.Run(t, map[string]func(*testing.T, *browsertest.Tab){
		"every page": everyPage, "first screen": firstScreen, "keys": keys, "without scripts": withoutScripts,
		"live": live, "searching": searching, "hostile text": hostileText,
		"looks of a report": everyLook, "hostile report": hostileReport, "keyboard": keyboard, "sorting": sorting, "filtering": filtering,
		"several attempts": severalAttempts, "paper": paper, "links": links,
	}, "127.0.0.1")
}

// enter opens the link of a server, and returns a function that opens other pages.
func enter(b *browsertest.Tab, s *site) (open func(address string)) {
	b.Helper()
	b.Base = "http://" + s.config.Hosts[0] + "/"
	open = func(address string) { b.Helper(); b.Open(strings.TrimSuffix(b.Base, "/") + address) }
	open("/?token=" + token)
	if at := browsertest.JS[string](b, "location.href"); at != b.Base {
		b.Fatalf("the link leads to %s", at)
	}
	return open
}

// pagesSite serves a run with forms whose process is running, and a run that has ended.
func pagesSite(t testing.TB, steps int) *site {
	dir := t.TempDir()
	writeRun(t, filepath.Join(dir, "a"), instances, steps, usual) // its process runs until the end of the test
	steered(t, filepath.Join(dir, "a"), usual)
	must(t, writeRun(t, filepath.Join(dir, "b"), instances, 12, usual).Close())
	return serve(t, dir, usual, func(c *view.Config) {
		c.Control = func(verb control.Verb, args []string) ([]control.Command, error) {
			return []control.Command{{ID: control.NewID(), Verb: verb}}, nil
		}
	})
}

func everyPage(t *testing.T, b *browsertest.Tab) {
	s := pagesSite(t, 130)
	open := enter(b, s)
	for _, address := range pagesOf(filepath.Join(s.dir, "a"), instances) {
		open(address)
		b.Inspect(address)
	}
	run := "/run/" + url.PathEscape(filepath.Join(s.dir, "a")) + "/"
	for _, address := range []string{"/", "/report", "/search?q=text&whole=1", "/live", "/instance/" + instances[0], run + instances[0], run + instances[1] + "/tests", run + instances[0] + "/patch?gold=1"} {
		open(address)
		b.Keyboard(address)
	}
	open("/")
	const covered = `[...document.querySelectorAll(".matrix a")].some(a => {
	  const style = getComputedStyle(a), pen = document.createElement("canvas").getContext("2d");
	  pen.font = style.font;
	  return parseFloat(style.textUnderlineOffset) < pen.measureText("_").actualBoundingBoxDescent;
	})`
	if browsertest.JS[bool](b, covered) {
		t.Error("the line below a link covers its underscores")
	}
	b.Quiet()
	b.MayFail = true
	open("/run/none/x")
	b.Inspect("a failure")
}

// firstScreen looks at the first page of seven runs without scrolling.
func firstScreen(t *testing.T, b *browsertest.Tab) {
	dir := t.TempDir()
	for i := range 7 {
		must(t, writeRun(t, filepath.Join(dir, fmt.Sprint(i)), instances, 3, usual).Close())
	}
	t.Chdir(dir)
	enter(b, serve(t, ".", usual, nil))
	if got := browsertest.JS[int](b, `[...document.querySelectorAll(".matrix tbody tr")].filter(r => r.getBoundingClientRect().bottom <= innerHeight).length`); got < 3 {
		t.Errorf("%d instances are on the first screen", got)
	}
	const says = `getComputedStyle(document.querySelector(".scroll:has(.matrix)"), "::before").content.includes("Scroll sideways")`
	if browsertest.JS[bool](b, says) {
		t.Error("a table says that it scrolls, and has room for all columns")
	}
	b.Look(400, "screen", "light")
	b.Until(says)
}

// here returns the mark that the keys have reached.
func here(b *browsertest.Tab) string {
	b.Helper()
	return browsertest.JS[string](b, `(document.querySelector(".here") || {id: ""}).id || [...document.querySelectorAll("[data-mark]")].indexOf(document.querySelector(".here")).toString()`)
}

func keys(t *testing.T, b *browsertest.Tab) {
	s := usualSite(t, 130)
	open := enter(b, s)
	page := "/run/" + url.PathEscape(filepath.Join(s.dir, "a")) + "/" + instances[1]
	open(page)
	for _, one := range []struct{ key, want string }{
		{"j", "step-1"}, {"j", "step-2"}, {"k", "step-1"}, {"n", "step-2"}, {"n", "step-4"}, {"n", "step-5"}, {"p", "step-4"},
	} {
		b.Press(one.key)
		if got := here(b); got != one.want {
			t.Errorf("after %s: %s, want %s", one.key, got, one.want)
		}
	}
	if got := browsertest.JS[string](b, `location.hash + " " + document.activeElement.id`); got != "#step-4 step-4" {
		t.Errorf("the address and the focus are %s", got)
	}
	for _, want := range []bool{true, false} {
		b.Press("o")
		if got := browsertest.JS[bool](b, `[...document.querySelectorAll("#step-4 details")].some(d => d.open)`); got != want {
			t.Errorf("after o, folds are open: %v", got)
		}
	}
	b.Press("?")
	if !browsertest.JS[bool](b, `document.getElementById("keys").open`) {
		t.Error("? does not show the keys")
	}
	b.Press("j")
	if got := here(b); got != "step-4" {
		t.Errorf("in the dialog, j leads to %s", got)
	}
	b.Press(kb.Escape)
	if got := browsertest.JS[string](b, `document.getElementById("keys").open + " " + document.activeElement.id`); got != "false step-4" {
		t.Errorf("after Escape, the dialog and the focus are %s", got)
	}
	open(page + "?step=51")
	b.Press("[")
	b.Wait("#step-1")
	open(page + "?step=50#step-50")
	b.Press("j") // from the last step of a page to the next page
	b.Wait("#step-51")
	b.Press("u")
	b.Wait("table.beside")
	b.Press("/") // a page without a field goes to the search
	b.Wait("#find")
	b.Do(chromedp.Focus(chromedp.CSS("#find")))
	b.Press("jknpou?/][")
	if got := browsertest.JS[string](b, `document.getElementById("find").value + location.pathname + document.getElementById("keys").open`); got != "jknpou?/][/searchfalse" {
		t.Errorf("keys typed into a field act as commands: %s", got)
	}
}

// withoutScripts checks that links and forms alone reach every page.
func withoutScripts(t *testing.T, b *browsertest.Tab) {
	b.WithoutScripts()
	open := enter(b, usualSite(t, 130))
	b.Do(chromedp.SendKeys(chromedp.CSS("#find"), "sympy"))
	b.Click(".controls > button")
	b.Wait("#find[value=sympy]")
	if got := browsertest.JS[string](b, `[...document.querySelectorAll(".matrix tbody tr:not(.group) th")].map(e => e.textContent).join(" ")`); got != instances[2]+" "+instances[3] {
		t.Errorf("the filter leaves %s", got)
	}
	open("/?sort=steps") // with the most steps first
	for _, way := range []struct{ link, leads string }{
		{".matrix tbody td a", "#step-50"},
		{"a[rel=next]", "#step-51"},
		{".jumps li:last-child a", ".step:target"},
		{"nav a[href*='/patch']", "pre.diff"},
		{"a[href*='gold=1']", ".two"},
		{"nav a[href*='/tests']", "summary strong.bad"},
		{"nav a[href*='/audit']", "section h2"},
		{"a[rel=up]", "table.beside"},
	} {
		b.Click(way.link)
		b.Wait(way.leads)
	}
	open("/search?q=FAILED")
	b.Click("noscript a")
	b.Click(".hits li a")
	b.Wait(".step:target")
	open("/live")
	b.Wait("noscript p")
	open("/report")
	got := browsertest.JS[struct{ Rows, Buttons, Filters, Charts int }](b, `({
	  Rows: [...document.querySelectorAll(".instances tbody tr")].filter(r => r.offsetParent && r.innerText.trim()).length,
	  Buttons: document.querySelectorAll("th button").length,
	  Filters: document.getElementById("filter").getClientRects().length,
	  Charts: [...document.querySelectorAll("svg[role=img]")].filter(e => e.getBoundingClientRect().height > 9 && e.querySelector("title").textContent).length,
	})`)
	if got.Rows != len(instances) || got.Buttons != 0 || got.Filters != 0 || got.Charts < 15 {
		t.Errorf("the report has %+v", got)
	}
}

func searching(t *testing.T, b *browsertest.Tab) {
	open := enter(b, usualSite(t, 60))
	open("/search?q=FAILED")
	b.Wait(".hits li:nth-child(9)")
	b.Until(`/ hits in \d+ attempts/.test(document.getElementById("searching").textContent)`)
	b.Press("j")
	if got := here(b); got != "0" {
		t.Errorf("j leads to hit %s", got)
	}
	b.Inspect("a search")
	open("/search?kind=regexp&q=(")
	b.Until(`document.getElementById("searching").textContent.includes("regular expression")`)
}

// live watches an attempt that runs, and steers it.
func live(t *testing.T, b *browsertest.Tab) {
	s := pagesSite(t, 20)
	run := filepath.Join(t.TempDir(), "c")
	store := writeRun(t, run, instances, 4, usual)
	steered(t, run, usual)
	a, err := store.Begin(instances[5], manifest.Settings{})
	must(t, err)
	w := &recorder{t: t, a: a, text: usual}
	w.begin()
	w.work(1)
	w.call("bash", "echo of step 2")
	w.add(journal.TypeAction, journal.ActionData{Step: 2, Action: 1, Command: "echo of step 2"})
	must(t, a.Journal().Flush())
	open := enter(b, serve(t, run, usual, func(c *view.Config) { c.Control = s.config.Control }))
	page := "/run/" + url.PathEscape(run) + "/"
	open(page + instances[5] + "?step=last")
	b.Wait("#step-2")
	b.Inspect("a running attempt")
	w.result("bash", "echo of step 2", "the output of step 2\n", journal.OutputData{})
	w.work(3)
	must(t, a.Journal().Flush())
	b.Wait("#step-4")
	b.Until(`document.querySelector("#step-2 pre.output")?.textContent.includes("the output of step 2")`)
	w.add(journal.TypeInterrupt, journal.InterruptData{Step: w.step, Name: vocab.StatusLimitsExceeded})
	_, err = store.Put(t.Context(), &results.Result{Record: results.Record{
		InstanceID: instances[5], Status: vocab.StatusLimitsExceeded, Outcome: vocab.OutcomeLimit, Model: "m", Steps: w.step,
	}})
	must(t, err)
	must(t, a.Close())
	b.Wait("#step-5")
	if got := browsertest.JS[string](b, `[...document.querySelectorAll(".step")].map(e => e.id).join(" ")`); got != "step-1 step-2 step-3 step-4 step-5" {
		t.Errorf("the page has grown to %s", got)
	}
	open("/live")
	if got := browsertest.JS[string](b, `document.querySelector("tbody tr").className`); got != "stalled" {
		t.Errorf("the first worker is %q", got)
	}
	if got := browsertest.JS[string](b, `[...document.querySelectorAll("button:disabled")].map(e => e.value).join(" ")`); got != "resume" {
		t.Errorf("disabled are %q", got)
	}
	b.Click("details:last-of-type summary")
	b.Do(chromedp.SendKeys(chromedp.CSS("input[name=instance]"), "one"))
	for range 2 {
		renewed(b)
	}
	if got := browsertest.JS[string](b, `document.activeElement.name + " " + document.activeElement.value`); got != "instance one" {
		t.Errorf("after a renewal, the focus is on %q", got)
	}
	b.Click("button[value=pause]")
	b.Wait(".changes li:nth-child(2)")
}

// renewed waits until the server has sent the page about work under way again.
func renewed(b *browsertest.Tab) {
	b.Helper()
	_ = browsertest.JS[string](b, `document.querySelector("[data-live] p").className = "old"`)
	b.Do(chromedp.WaitNotPresent(chromedp.CSS(".old")))
}
