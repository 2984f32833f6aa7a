package view_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"batch.example/batch/internal/chromium/browsertest"
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
	"batch.example/batch/view/report"
)

// alone shows the page of d from a file.
func alone(b *browsertest.Tab, d report.Data) {
	b.Helper()
	aloneIn(b, filepath.Join(b.TempDir(), "report.html"), d)
}

func aloneIn(b *browsertest.Tab, file string, d report.Data) {
	b.Helper()
	must(b, os.WriteFile(file, []byte(written(b, d)), 0o600))
	if b.Base != "" {
		b.Quiet() // as for the page before
	}
	b.Base = (&url.URL{Scheme: "file", Path: file}).String()
	b.Open(b.Base)
}

// column returns a column's cells in the visible rows.
func column(b *browsertest.Tab, n int) []string {
	b.Helper()
	return browsertest.JS[[]string](b, fmt.Sprintf(`[...document.querySelectorAll(".instances tbody tr")].filter(r => r.offsetParent).map(r => r.cells[%d].innerText.trim())`, n))
}

// head selects the button of a column of the table.
func head(column int) string {
	return fmt.Sprintf(".instances thead tr:nth-child(2) th:nth-child(%d) button", column+1)
}

// pick moves a select down by a number of choices, with the keyboard.
func pick(b *browsertest.Tab, css string, down int) {
	b.Helper()
	b.Do(chromedp.Focus(chromedp.CSS(css)))
	for range down {
		b.Press(kb.ArrowDown)
	}
}

func everyLook(_ *testing.T, b *browsertest.Tab) {
	long := invented(30, 3, 1)
	long.Entries[0].Name = strings.Repeat("averylongname", 20)
	long.Entries[1].Name = strings.Repeat("a very long name ", 20)
	for name, d := range map[string]report.Data{"usual": invented(40, 8, 1), "long": long, "hostile": hostileData()} {
		alone(b, d)
		b.Inspect(name)
		b.Look(1280, "print", "dark")
		b.Contrast(name + " on paper")
	}
}

// hostileData has an attack in every text.
func hostileData() report.Data {
	attacks := browsertest.Attacks
	d := invented(len(attacks)*3, 2, 1)
	for e := range d.Entries {
		a := &d.Entries[e].Runs[0]
		d.Entries[e].Name, d.Entries[e].Model = attacks[e]+attacks[4], attacks[e+2]+attacks[5]
		snap := a.Snapshot
		snap.Dir = "runs/" + attacks[e+1]
		m := snap.Manifest
		m.Batch, m.Model, m.Dataset.Name, m.Dataset.Split, m.Dataset.Digest = attacks[0], attacks[1], attacks[2]+attacks[3], attacks[4], attacks[e]
		m.Config = map[string]any{attacks[3]: map[string]any{attacks[4]: attacks[e+5] + "\n" + attacks[1]}}
		m.Dataset.Instances = nil
		for i := range snap.Records {
			r := &snap.Records[i]
			text := attacks[i%len(attacks)]
			r.InstanceID = strings.NewReplacer("/", "|", "\\", "|", "\x00", "").Replace(text) + string(rune('a'+i/len(attacks)))
			r.Repo, r.Error, r.Blame, r.Model = text, text, text, text
			if r.Grade != nil {
				r.Grade.Why, r.Grade.Error, r.Grade.Suspicious = text, text, []string{text}
			}
			if i%3 == 0 {
				r.Status, r.Outcome = "<b>"+r.Status, "limit"
			}
			if i%4 == 0 {
				r.Resolved, r.Outcome = nil, "infrastructure"
			}
		}
		snap.Notes = attacks
		*a = scores.FromSnapshot(snap)
	}
	return d
}

