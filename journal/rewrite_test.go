package journal_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/journal"
)

func edit(from, to int, messages ...string) journal.Edit {
	return journal.Edit{From: from, To: to, Messages: says(messages...).Messages}
}

func rewritten(edits ...journal.Edit) journal.RewriteData {
	return journal.RewriteData{Policy: "p", Before: 10, After: 5, Edits: edits}
}

// A crash may happen between a rewrite and its request.
func TestARewriteWithoutARequestIsReportedAndNotSent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := writer(t, path)
	if err := w.Begin(1, struct{}{}); err != nil {
		t.Fatal(err)
	}
	tell(t, w, journal.TypeMessages, says(`"a"`), journal.TypeRequest, journal.RequestData{Step: 1}, journal.TypeMessages, says(`"b"`),
		journal.TypeRewrite, rewritten(edit(0, 2, `"c"`)), journal.TypeMessages, says(`"exit"`))
	h := history(t, path)
	if fmt.Sprintf("%s %s %s", h.Messages, h.Later, h.Conversation()) != `["a"] ["b" "exit"] ["a"]` || len(h.Rewrites) != 1 || h.Rewrites[0].At != 2 {
		t.Errorf("got the history %s, then %s, rewrites %+v", h.Messages, h.Later, h.Rewrites)
	}
	if err := w.Resume(struct{}{}, 0, nil); err != nil {
		t.Fatal(err)
	}
	tell(t, w, journal.TypeMessages, says(`"b"`))
	if h := history(t, path); fmt.Sprintf("%s", h.Later) != `["b"]` || len(h.Rewrites) != 0 {
		t.Errorf("after a resume: got %s and %+v, want only b, no rewrites", h.Later, h.Rewrites)
	}
}

func TestTheConversationHasEveryRewriteThatWasSent(t *testing.T) {
	request := func(step int) journal.RequestData { return journal.RequestData{Step: step, Tokens: int64(step)} }
	for name, c := range map[string]struct {
		records      []any
		want, stayed string
		at           []int
	}{
		"several edits at once": {
			[]any{
				journal.TypeMessages, says(`"a"`, `"b"`, `"c"`, `"d"`), journal.TypeRequest, request(1),
				journal.TypeMessages, says(`"e"`), journal.TypeRewrite, rewritten(edit(1, 2, `"B"`), edit(3, 5)),
				journal.TypeRequest, request(2), journal.TypeMessages, says(`"f"`), journal.TypeRequest, request(2),
			}, `["a" "B" "c" "f"]`, `["a" "b" "c" "d" "e" "f"]`, []int{5},
		},
		"a message between a rewrite and the request": {
			[]any{
				journal.TypeMessages, says(`"a"`, `"b"`), journal.TypeRewrite, rewritten(edit(0, 1, `"A"`)), journal.TypeMessages, says(`"c"`),
				journal.TypeRewrite, rewritten(edit(1, 3, `"BC"`)), journal.TypeMessages, says(`"d"`), journal.TypeRequest, request(1),
			}, `["A" "BC" "d"]`, `["a" "b" "c" "d"]`, []int{2, 3},
		},
		"again after a refusal": {
			[]any{
				journal.TypeMessages, says(`"a"`, `"b"`, `"c"`), journal.TypeRewrite, rewritten(edit(1, 2, `"B"`)), journal.TypeRequest, request(1),
				journal.TypeRewrite, rewritten(edit(1, 3)), journal.TypeRequest, request(1),
			}, `["a"]`, `["a" "b" "c"]`, []int{3, 3},
		},
		"the ends of turns are not counted": {
			[]any{
				journal.TypeMessages, says(`{"role":"exit"}`, `"a"`, `"b"`, `{"role":"exit"}`, `"\"exit\""`, `"c"`, `{"role":"exit"}`),
				journal.TypeRewrite, rewritten(edit(0, 0, `"0"`), edit(1, 2, `"B"`), edit(2, 4), edit(4, 4, `"D"`)), journal.TypeRequest, request(1),
			}, `[{"role":"exit"} "0" "a" "B" {"role":"exit"} {"role":"exit"} "D"]`, `[{"role":"exit"} "a" "b" {"role":"exit"} "\"exit\"" "c" {"role":"exit"}]`, []int{7},
		},
		"of an old version": {
			[]any{
				journal.TypeMessages, says(`"a"`, `"b"`), journal.TypeRewrite,
				map[string]any{"from": 0, "to": 1, "messages": []string{"A"}},
				journal.TypeRequest, request(1),
			}, `["A" "b"]`, `["a" "b"]`, []int{2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.jsonl")
			w := writer(t, path)
			if err := w.Begin(1, struct{}{}); err != nil {
				t.Fatal(err)
			}
			tell(t, w, c.records...)
			h := history(t, path)
			var at []int
			for _, r := range h.Rewrites {
				at = append(at, r.At)
			}
			if got := fmt.Sprintf("%s %s %v", h.Conversation(), h.Messages, at); got != fmt.Sprintf("%s %s %v", c.want, c.stayed, c.at) {
				t.Errorf("sent, conversation, rewritten at: %s; want %s %s %v", got, c.want, c.stayed, c.at)
			}
			if n := len(h.Steps); h.Steps[n-1].Tokens != int64(h.Steps[n-1].Number) {
				t.Errorf("the last request has %d tokens", h.Steps[n-1].Tokens)
			}
			if h.Release(); len(h.Conversation())+len(h.Rewrites)+len(h.Steps) > 0 {
				t.Errorf("%s is still held", h.Conversation())
			}
		})
	}
}

func TestACallThatIsNoStepIsPaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := writer(t, path)
	if err := w.Begin(1, struct{}{}); err != nil {
		t.Fatal(err)
	}
	tell(t, w, journal.TypeMessages, says(`"a"`), journal.TypeRequest, journal.RequestData{Step: 1},
		journal.TypeReply, journal.ReplyData{Step: 1, Cost: 0.5, Message: json.RawMessage(`{}`)},
		journal.TypeSummaryRequest, journal.SummaryRequestData{Step: 2, Digest: "d"},
		journal.TypeSummary, journal.SummaryData{Step: 2, Digest: "d", Reply: journal.ReplyData{Step: 2, Cost: 0.25, Message: json.RawMessage(`"s"`)}})
	if last, _ := w.State(); last.Calls != 1 || last.Cost != 0.75 {
		t.Errorf("%d calls for $%v, want 1 for $0.75", last.Calls, last.Cost)
	}
	for range 2 { // a resume keeps it
		h := history(t, path)
		if len(h.Summaries) != 1 || h.SummaryOf("d") == nil || string(h.SummaryOf("d").Message) != `"s"` || h.Last() == nil {
			t.Errorf("summaries %+v, last %+v; want one, a last reply", h.Summaries, h.Last())
		}
		if h.SummaryOf("e") != nil {
			t.Error("a summary of other messages was found")
		}
		if err := w.Resume(struct{}{}, 0.75, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A conversation with a summary is told from one in which a call showed that a shorter one is accepted.
func TestASummaryOfTheConversationIsKnown(t *testing.T) {
	reply := journal.ReplyData{Step: 1, Message: json.RawMessage(`{}`)}
	step := []any{journal.TypeMessages, says(`"a"`), journal.TypeRequest, journal.RequestData{Step: 1}, journal.TypeReply, reply, journal.TypeMessages, says(`"b"`)}
	asked := []any{journal.TypeSummaryRequest, journal.SummaryRequestData{Step: 2, Digest: "d"}}
	written := append(asked[:2:2], journal.TypeSummary, journal.SummaryData{Step: 2, Digest: "d"})
	refused := []any{journal.TypeRequest, journal.RequestData{Step: 2}, journal.TypeUnpaid, journal.UnpaidData{Step: 2}}
	rewrite := []any{journal.TypeRewrite, journal.RewriteData{Step: 2, Policy: "summarize", Summary: "d", Edits: []journal.Edit{edit(0, 1, `"s"`)}}}
	for name, c := range map[string]struct {
		records [][]any
		want    bool
	}{
		"no summary":              {[][]any{step}, false},
		"only asked for":          {[][]any{step, asked}, false},
		"not used yet":            {[][]any{step, written}, true},
		"used":                    {[][]any{step, written, rewrite, refused[:2]}, true},
		"used after a refusal":    {[][]any{step, refused, written, rewrite}, true},
		"a probe":                 {[][]any{step, refused, written}, false},
		"a probe, and a last try": {[][]any{step, refused[:2], {journal.TypeTry, journal.TryData{Step: 2}}, refused[2:], written}, false},
		"forgotten":               {[][]any{{journal.TypeTurn, journal.TurnData{Turn: 1, Words: "x"}}, step, written, {journal.TypeClear, nil}}, false},
	} {
		path := filepath.Join(t.TempDir(), "journal.jsonl")
		w := writer(t, path)
		if err := w.Begin(1, struct{}{}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			tell(t, w, slices.Concat(c.records...)...)
			if h := history(t, path); h.Summarized != c.want {
				t.Errorf("%s: %v, want %v", name, h.Summarized, c.want)
			}
			if err := w.Resume(struct{}{}, 0, nil); err != nil { // the second time, after a resume
				t.Fatal(err)
			}
		}
	}
}

// A rewrite record survives a round trip, and any other data is refused or read, without a
// panic.
func FuzzRewriteData(f *testing.F) {
	for _, seed := range []string{
		`{"step":2,"policy":"drop","tokens_before":9,"tokens_after":4,"edits":[{"from":1,"to":2,"messages":["x"]}]}`,
		`{"from":1,"to":2,"messages":[{}]}`, `{"edits":null}`, `{"edits":[]}`, `null`, `{"edits":[{"from":-1}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var d, again journal.RewriteData
		if json.Unmarshal([]byte(text), &d) != nil {
			t.Skip()
		}
		data, err := json.Marshal(d)
		if err == nil {
			err = json.Unmarshal(data, &again)
		}
		if err != nil || fmt.Sprint(d) != fmt.Sprint(again) {
			t.Errorf("%q came back as %+v, was %+v (%v)", text, again, d, err)
		}
	})
}

// An older version refuses the records that it cannot read, and only these.
func TestRecordsHaveTheVersionThatUnderstandsThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := writer(t, path)
	if err := w.Begin(1, struct{}{}); err != nil {
		t.Fatal(err)
	}
	tell(t, w, journal.TypeMessages, says(`"a"`), journal.TypeSummaryRequest, journal.SummaryRequestData{Step: 1},
		journal.TypeSummary, journal.SummaryData{Step: 1}, journal.TypeRewrite, rewritten(edit(0, 1, `"b"`)),
		journal.TypeRequest, journal.RequestData{Step: 1})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for line := range strings.Lines(string(data)) {
		var r journal.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprintf("%s %d\n", r.Type, r.Version)
	}
	if want := "attempt 2\nmessages 2\nsummary_request 3\nsummary 3\nrewrite 3\nrequest 2\n"; got != want {
		t.Errorf("records and versions:\n%s\nwant:\n%s", got, want)
	}
}
