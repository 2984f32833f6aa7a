package page_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"batch.example/batch/results/scores"
)

// head selects the button of a column of the table.
func head(column int) string {
	return fmt.Sprintf("#table thead tr:nth-child(2) th:nth-child(%d) button", column+1)
}

func sorting(t *testing.T, b *tab) {
	d := invented(60, 2, 1)
	for id, s := range d.Entries[0].Runs[0].Scores { // an instance without results
		d.Entries[0].Runs[0].Scores[id] = scores.Score{ID: id, Repo: s.Repo, Left: scores.NoResult}
		break
	}
	b.open(d, 1280, 900, "light")
	const steps, cost = 4, 5
	numbers := func(column int) []float64 {
		var list []float64
		for _, text := range b.column(column) {
			if v, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64); err == nil {
				list = append(list, v)
			} else if text != "–" {
				t.Fatalf("%q is not a number", text)
			}
		}
		return list
	}
	last := func(column int) string { c := b.column(column); return c[len(c)-1] }
	for _, column := range []int{steps, cost} {
		b.click(head(column))
		down := numbers(column)
		b.click(head(column))
		up := numbers(column)
		if len(down) < 50 || !slices.IsSorted(up) || slices.IsSorted(down) || last(column) != "–" {
			t.Errorf("column %d: up %v, down %v, last %q", column, up, down, last(column))
		}
		slices.Reverse(down)
		if !slices.Equal(up, down) {
			t.Errorf("column %d up is %v, and down from the end %v", column, up, down)
		}
	}
	if got := js[[]string](b, `[...document.querySelectorAll("#table [aria-sort]")].map(h => h.getAttribute("aria-sort") + " " + h.innerText.trim())`); len(got) != 1 || !strings.HasPrefix(got[0], "ascending Cost") {
		t.Errorf("sorted headers are %q, want one", got)
	}
	b.click(head(0))
	ids := b.column(0)
	natural := slices.SortedFunc(slices.Values(ids), func(x, y string) int {
		nx, ny := strings.LastIndex(x, "-"), strings.LastIndex(y, "-")
		if c := strings.Compare(x[:nx], y[:ny]); c != 0 {
			return c
		}
		vx, _ := strconv.Atoi(x[nx+1:])
		vy, _ := strconv.Atoi(y[ny+1:])
		return vx - vy
	})
	if len(ids) != 60 || !slices.Equal(ids, natural) {
		t.Errorf("by instance: %q", ids)
	}
	b.click(head(3)) // the verdict: resolved first, then not, then left out
	if v := b.column(3); !strings.HasPrefix(v[0], "✓") || !strings.HasPrefix(v[len(v)-1], "–") {
		t.Errorf("by verdict: %q", v)
	}
}

func filtering(t *testing.T, b *tab) {
	d := invented(500, 2, 1)
	b.open(d, 1280, 900, "light")
	count := func() string { return js[string](b, `document.getElementById("count").textContent`) }
	if got := count(); got != "500 of 500 instances" {
		t.Errorf("at first: %q", got)
	}
	b.click("#text")
	b.press("DJANGO 1000")
	ids := b.column(0)
	if len(ids) == 0 || len(ids) > 200 || count() != fmt.Sprintf("%d of 500 instances", len(ids)) ||
		slices.ContainsFunc(ids, func(id string) bool { return !strings.Contains(id, "django") || !strings.Contains(id, "1000") }) {
		t.Errorf("%s: %q", count(), ids)
	}
	b.click("#all")
	if got := len(b.column(0)); got != 500 || count() != "500 of 500 instances" {
		t.Errorf("after the reset: %d, %s", got, count())
	}
	b.pick("select[data-entry='0']", 1)
	b.pick("select[data-entry='1']", 2)
	a, c := b.column(3), b.column(7)
	if len(a) == 0 || slices.ContainsFunc(a, func(v string) bool { return !strings.HasPrefix(v, "✓") }) ||
		slices.ContainsFunc(c, func(v string) bool { return !strings.HasPrefix(v, "✗") }) {
		t.Errorf("resolved by A and not by B: %q %q", a, c)
	}
	onlyA := js[string](b, `document.querySelector(".pairs tbody td:nth-child(3)").textContent`)
	if fmt.Sprint(len(a)) != onlyA {
		t.Errorf("%d resolved by A alone in the table, %s in the table of pairs", len(a), onlyA)
	}
	b.click("#all")
	total := 0
	for range 3 { // all, some, none
		b.pick("#by", 1)
		total += len(b.column(0))
	}
	if total != 500 {
		t.Errorf("all, some and none are %d instances", total)
	}
	b.pick("#by", 1)
	if left := b.column(0); len(left) == 0 || len(left) > 30 {
		t.Errorf("%d left out", len(left))
	}
	b.click("#text")
	b.press("nothing like this")
	if got := count(); got != "0 of 500 instances" {
		t.Errorf("without a match: %s", got)
	}
	if role := js[string](b, `document.getElementById("count").getAttribute("role")`); role != "status" {
		t.Errorf("the count is not said to a screen reader: role %q", role)
	}
}

