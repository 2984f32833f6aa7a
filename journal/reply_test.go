package journal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/journal"
)

// writer opens the journal at path for a new attempt, or for a resume.
func writer(t testing.TB, path string) *journal.Writer {
	t.Helper()
	tail, err := journal.ReadTail(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := journal.Open(path, tail, journal.Options{Files: atomicfile.Files{}, Spend: func(_, _ float64) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// tell appends records, given as alternating types and data.
func tell(t testing.TB, w *journal.Writer, records ...any) {
	t.Helper()
	for i := 0; i < len(records); i += 2 {
		if err := w.Append(records[i].(string), records[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
}

func says(messages ...string) journal.MessagesData {
	var d journal.MessagesData
	for _, m := range messages {
		d.Messages = append(d.Messages, json.RawMessage(m))
	}
	return d
}

func history(t testing.TB, path string) *journal.History {
	t.Helper()
	h, err := journal.ReadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// prose is a text that is in no other record.
func prose(n int) string {
	return fmt.Sprintf("I look at file %d <&> \\\"é 😀\\u00e9\\n ", n) + strings.Repeat("and think, ", 20)
}

func TestAReplyIsStoredOnce(t *testing.T) {
	text, arguments := prose(1), prose(2)
	message := `{"role":"assistant","content":"` + text + `","tool_calls":[{"id":"c","function":{"name":"bash","arguments":"` + arguments + `"}}]}`
	whole := strings.TrimSuffix(message, "}") + `,"extra":{"response":{"step":1},"cost":0.5}}`
	sorted := `{"content":"` + text + `","extra":{"response":{"step":1}},"role":"assistant"}`
	for name, response := range map[string]string{
		"the message verbatim":             `{"id":"x", "choices": [{"message": ` + message + "}],\n\"usage\":{}}",
		"its parts elsewhere":              `{"output":[{"arguments":"` + arguments + `"},{"text":"` + text + `"}],"text":"` + text + `"}`,
		"nothing of it":                    `{"id":"a string of the response alone, which is longer than what is shared"}`,
		"no response":                      ``,
		"a text that only looks the same":  `{"text":"` + text + ` ","a":["` + strings.Repeat(",1", 40) + `"]}`,
		"the text's beginning as a member": `{"` + text + `":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.jsonl")
			w := writer(t, path)
			if err := w.Begin(1, struct{}{}); err != nil {
				t.Fatal(err)
			}
			d := journal.ReplyData{Step: 1, Message: json.RawMessage(message)}
			if response != "" {
				d.Response = json.RawMessage(response)
			}
			tell(t, w, journal.TypeRequest, journal.RequestData{Step: 1}, journal.TypeReply, d, journal.TypeMessages, says(`{"a":1}`, whole, `{"role":"tool"}`))
			// A resume records the messages again.
			if err := w.Resume(struct{}{}, 0, history(t, path).Last().Reply); err != nil {
				t.Fatal(err)
			}
			tell(t, w, journal.TypeMessages, says(whole, sorted), journal.TypeRequest, journal.RequestData{Step: 2})
			h := history(t, path)
			if len(h.Messages) != 2 || string(h.Messages[0]) != whole || string(h.Messages[1]) != sorted {
				t.Errorf("messages %s, want 2 messages, messages 0 %v, messages 1 %v", h.Messages, whole, sorted)
			}
			source, err := h.Source()
			if err != nil {
				t.Fatal(err)
			}
			defer source.Close()
			got, err := source.Response(1)
			var want bytes.Buffer
			if response != "" {
				if err := json.Compact(&want, []byte(response)); err != nil {
					t.Fatal(err)
				}
			}
			if err != nil || string(got) != want.String() {
				t.Errorf("response %s, %v; want %s", got, err, want.String())
			}
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{text, arguments} {
				if n := bytes.Count(file, []byte(`"`+s+`"`)); n != 1 {
					t.Errorf("got %.30s stands %d times; want 1", s, n)
				}
			}
		})
	}
}

func TestAJournalOfVersion1IsReadAndAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	message := `{"role":"assistant","content":"` + prose(1) + `"}`
	var old strings.Builder
	for i, r := range [][2]string{
		{"attempt", `{"owner":"o"}`},
		{"messages", `{"messages":[{"role":"user"}]}`},
		{"request", `{"step":1,"digest":"d"}`},
		{"reply", `{"step":1,"cost":0.5,"usage":{},"model":"m","seconds":1,"waited":0,"message":` + message + `,"priced":true,"response":{"m":` + message + `}}`},
		{"messages", `{"messages":[` + message + `]}`},
	} {
		body := fmt.Sprintf(`{"v":1,"seq":%d,"attempt":1,"start":0,"calls":1,"cost":0.5,"t":"2026-01-02T03:04:05Z","type":%q,"data":%s`, i+1, r[0], r[1])
		fmt.Fprintf(&old, "%s,\"crc\":\"%08x\"}\n", body, crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)))
	}
	if err := os.WriteFile(path, []byte(old.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	last := history(t, path).Last()
	if last == nil || string(last.Reply.Message) != message || string(last.Reply.Response) != `{"m":`+message+`}` {
		t.Fatalf("got %+v, want a last message, message %v, response %v", last, message, `{"m":`+message+`}`)
	}
	w := writer(t, path)
	if err := w.Resume(struct{}{}, 0, last.Reply); err != nil {
		t.Fatal(err)
	}
	tell(t, w, journal.TypeMessages, says(message), journal.TypeRequest, journal.RequestData{Step: 2})
	if h := history(t, path); fmt.Sprintf("%s", h.Messages) != `[{"role":"user"} `+message+`]` {
		t.Errorf("messages %s, want the user's and the reply", h.Messages)
	}
}

func TestAReferenceToAMissingReplyIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := writer(t, path)
	if err := w.Begin(1, struct{}{}); err != nil {
		t.Fatal(err)
	}
	tell(t, w, journal.TypeMessages, json.RawMessage(`{"messages":[{"a":1}],"reply":1,"shared":[[1,0,2]]}`))
	if _, err := journal.ReadHistory(path); err == nil || !strings.Contains(err.Error(), "does not come before it") {
		t.Errorf("got %v, want an error with %q", err, "does not come before it")
	}
	var d journal.ReplyData
	if err := json.Unmarshal([]byte(`{"message":{},"response":"","shared":[[0,0,9]]}`), &d); err == nil {
		t.Errorf("got %+v, want an error", d)
	}
}

func TestNoRecordRefersToAReplyThatWasNotWritten(t *testing.T) {
	plan, err := inject.Parse("journal.append:5=ENOSPC")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w, err := journal.Open(path, journal.Tail{}, journal.Options{Files: atomicfile.Files{Inject: plan}, Spend: func(_, _ float64) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Begin(1, struct{}{}); err != nil {
		t.Fatal(err)
	}
	first, second := `{"content":"`+prose(1)+`"}`, `{"content":"`+prose(2)+`"}`
	tell(t, w, journal.TypeRequest, journal.RequestData{Step: 1}, journal.TypeReply, journal.ReplyData{Step: 1, Message: json.RawMessage(first)},
		journal.TypeRequest, journal.RequestData{Step: 2})
	if err := w.Append(journal.TypeReply, journal.ReplyData{Step: 2, Message: json.RawMessage(second)}); err == nil {
		t.Fatal("a reply that cannot be written was recorded")
	}
	tell(t, w, journal.TypeMessages, says(first, second))
	if h := history(t, path); len(h.Later) != 2 || string(h.Later[0]) != first || string(h.Later[1]) != second {
		t.Errorf("messages %s, want 2 later, later 0 %v, later 1 %v", h.Later, first, second)
	}
}

func TestWhatIsNotJSONIsNotRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := writer(t, path)
	if err := w.Begin(1, struct{}{}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`{"a":1`, `{a}`, `\`, "{\"a\":\"\x01" + prose(1) + `"}`, `{"a":"` + prose(1) + `\x"}`} {
		for _, data := range []any{
			journal.ReplyData{Step: 1, Message: json.RawMessage(bad), Response: json.RawMessage(bad)},
			journal.ReplyData{Step: 1, Message: json.RawMessage(`{}`), Response: json.RawMessage(bad)},
			says(bad),
		} {
			if err := w.Append(journal.TypeReply, data); err == nil {
				t.Errorf("%T with %q was recorded, want an error", data, bad)
			}
		}
	}
}

// Any answer of a provider survives a round trip.
func FuzzReplyRoundTrip(f *testing.F) {
	long := strings.Repeat("x", 70)
	for _, seed := range [][2]string{
		{`{"content":"` + long + `"}`, `{"a":"` + long + `","b":"` + long + `"}`},
		{`{"content":"` + long + `\\\""}`, `["` + long + `\\\"",{"` + long + `\\\"":"` + long + `"}]`},
		{`{}`, `null`},
		{`"` + long + `"`, `"` + long + `"`},
		{`[]`, `  [1, 2]`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, message, response string) {
		if !json.Valid([]byte(message)) || !json.Valid([]byte(response)) {
			t.Skip()
		}
		path := filepath.Join(t.TempDir(), "journal.jsonl")
		w := writer(t, path)
		if err := w.Begin(1, struct{}{}); err != nil {
			t.Fatal(err)
		}
		d := journal.ReplyData{Step: 1, Message: json.RawMessage(message), Response: json.RawMessage(response)}
		tell(t, w, journal.TypeRequest, journal.RequestData{Step: 1}, journal.TypeReply, d, journal.TypeMessages, says(message, response))
		h := history(t, path)
		got := []json.RawMessage{h.Last().Reply.Message, h.Last().Reply.Response, h.Later[0], h.Later[1]}
		for i, want := range []string{message, response, message, response} {
			var c bytes.Buffer
			_ = json.Compact(&c, []byte(want))
			if text := strings.ToValidUTF8(c.String(), "\ufffd"); string(got[i]) != text && text != "null" {
				t.Errorf("%d: %q came back as %q; want the same", i, text, got[i])
			}
		}
	})
}

func TestWaitsOfOldRepliesCountAsRateLimits(t *testing.T) {
	for text, want := range map[string]float64{`{"waited":7}`: 7, `{"waited":7,"limited":0}`: 0, `{"waited":7,"limited":2}`: 2} {
		var r journal.ReplyData
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		if got := r.RateLimited(); got != want {
			t.Errorf("%s: %v of it for rate limits, want %v", text, got, want)
		}
	}
}
