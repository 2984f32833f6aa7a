package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/run/control"
	"batch.example/batch/vocab"
)

func TestEscapesOfTerminals(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   `[{"" ""}]`,
		"plain\n":                            `[{"" "plain\n"}]`,
		"\x1b[31mred\x1b[0m.":                `[{"a1" "red"} {"" "."}]`,
		"\x1b[1;4;92mx\x1b[m":                `[{"a2 ab au" "x"}]`,
		"\x1b[38;5;196mx\x1b[39my":           `[{"" "x"} {"" "y"}]`,
		"\x1b[38;2;1;2;3;3mx":                `[{"ai" "x"}]`,
		"\x1b[2J\x1b[1;1Hgone":               `[{"" "gone"}]`,
		"\x1b]0;title\aa\x1b]8;;x\x1b\\b":    `[{"" "a"} {"" "b"}]`,
		"\x1b]0;no end\nnext line":           `[{"" "\nnext line"}]`,
		"\x1b[3":                             `[]`,
		"\x1b":                               `[]`,
		"\x1b[\x01x":                         `[{"" "\\u0001x"}]`,
		"\x1b(B\x1b[1mbold\x1b[22mnot\x1b[x": `[{"ab" "bold"} {"" "not"}]`,
		"turn \u202e round":                  `[{"" "turn \\u202e round"}]`,
		"\x1b[999999999999999999999mx":       `[{"" "x"}]`,
	} {
		if got := fmt.Sprintf("%q", ansi(text)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// No page shows an escape, or a character that hides or reverses text.
func FuzzANSI(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\")
	f.Add("\x1b[38;2;1;2;3mx\x1b\x1b[\x1bP\x9b31m\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range ansi(text) {
			if strings.ContainsAny(s.Text, "\x1b\x00\x07\u202e\u2066") || !utf8.ValidString(s.Text) {
				t.Errorf("%q gives %q", text, s.Text)
			}
			if strings.Trim(s.Class, "a01234567bui ") != "" {
				t.Errorf("%q gives the class %q", text, s.Class)
			}
		}
	})
}

func TestFilesOfAPatch(t *testing.T) {
	const a = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n"
	const b = "diff --git a/sub dir/y b/sub dir/y\nnew file mode 100644\n--- /dev/null\n+++ b/sub dir/y\n@@ -0,0 +1 @@\n+1\n\\ No newline at end of file\n"
	got := filesIn(a + b)
	if len(got) != 2 || got[0].Name != "x.py" || got[1].Name != "sub dir/y" || got[0].Text != a || got[1].Text != b {
		t.Fatalf("got %+v", got)
	}
	if got[0].Added != 1 || got[0].Removed != 1 || got[1].Added != 1 || got[1].Removed != 0 {
		t.Errorf("added and removed: %d %d, %d %d", got[0].Added, got[0].Removed, got[1].Added, got[1].Removed)
	}
	if sql := filesIn("diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -1 +1 @@\n--- a comment\n+++ not a name\n"); sql[0].Added != 1 || sql[0].Removed != 1 {
		t.Errorf("lines that look like names are not counted: %+v", sql)
	}
	if odd := filesIn("no patch at all\n+x"); len(odd) != 1 || odd[0].Name != "" || odd[0].Added != 1 {
		t.Errorf("got %+v", odd)
	}
	if none := filesIn(""); none != nil {
		t.Errorf("got %+v", none)
	}
}

func FuzzFilesIn(f *testing.F) {
	f.Add("diff --git a/x b/x\n+y\ndiff --git a/x b/x\n-z")
	f.Fuzz(func(t *testing.T, patch string) {
		whole := ""
		for _, file := range filesIn(patch) {
			whole += file.Text
		}
		if whole != patch {
			t.Errorf("the files together are %q, the patch is %q", whole, patch)
		}
	})
}

// besideRows returns the rows of attempts whose steps are single letters: a row has a letter for each
// attempt, and - for no step.
func besideRows(attempts ...string) (rows []string, first int) {
	var d sideBySide
	for _, letters := range attempts {
		c := besideColumn{Steps: len(letters)}
		for i, l := range letters {
			c.brief = append(c.brief, stepSummary{Number: i + 1, key: string(l)})
		}
		d.Columns = append(d.Columns, c)
	}
	d.align()
	for _, r := range d.Rows {
		text := ""
		for c, b := range r.Steps {
			if b == nil {
				text += "-"
			} else {
				text += d.Columns[c].brief[b.Number-1].key
			}
		}
		rows = append(rows, text)
	}
	return rows, d.First
}

