package view_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/view"
	"batch.example/batch/vocab"
)

// click follows a link, or presses a button or a fold, as soon as it is there.
func (b *tab) click(css string) {
	b.t.Helper()
	b.wait(css)
	js[bool](b, fmt.Sprintf(`(e => { e.focus(); e.click(); return true })(document.querySelector(%q))`, css))
}

// withoutScripts reads everything by links and forms alone.
func withoutScripts(t *testing.T, b *tab) {
	s := usualSite(t, 130)
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.enter(s)
	rows := func() string {
		return js[string](b, `[...document.querySelectorAll(".matrix tbody tr:not(.group) th")].map(e => e.textContent).join(" ")`)
	}
	if got := strings.Fields(rows()); len(got) != len(instances) {
		t.Errorf("the rows are %q", got)
	}
	b.do(chromedp.SendKeys(chromedp.CSS("#find"), "sympy"))
	b.click(".controls > button")
	b.wait("#find[value=sympy]")
	if got := rows(); got != instances[2]+" "+instances[3] {
		t.Errorf("the filter leaves %s", got)
	}
	b.open("/?sort=steps")
	if got := rows(); !strings.HasPrefix(got, instances[1]) {
		t.Errorf("with the most steps first: %s", got)
	}
	b.click(".matrix tbody td a")
	b.wait("#step-50")
	b.click("a[rel=next]")
	b.wait("#step-51")
	b.click(".jumps li:last-child a")
	b.wait(".step:target")
	b.click("nav a[href*='/patch']")
	b.wait("pre.diff")
	b.click("a[href*='gold=1']")
	b.wait(".two")
	b.click("nav a[href*='/tests']")
	b.wait("summary strong.bad")
	b.click("nav a[href*='/audit']")
	b.wait("section h2")
	b.click("a[rel=up]")
	b.wait("table.beside")
	b.open("/search?q=FAILED")
	b.click("noscript a")
	b.wait(".hits li")
	b.click(".hits li a")
	b.wait(".step:target")
	b.open("/live")
	b.wait("noscript p")
}

func searching(t *testing.T, b *tab) {
	s := usualSite(t, 60)
	b.enter(s)
	b.open("/search?q=FAILED")
	b.wait(".hits li:nth-child(9)")
	b.until(`/ hits in \d+ attempts/.test(document.getElementById("searching").textContent)`)
	b.press("j")
	if got := b.here(); got != "0" {
		t.Errorf("j leads to hit %s", got)
	}
	b.press("j")
	b.inspect("a search")
	b.open("/search?kind=regexp&q=(")
	b.until(`document.getElementById("searching").textContent.includes("regular expression")`)
}

// live watches an attempt that runs, steers it, and adds a note.
func live(t *testing.T, b *tab) {
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
	s = serve(t, run, usual, func(c *view.Config) { c.Control = s.config.Control })
	b.enter(s)
	page := "/run/" + url.PathEscape(run) + "/" + instances[5]
	b.open(page + "?step=last")
	b.wait("#step-2")
	b.inspect("a running attempt")
	w.result("bash", "echo of step 2", "the output of step 2\n", journal.OutputData{})
	w.work(3)
	must(t, a.Journal().Flush())
	b.wait("#step-4")
	b.until(`document.querySelector("#step-2 pre.output")?.textContent.includes("the output of step 2")`)
	w.add(journal.TypeInterrupt, journal.InterruptData{Step: w.step, Name: vocab.StatusLimitsExceeded})
	_, err = store.Put(t.Context(), &results.Result{Record: results.Record{
		InstanceID: instances[5], Status: vocab.StatusLimitsExceeded, Outcome: vocab.OutcomeLimit, Model: "m", Steps: w.step,
	}})
	must(t, err)
	must(t, a.Close())
	b.wait("#step-5")
	if got := js[string](b, `[...document.querySelectorAll(".step")].map(e => e.id).join(" ")`); got != "step-1 step-2 step-3 step-4 step-5" {
		t.Errorf("the page has grown to %s", got)
	}
	b.open("/live")
	if got := js[string](b, `document.querySelector("tbody tr").className`); got != "stalled" {
		t.Errorf("the first worker is %q", got)
	}
	_ = js[string](b, `document.querySelector("[data-live]").firstElementChild.id = "old"`)
	b.do(chromedp.WaitNotPresent(chromedp.CSS("#old")))
	b.click("button[value=pause]")
	b.wait("[data-live] section > p.note:nth-of-type(2)")
	b.open("/run/" + url.PathEscape(run) + "/" + instances[0] + "?step=3")
	b.click("#step-3 .newnote summary")
	b.do(chromedp.SendKeys(chromedp.CSS("#step-3 input[name=label]"), "slow"), chromedp.SendKeys(chromedp.CSS("#step-3 textarea"), "It reads\nall files."))
	b.click("#step-3 .newnote button")
	b.wait("#step-3 .person")
	if got := js[string](b, `document.querySelector("#step-3 .person").innerText`); !strings.Contains(got, "slow") || !strings.Contains(got, "It reads\nall files.") {
		t.Errorf("the note is %q", got)
	}
	b.click("#step-3 .person button")
	b.do(chromedp.WaitNotPresent(chromedp.CSS("#step-3 .person")))
}
