package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/view/search"
	"batch.example/batch/vocab"
)

// step is a step of a test's journal.
type step struct{ thought, command, output string }

// write writes the journal of an instance, and returns its source.
func write(t testing.TB, dir, id, patch string, list ...step) search.Source {
	t.Helper()
	path := results.JournalPath(dir, id)
	ok := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(os.MkdirAll(filepath.Dir(path), 0o700))
	j, err := journal.Open(path, journal.Tail{}, journal.Options{Durability: journal.Process, Spend: func(_, _ float64) {}})
	ok(err)
	ok(j.Begin(1, map[string]any{"owner": "o"}))
	for i, s := range list {
		n := i + 1
		text, err := json.Marshal(map[string]any{"role": "assistant", "content": s.thought + "\n\n```bash\n" + s.command + "\n```"})
		ok(err)
		shown, err := json.Marshal(map[string]any{"role": "user", "content": s.output[:min(len(s.output), 5000)]})
		ok(err)
		ok(j.Append(journal.TypeRequest, journal.RequestData{Step: n, Digest: "d"}))
		ok(j.Append(journal.TypeReply, journal.ReplyData{Step: n, Message: text, Priced: true, Response: fmt.Appendf(nil, `{"choices":[{"message":%s}]}`, text)}))
		ok(j.Append(journal.TypeMessages, journal.MessagesData{Messages: []json.RawMessage{text}}))
		ok(j.Append(journal.TypeAction, journal.ActionData{Step: n, Action: 1, Command: s.command}))
		ok(j.Append(journal.TypeOutput, journal.OutputData{Step: n, Action: 1, Output: vocab.Output{Total: int64(len(s.output))}, Kept: []byte(s.output)}))
		ok(j.Append(journal.TypeMessages, journal.MessagesData{Messages: []json.RawMessage{shown}}))
	}
	if patch != "" {
		ok(j.Append(journal.TypeSubmission, journal.SubmissionData{Submission: []byte(patch)}))
	}
	ok(j.Close())
	return search.Source{Name: "run", Dir: dir, Instance: id, Attempt: -1}
}

const patch = "diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1 @@\n-x = \"1\"\n+x = \"2\"\n"

func three(t testing.TB) (dir string, sources []search.Source) {
	dir = t.TempDir()
	return dir, []search.Source{
		write(t, dir, "a", patch,
			step{"I look at the \"history\".", "git -C /x --no-pager log -3\necho git-log", "commit 1\n\tAuthor: Ünal\xff<b>\n"},
			step{"Now TÄST.", "sed -i s/a/b/ tests/test_a.py", ""}),
		write(t, dir, "b", "",
			step{"I do not run git log.", "grep -rn 'git log' .", "git log\n"},
			step{"", "python -m pytest tests/test_a.py", "1 PASSED\n"}),
		write(t, dir, "c", "diff --git a/a.py b/a.py\n+++ b/a.py\n", step{"Done.", "ls && git log", strings.Repeat("x\n", 3000) + "needle\n"}),
	}
}

// hiding returns the sources with m as their masker.
func hiding(sources []search.Source, m *mask.Masker) []search.Source {
	sources = slices.Clone(sources)
	for i := range sources {
		sources[i].Mask = m
	}
	return sources
}

func find(t testing.TB, sources []search.Source, q search.Query, m *mask.Masker) (list []string, r search.Result) {
	t.Helper()
	r, err := search.Search(context.Background(), hiding(sources, m), q, func(h search.Hit) error {
		list = append(list, fmt.Sprintf("%s %d.%d %s %q", h.Instance, h.Step, h.Action, h.Where, h.Excerpt[h.From:h.To]))
		return nil
	})
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return list, r
}

func TestHitsOfEachKindOfQuery(t *testing.T) {
	_, sources := three(t)
	for _, test := range []struct {
		query search.Query
		want  []string
	}{
		{search.Query{Ran: "git log"}, []string{`a 1.1 command "git -C /x --no-pager log"`, `c 1.1 command "git log"`}},
		{search.Query{Edits: "tests"}, []string{`a 2.1 command "tests/test_a.py"`, `a 0.0 patch "tests/test_a.py"`}},
		{search.Query{Text: `"history"`}, []string{`a 1.0 thought "\"history\""`}},
		{search.Query{Text: "git log"}, []string{`b 1.0 thought "git log"`, `b 1.1 command "git log"`, `b 1.1 output "git log"`, `c 1.1 command "git log"`}},
		{search.Query{Text: "git log", In: []search.Place{search.Output}}, []string{`b 1.1 output "git log"`}},
		{search.Query{Text: "GIT LOG", Fold: true, In: []search.Place{search.Thought}}, []string{`b 1.0 thought "git log"`}},
		{search.Query{Text: "täst", Fold: true}, []string{`a 2.0 thought "TÄST"`}},
		{search.Query{Text: "Author: Ünal"}, []string{`a 1.1 output "Author: Ünal"`}},
		{search.Query{Regexp: `^\d PASSED$`}, nil},
		{search.Query{Regexp: `(?m)^\d PASSED$`}, []string{`b 2.1 output "1 PASSED"`}},
		{search.Query{Text: `x = "2"`, In: []search.Place{search.Patch}}, []string{`a 0.0 patch "x = \"2\""`}},
		{search.Query{Text: "needle"}, []string{`c 1.1 output "needle"`}},
		{search.Query{Text: "nowhere"}, nil},
	} {
		got, r := find(t, sources, test.query, nil)
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%+v (-want +got):\n%s", test.query, d)
		}
		if r.Sources != 3 || r.More || r.Damaged+r.Failed > 0 || r.Hits != len(got) {
			t.Errorf("%+v: %+v", test.query, r)
		}
	}
}