func TestStepsSideBySide(t *testing.T) {
	for _, tt := range []struct {
		attempts, rows string
		first          int
	}{
		{"abc abc", "aa bb cc", -1},
		{"abc axc", "aa bx cc", 1},
		{"abc ac", "aa b- cc", 1},
		{"ac abc", "aa -b cc", 1},
		{"abc xyz", "ax by cz", 0},
		{"abcd abxycd", "aa bb -x -y cc dd", 2},
		{"ab abcd", "aa bb -c -d", 2},
		{"abcd ab", "aa bb c- d-", 2},
		{"abc abc abd", "aaa bbb ccd", 2},
		{"abc xabc ab", "-x- aaa bbb cc-", 0},
		{"a", "a", -1},
	} {
		rows, first := besideRows(strings.Fields(tt.attempts)...)
		if strings.Join(rows, " ") != tt.rows || first != tt.first {
			t.Errorf("%s: got %q and %d, want %q and %d", tt.attempts, rows, first, tt.rows, tt.first)
		}
	}
	if rows, _ := besideRows("", "ab"); !slices.Equal(rows, []string{"-a", "-b"}) {
		t.Errorf("without steps in the first attempt: %q", rows)
	}
}

// Each step of each attempt is in exactly one row, in order.
func FuzzSideBySide(f *testing.F) {
	f.Add("abc", "acb", "cab")
	f.Add("", "ab", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		attempts := []string{a, b, c}
		for i, s := range attempts {
			if len(s) > 40 || !utf8.ValidString(s) || strings.ContainsAny(s, "-") {
				t.Skip()
			}
			attempts[i] = strings.Map(func(r rune) rune { return 'a' + r%4 }, s)
		}
		rows, _ := besideRows(attempts...)
		for column, want := range attempts {
			got := ""
			for _, r := range rows {
				got += strings.Trim(r[column:column+1], "-")
			}
			if got != want {
				t.Errorf("%q: column %d has %q, rows %q", attempts, column, got, rows)
			}
		}
	})
}