func hostileReport(t *testing.T, b *browsertest.Tab) {
	for _, bypass := range []bool{false, true} { // of the page's policy
		browsertest.Call(b, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: bypass})
		alone(b, hostileData())
		for _, column := range []int{0, 1, 3} {
			b.Click(head(column))
		}
		b.Click("#find")
		b.Press("<script>")
		if len(column(b, 0)) == 0 {
			t.Error("no instance is called <script>, as it should be")
		}
		b.Harmless("a page of hostile text", true)
	}
}

// keyboard uses no mouse.
func keyboard(t *testing.T, b *browsertest.Tab) {
	alone(b, invented(20, 2, 1))
	b.Press("/")
	b.Press("django")
	if ids := column(b, 0); len(ids) == 0 || len(ids) == 20 {
		t.Errorf("%d rows of django", len(ids))
	}
	b.Do(chromedp.Focus(chromedp.CSS(head(4))))
	b.Press(kb.Enter)
	b.Press(" ")
	if got := browsertest.JS[string](b, `document.activeElement.closest("th").getAttribute("aria-sort")`); got != "ascending" {
		t.Errorf("after Enter and Space the order is %q", got)
	}
}

func sorting(t *testing.T, b *browsertest.Tab) {
	d := invented(60, 2, 1)
	for id, s := range d.Entries[0].Runs[0].Scores { // an instance without results
		d.Entries[0].Runs[0].Scores[id] = scores.Score{ID: id, Repo: s.Repo, Left: scores.NoResult}
		break
	}
	alone(b, d)
	const cost = 5
	costs := func() (list []float64) {
		b.Click(head(cost))
		texts := column(b, cost)
		for _, text := range texts {
			if v, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64); err == nil {
				list = append(list, v)
			}
		}
		if last := texts[len(texts)-1]; last != "–" || len(list) < 50 {
			t.Errorf("%d costs; the last row has %q, want no result", len(list), last)
		}
		return list
	}
	down, up := costs(), costs()
	slices.Reverse(down)
	if !slices.IsSorted(up) || !slices.Equal(up, down) {
		t.Errorf("up %v, and down from the end %v", up, down)
	}
	b.Click(head(0))
	number := func(id string) int { n, _ := strconv.Atoi(id[strings.LastIndex(id, "-")+1:]); return n }
	if ids := column(b, 0); len(ids) != 60 || number(ids[0]) > number(ids[1]) {
		t.Errorf("by instance: %q", ids)
	}
	b.Click(head(3)) // the verdict: resolved first, then not, then left out
	if v := column(b, 3); !strings.HasPrefix(v[0], "✓") || !strings.HasPrefix(v[len(v)-1], "–") {
		t.Errorf("by verdict: %q", v)
	}
}

func filtering(t *testing.T, b *browsertest.Tab) {
	alone(b, invented(500, 2, 1))
	count := func() string { return browsertest.JS[string](b, `document.getElementById("count").textContent`) }
	b.Click("#find")
	b.Press("DJANGO 1000")
	ids := column(b, 0)
	if len(ids) == 0 || len(ids) > 200 || count() != fmt.Sprintf("%d of 500 instances", len(ids)) ||
		slices.ContainsFunc(ids, func(id string) bool { return !strings.Contains(id, "django") || !strings.Contains(id, "1000") }) {
		t.Errorf("%s: %q", count(), ids)
	}
	b.Click("#all")
	if got := len(column(b, 0)); got != 500 || count() != "500 of 500 instances" {
		t.Errorf("after the reset: %d, %s", got, count())
	}
	pick(b, "select[data-entry='0']", 1)
	pick(b, "select[data-entry='1']", 2)
	onlyA := browsertest.JS[string](b, `document.querySelector(".pairs tbody td:nth-child(3)").textContent`)
	if a := column(b, 3); len(a) == 0 || fmt.Sprint(len(a)) != onlyA {
		t.Errorf("%d resolved by A alone in the table, %s in the table of pairs", len(a), onlyA)
	}
	b.Click("#all")
	total := 0
	for range 3 { // all, some, none
		pick(b, "#by", 1)
		total += len(column(b, 0))
	}
	if total != 500 {
		t.Errorf("all, some and none are %d instances", total)
	}
}

