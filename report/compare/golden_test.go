package compare_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"batch.example/batch/report/compare"
	"batch.example/batch/results/scores"
)

var update = flag.Bool("update", false, "write the golden files")

// cases are comparisons with golden texts.
func cases(t *testing.T) map[string]compare.Comparison {
	t.Helper()
	gate, err := compare.ParseGate("resolved >= -1pt")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("ynnyy", 16)
	two := []scores.Side{measured(entry("base", long+"iqg"), 1), measured(entry("new", strings.Repeat("yynyy", 16)+"nnn"), 0.8)}
	attempts := []scores.Side{measured(entry("base", "ynnyynny", "ynyyynni"), 1), entry("new", "yynyyyny")}
	three := append([]scores.Side{measured(entry("third", strings.Repeat("nnnnn", 16)), 2)}, two...)
	hostileA, hostileB := entry("a|b`c*\n<script>@me", "yn"), entry("\x1b[31mred", "ny")
	hostileB.Model = "[x](javascript:alert(1)) www.evil.example https://evil.example"
	for id, s := range hostileA.Runs[0].Scores {
		bad := s
		bad.ID = id + "|`</code><img src=x onerror=alert(1)>\x1b]0;title\a\u202e"
		for _, e := range []scores.Side{hostileA, hostileB} {
			one := e.Runs[0].Scores[id]
			one.ID = bad.ID
			delete(e.Runs[0].Scores, id)
			e.Runs[0].Scores[bad.ID] = one
		}
	}
	hostileB.Runs[0].Notes = []string{"damaged: <b>|\x1b[2J"}
	return map[string]compare.Comparison{
		"two":      compare.New(two, compare.Options{Gates: []compare.Gate{gate}}),
		"attempts": compare.New(attempts, compare.Options{Gates: []compare.Gate{gate}}),
		"three":    compare.New(three, compare.Options{AllPairs: true, Gates: []compare.Gate{gate}}),
		"hostile":  compare.New([]scores.Side{hostileA, hostileB}, compare.Options{}),
	}
}

func TestGolden(t *testing.T) {
	for name, c := range cases(t) {
		forms := map[string]func(*bytes.Buffer) error{
			".txt": func(b *bytes.Buffer) error { return c.Write(b, true) },
			".md":  func(b *bytes.Buffer) error { return c.WriteMarkdown(b, true) },
		}
		if name == "attempts" {
			forms[".json"] = func(b *bytes.Buffer) error {
				e := json.NewEncoder(b)
				e.SetIndent("", "  ")
				return e.Encode(c)
			}
		}
		for ending, write := range forms {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+ending)
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%s: got\n%s\nwant\n%s", path, &b, want)
			}
		}
	}
}

func TestTextFromOutsideDoesNothing(t *testing.T) {
	for _, name := range []string{"hostile", "labels"} {
		doesNothing(t, cases(t)[name])
	}
}

func doesNothing(t *testing.T, c compare.Comparison) {
	t.Helper()
	var text, md bytes.Buffer
	if err := c.Write(&text, true); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteMarkdown(&md, true); err != nil {
		t.Fatal(err)
	}
	for _, b := range []string{text.String(), md.String()} {
		if strings.ContainsAny(b, "\x1b\a\u202e") {
			t.Errorf("a control character is left in\n%q", b)
		}
	}
	tags := regexp.MustCompile(`<[^>]*>`).FindAllString(md.String(), -1)
	for _, tag := range tags {
		switch tag {
		case "<code>", "</code>", "<details>", "</details>", "<summary>", "</summary>", "<!-- -->":
		default:
			t.Errorf("the tag %s is in\n%s", tag, &md)
		}
	}
	for _, mark := range []string{"@", "`", "](", "://", "www."} {
		if strings.Contains(md.String(), mark) {
			t.Errorf("%s is in\n%s", mark, &md)
		}
	}
	cells := -1
	for line := range strings.Lines(md.String()) {
		switch n := strings.Count(line, "|"); {
		case n == 0:
			cells = -1
		case cells < 0:
			cells = n
		case n != cells:
			t.Errorf("%d cells instead of %d: %s", n, cells, line)
		}
	}
}