func TestWhatAWorkerDoes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	soon := now.Add(45 * time.Second)
	for want, w := range map[string]vocab.Worker{
		"commands 0:41":                    {Phase: "commands", Since: now.Add(-41 * time.Second)},
		"model 1:00:05":                    {Phase: "model", Since: now.Add(-time.Hour - 5*time.Second)},
		"waits for the rate limit 0:12":    {Waiting: "rate limit", Since: now.Add(-12 * time.Second)},
		"back-off, tries again in 0:45":    {Waiting: "back-off", Since: now, Until: &soon},
		"waits (paused) 2:00":              {Waiting: "paused", Since: now.Add(-2 * time.Minute)},
		"model 0:00":                       {Phase: "model", Since: now.Add(time.Minute)}, // clocks differ
		"rate limit, tries again in 0:45":  {Waiting: "rate limit", Since: now, Until: &soon},
		"waits for the rate limit 1:01:01": {Waiting: "rate limit", Since: now.Add(-3661 * time.Second)},
	} {
		if got := doing(w, now); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWordsOfWork(t *testing.T) {
	now := time.Now()
	w := work{Status: &control.Status{
		Started: now.Add(-10 * time.Minute), Now: now, Done: 25, Kept: 10, Failed: 5, Total: 50, Running: 2, Queued: make([]string, 8), Verbs: control.Verbs,
		Recent: []control.Record{
			{Command: control.Command{Verb: control.Pause}, Time: now.Add(-time.Hour)},
			{Command: control.Command{Verb: control.SetWidth, Width: 4}, Time: now},
			{Command: control.Command{Verb: control.SetLimit, Limit: control.Limit{"steps": 100, "seconds": 1800}}, Time: now},
			{Command: control.Command{Verb: control.SetBudget, Budget: 20}, Time: now},
		},
	}}
	var got []string
	for _, c := range w.Changes() {
		got = append(got, c.What)
	}
	if want := []string{"budget $20.00", "limit step=100 time=30m0s", "width 4"}; !slices.Equal(got, want) {
		t.Errorf("the changes are %q, want %q", got, want)
	}
	for state, want := range map[control.State]struct{ pace, not string }{
		control.Running:  {"2.0 per minute, about 5m00s left", "resume"},
		control.Paused:   {"2.0 per minute", "pause"},
		control.Draining: {"2.0 per minute", "pause resume drain requeue"},
		control.Stopping: {"2.0 per minute", "pause resume drain stop requeue"},
	} {
		w.Status.State = state
		var not []string
		for _, v := range control.Verbs {
			if !w.Can(v) {
				not = append(not, string(v))
			}
		}
		if got := strings.Join(not, " "); got != want.not || w.Pace() != want.pace {
			t.Errorf("%s: %q, and these do not apply: %s; want %+v", state, w.Pace(), got, want)
		}
	}
}

func TestABarHasAllTimeAndCost(t *testing.T) {
	var marks []journal.Mark
	for i := range 3000 {
		marks = append(marks, journal.Mark{Number: i + 1, Seconds: 2, Waited: 0.5, Commands: 1, Cost: 0.01})
	}
	b := newBar(marks, results.Unanswered{})
	if len(b.Time) > 1500 || len(b.Cost) > 1500 {
		t.Errorf("%d and %d pieces: the page is too large", len(b.Time), len(b.Cost))
	}
	if !strings.Contains(b.Label, "model 1h15m") || !strings.Contains(b.Label, "$30") {
		t.Errorf("label: %s", b.Label)
	}
	if newBar([]journal.Mark{{Number: 1}}, results.Unanswered{}) != nil {
		t.Error("a bar without steps")
	}
}

func TestFoldersOfRunsAreDifferent(t *testing.T) {
	taken := map[string]bool{}
	var got []string
	for _, name := range []string{"runs/a", "runs-a", "RUNS/A", "../x", "///", "é"} {
		got = append(got, folderOf(name, taken))
	}
	if want := []string{"runs-a", "runs-a-2", "RUNS-A-3", "x", "run", "run-2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLinesThatNameTests(t *testing.T) {
	names := []string{"tests/test_a.py::test_one[x-1]", "test_one[x-1]", "t::b", "test_b (tests.B)", "", "one[x-1]"}
	lists := listsOf(&grades.Grade{FailToPass: grades.Tests{Passed: names}})
	n := newNamed(lists)
	for i, line := range []string{"PASSED tests/test_a.py::test_one[x-1]", "", "test_b (tests.B) ... ok, test_b (tests.B)", "t::b", "nothing", "\xff one[x-1] t::b"} {
		n.see(line, i+1)
	}
	want := map[string]string{
		names[0]: "1", names[1]: "1", names[2]: "4 6", names[3]: "3", names[4]: "", names[5]: "1 6",
	}
	for _, test := range lists[0].Tests {
		var got []string
		for _, l := range test.Lines {
			got = append(got, fmt.Sprint(l.Number))
		}
		if strings.Join(got, " ") != want[test.Name] {
			t.Errorf("%q is found in the lines %v, want %s", test.Name, got, want[test.Name])
		}
	}
}

func TestLinesAroundAFailedTest(t *testing.T) {
	const name = "tests/test_a.py::TestA::test_one"
	lists := listsOf(&grades.Grade{FailToPass: grades.Tests{Failed: []string{name}}, PassToPass: grades.Tests{Passed: []string{name}}})
	n := newNamed(lists)
	for i := range 100 {
		text := map[int]string{10: "____ TestA.test_one ____", 50: "FAILED " + name, 52: name, 90: name}[i]
		n.see(text, i)
	}
	var got []string
	for _, l := range lists[0].Tests[0].Lines {
		text := fmt.Sprint(l.Number)
		if l.Gap {
			text = "... " + text
		}
		if !l.Around {
			text += "!"
		}
		got = append(got, text)
	}
	const want = "8 9 10! 11 12 13 14 15 16 17 18 19 20 21 22 ... 48 49 50! 51 52! 53 54 55 56 57 58 59 60 61 62 63 64 ... 88 89 90! 91 92 93 94 95"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if passed := lists[1].Tests[0]; len(passed.Lines) != mostLines || passed.More != 1 {
		t.Errorf("a test that passed has %d lines, and %d more", len(passed.Lines), passed.More)
	}
}