func severalAttempts(t *testing.T, b *browsertest.Tab) {
	alone(b, invented(60, 2, 3))
	if n := browsertest.JS[int](b, `document.querySelectorAll(".instances tbody tr:first-child td.first:nth-of-type(3) a").length`); n != 3 {
		t.Errorf("%d links to attempts, want 3", n)
	}
	pick(b, "select[data-entry='0']", 2)
	for _, text := range column(b, 3) {
		if !strings.HasPrefix(text, "1/") && !strings.HasPrefix(text, "2/") {
			t.Errorf("%q is not resolved in some attempts", text)
		}
	}
}

// paper prints a page: without controls, with all rows, and with closed lists opened.
func paper(t *testing.T, b *browsertest.Tab) {
	alone(b, invented(100, 4, 1))
	pdf := browsertest.Ask(b, "printing", chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(), chromedp.PDFPrintBackground()))
	if n := strings.Count(string(pdf), "/Type /Page\n"); n < 3 {
		t.Errorf("a PDF of %d bytes and %d pages", len(pdf), n)
	}
	if browsertest.JS[bool](b, `document.querySelector("details").open`) {
		t.Error("a list that was closed stays open after printing")
	}
	b.Look(1010, "print", "dark") // landscape A4
	_ = browsertest.JS[bool](b, `dispatchEvent(new Event("beforeprint")), true`)
	got := browsertest.JS[struct {
		Controls, Nav, Cut, Closed, Beyond int
	}](b, `({
	  Controls: document.getElementById("filter").getClientRects().length,
	  Nav: document.querySelector("nav").getClientRects().length,
	  Cut: [...document.querySelectorAll(".scroll")].filter(e => getComputedStyle(e).overflowX !== "visible" || e.clientHeight < e.scrollHeight - 1).length,
	  Beyond: Math.max(0, document.querySelector(".instances").getBoundingClientRect().right - innerWidth),
	  Closed: document.querySelectorAll("details:not([open])").length,
	})`)
	if got.Controls+got.Nav+got.Cut+got.Closed+got.Beyond > 0 {
		t.Errorf("on paper are %+v", got)
	}
}

// links leads to files with hostile names.
func links(t *testing.T, b *browsertest.Tab) {
	root := t.TempDir()
	dir := filepath.Join(root, "out #1", "x%41")
	must(t, os.MkdirAll(dir, 0o755))
	names := []string{"http:", "javascript:x", "a b", "50%", "%2e%2e", "?q#f", "...", "ünïcode", "back`tick", "semi;colon", "x\xffy"}
	d := invented(len(names), 1, 1)
	snap := d.Entries[0].Runs[0].Snapshot
	snap.Dir = filepath.Join(root, `runs ?a=b&c#d%20"e'<f>:é`)
	snap.Manifest.Dataset.Instances = nil
	want := map[string]bool{}
	for i := range snap.Records {
		r := &snap.Records[i]
		r.InstanceID = names[i]
		if r.Outcome.Final() && !strings.HasPrefix(r.InstanceID, ".") { // not an id
			want[results.TrajectoryPath(snap.Dir, r.InstanceID)] = true
		}
	}
	d.Entries[0].Runs[0] = scores.FromSnapshot(snap)
	d.Link = report.LinksFrom(dir)
	aloneIn(b, filepath.Join(dir, "report.html"), d)
	for _, href := range browsertest.JS[[]string](b, `[...document.querySelectorAll(".instances a")].map(a => a.href)`) {
		u, err := url.Parse(href)
		if err != nil || u.Scheme != "file" || u.RawQuery != "" || u.Fragment != "" || !want[u.Path] {
			t.Errorf("%s leads to %q, %v", href, u.Path, err)
			continue
		}
		delete(want, u.Path)
	}
	if len(want) > 0 {
		t.Errorf("no link leads to %v", want)
	}
}