func TestAWrongQueryIsAUsageFault(t *testing.T) {
	for _, q := range []search.Query{{}, {Text: "a", Regexp: "b"}, {Regexp: "("}, {Edits: "docs"}, {Text: "a", In: []search.Place{"nowhere"}}} {
		if _, err := search.Search(context.Background(), nil, q, nil); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func TestTheLimitSaysThatThereAreMore(t *testing.T) {
	_, sources := three(t)
	for limit, more := range map[int]bool{3: true, 4: false, 5: false} {
		got, r := find(t, sources, search.Query{Text: "git log", Limit: limit}, nil)
		if len(got) != min(limit, 4) || r.More != more {
			t.Errorf("limit %d: %d hits, %+v", limit, len(got), r)
		}
	}
}

// A search neither shows a secret nor reveals its presence.
func TestASecretIsNotFound(t *testing.T) {
	const secret = "sk-Abc123Def456Ghi789"
	source := write(t, t.TempDir(), "a", "", step{"I use " + secret + " here.", "true", ""})
	m := mask.New(mask.Secret{Name: "KEY", Value: secret})
	for _, q := range []search.Query{{Text: "Abc123"}, {Text: "sk-A"}, {Regexp: "use sk"}, {Text: "ABC123", Fold: true}} {
		if got, _ := find(t, []search.Source{source}, q, m); len(got) > 0 {
			t.Errorf("%+v: %v", q, got)
		}
	}
	_, err := search.Search(context.Background(), hiding([]search.Source{source}, m), search.Query{Text: "here"}, func(h search.Hit) error {
		if strings.Contains(h.Excerpt, "Abc") || !strings.Contains(h.Excerpt, mask.Hidden) {
			t.Errorf("excerpt %q", h.Excerpt)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestASearchEndsAtOnceWhenItsReaderGoes(t *testing.T) {
	dir := t.TempDir()
	var sources []search.Source
	for i := range 10 {
		sources = append(sources, write(t, dir, fmt.Sprint("i", i), "", many(60)...))
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	_, err := search.Search(ctx, sources, search.Query{Text: "e", Limit: 1 << 20}, func(search.Hit) error {
		if n++; n == 10 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || n > 200 {
		t.Errorf("%v after %d hits", err, n)
	}
	gone := errors.New("gone")
	if _, err := search.Search(context.Background(), sources, search.Query{Text: "e"}, func(search.Hit) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("%v, want the reader's error", err)
	}
}

func TestDamageAndMissingSourcesAreCounted(t *testing.T) {
	dir, sources := three(t)
	path := results.JournalPath(dir, "b")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[300] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	sources = append(sources, search.Source{Dir: dir, Instance: "none", Attempt: -1})
	got, r := find(t, sources, search.Query{Text: "PASSED"}, nil)
	if len(got) != 1 || r.Damaged != 1 || r.Failed != 1 || r.Sources != 3 {
		t.Errorf("%v, %+v", got, r)
	}
}

func TestFilesOfOtherToolsAreSearched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.traj")
	text := `{"trajectory":[{"thought":"I look.","action":"git log\n","observation":"needle"}],"history":[],"info":{"exit_status":"submitted","submission":"diff --git a/test_a.py b/test_a.py\n+++ b/test_a.py\n"}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sources := []search.Source{{Name: "f", File: path}}
	for want, q := range map[string]search.Query{
		`x 1.1 command "git log"`: {Ran: "git log"}, `x 1.1 output "needle"`: {Text: "needle"}, `x 1.0 thought "look"`: {Text: "look"},
		`x 0.0 patch "test_a.py"`: {Edits: "tests"},
	} {
		if got, _ := find(t, sources, q, nil); len(got) != 1 || got[0] != want {
			t.Errorf("%+v: %v, want %s", q, got, want)
		}
	}
}

// many returns n steps of the usual size.
func many(n int) (list []step) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the value of self is not None return assert test_parse ERROR in line File module.py raise ValueError import os def setup PASSED 17 42 é")
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteByte(" \n"[r.IntN(2)])
		}
		return b.String()
	}
	for range n {
		list = append(list, step{text(600), "grep -rn " + text(80), text(r.IntN(40_000))})
	}
	return list
}

// corpus writes 500 trajectories of 25 steps, with 1 MB each.
func corpus(b *testing.B) []search.Source {
	dir, steps := b.TempDir(), many(25)
	var sources []search.Source
	for i := range 500 {
		if i == 499 {
			steps[24].output += "needle"
		}
		sources = append(sources, write(b, dir, fmt.Sprintf("i%03d", i), "", steps...))
	}
	return sources
}

// The worst case: the only hit is in the last step of the last of 500 trajectories.
func BenchmarkLastOf500(b *testing.B) {
	sources := hiding(corpus(b), mask.New(mask.Secret{Name: "K", Value: "sk-Abc123Def456"}))
	for name, q := range map[string]search.Query{
		"text": {Text: "needle"}, "fold": {Text: "NEEDLE", Fold: true}, "regexp": {Regexp: `ne+dle`}, "commands": {Ran: "git log"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := search.Search(context.Background(), sources, q, func(search.Hit) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The time until the first hit, if each trajectory has some.
func BenchmarkFirstHitOf500(b *testing.B) {
	sources := corpus(b)
	var first time.Duration
	for b.Loop() {
		began, ctx := time.Now(), context.Background()
		first = 0
		if _, err := search.Search(ctx, sources, search.Query{Regexp: `Value\w+`, Limit: 1}, func(search.Hit) error {
			first = time.Since(began)
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(first.Seconds()*1000, "ms/first")
}