// keyboard uses no mouse.
func keyboard(t *testing.T, b *tab) {
	text := written(t, invented(40, 2, 1))
	b.show(text, 1280, 900, "light")
	focused := func() string {
		return js[string](b, `(e => [e.tagName, e.id, e.type ?? "", e.ariaLabel ?? e.innerText.trim()].join(" "))(document.activeElement)`)
	}
	until := func(what string, most int) bool {
		for range most {
			b.press(kb.Tab)
			on := focused()
			if width := js[string](b, `getComputedStyle(document.activeElement).outlineWidth + getComputedStyle(document.activeElement).outlineStyle`); width != "2pxsolid" && !strings.Contains(on, "BODY") {
				t.Errorf("the focus on %q cannot be seen: %s", on, width)
			}
			if strings.Contains(on, what) {
				return true
			}
		}
		return false
	}
	b.press(kb.Tab)
	if got := focused(); !strings.Contains(got, "Skip to the table") {
		t.Errorf("first is %q", got)
	}
	b.press(kb.Enter)
	if !until("INPUT text", 10) {
		t.Fatalf("the filter is not behind the link to the table: %q", focused())
	}
	b.press("django")
	if ids := b.column(0); len(ids) == 0 || len(ids) == 40 {
		t.Errorf("%d rows of django", len(ids))
	}
	if !until("Steps", 12) {
		t.Fatalf("no header to sort by: %q", focused())
	}
	b.press(kb.Enter)
	b.press(" ")
	if got := js[string](b, `document.activeElement.closest("th").getAttribute("aria-sort")`); got != "ascending" {
		t.Errorf("after Enter and Space the order is %q", got)
	}
	b.show(text, 1280, 900, "light")
	if !until("SUMMARY", 40) {
		t.Fatalf("no list to open: %q", focused())
	}
	b.press(kb.Enter)
	if !js[bool](b, `document.activeElement.parentElement.open`) {
		t.Error("Enter does not open a list")
	}
	if unreachable := js[[]string](b, `[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth && e.tabIndex < 0).map(e => e.ariaLabel)`); len(unreachable) > 0 {
		t.Errorf("cannot be scrolled with the keyboard: %q", unreachable)
	}
}

func severalAttempts(t *testing.T, b *tab) {
	b.open(invented(60, 2, 3), 1280, 900, "light")
	for _, text := range b.column(3) {
		if len(text) < 3 || text[1] != '/' && !strings.HasPrefix(text, "–") {
			t.Errorf("%q is not k/n", text)
		}
	}
	if n := js[int](b, `document.querySelectorAll("#table tbody tr:first-child td.first:nth-of-type(3) a").length`); n != 3 {
		t.Errorf("%d links to attempts, want 3", n)
	}
	b.pick("select[data-entry='0']", 2)
	for _, text := range b.column(3) {
		if !strings.HasPrefix(text, "1/") && !strings.HasPrefix(text, "2/") {
			t.Errorf("%q is not resolved in some attempts", text)
		}
	}
}
