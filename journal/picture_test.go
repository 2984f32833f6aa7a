package journal_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

func pictured(step, action int, picture string) journal.OutputData {
	text := vocab.PictureMark + picture
	return journal.OutputData{Step: step, Action: action, Output: vocab.Output{Total: int64(len(text))}, Kept: []byte(text)}
}

func lookedAt(call, picture string) string {
	return `{"role":"tool","content":"png","tool_call_id":"` + call + `","extra":{"parts":[{"type":"tool_result","tool_call_id":"` + call +
		`","parts":[{"type":"text"},{"type":"image","media_type":"image/png","data":"` + base64.StdEncoding.EncodeToString([]byte(picture)) + `"}]}]}}`
}

// The bytes of a picture are in its output alone, and the conversation is exact, also if the attempt was resumed
// between the outputs of one reply, and if people read copies.
func TestAPictureIsStoredOnce(t *testing.T) {
	a, b, c := "\x89PNG a"+strings.Repeat("a", 300), "\x89PNG b"+strings.Repeat("b", 301), "\x89PNG c"+strings.Repeat("c", 302)
	const secret = "planted-secret-0815"
	hidden := "\x89PNG " + secret + strings.Repeat("d", 300)
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := masked(t, path, knows(secret))
	if err := w.Begin(1, map[string]string{}); err != nil {
		t.Fatal(err)
	}
	reply := func(step int) journal.ReplyData {
		return journal.ReplyData{Step: step, Message: json.RawMessage(`{"role":"assistant","content":"` + prose(step) + `"}`), Response: json.RawMessage("{}")}
	}
	first := reply(1)
	tell(t, w,
		journal.TypeMessages, says(`{"role":"user","content":"task"}`),
		journal.TypeRequest, journal.RequestData{Step: 1}, journal.TypeReply, first,
		journal.TypeMessages, says(string(first.Message)),
		journal.TypeAction, journal.ActionData{Step: 1, Action: 1, Command: "view a"}, journal.TypeOutput, pictured(1, 1, a),
		journal.TypeAction, journal.ActionData{Step: 1, Action: 2, Command: "view b"}, journal.TypeOutput, pictured(1, 2, b),
		journal.TypeMessages, says(lookedAt("1", a), lookedAt("2", b)),
		journal.TypeRequest, journal.RequestData{Step: 2}, journal.TypeReply, reply(2),
		journal.TypeMessages, says(string(reply(2).Message)),
		journal.TypeAction, journal.ActionData{Step: 2, Action: 1, Command: "view a"}, journal.TypeOutput, pictured(2, 1, a),
	)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	h := history(t, path)
	w = masked(t, path, knows(secret))
	if err := w.Resume(map[string]string{}, 0, h.LastReply()); err != nil {
		t.Fatal(err)
	}
	second := reply(2)
	tell(t, w,
		journal.TypeMessages, says(string(second.Message)),
		journal.TypeAction, journal.ActionData{Step: 2, Action: 2, Command: "view c"}, journal.TypeOutput, pictured(2, 2, c),
		journal.TypeMessages, says(lookedAt("3", c)),
		journal.TypeRequest, journal.RequestData{Step: 3}, journal.TypeReply, reply(3),
		journal.TypeMessages, says(string(reply(3).Message)),
		journal.TypeAction, journal.ActionData{Step: 3, Action: 1, Command: "view d"}, journal.TypeOutput, pictured(3, 1, hidden),
		journal.TypeMessages, says(lookedAt("4", hidden)),
		journal.TypeRequest, journal.RequestData{Step: 4},
	)
	got := ""
	for _, m := range history(t, path).Messages {
		got += string(m) + "\n"
	}
	want := strings.Join([]string{
		`{"role":"user","content":"task"}`, string(first.Message), lookedAt("1", a), lookedAt("2", b), string(second.Message), lookedAt("3", c),
		string(reply(3).Message), lookedAt("4", hidden), "",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, picture := range []string{a, b, c, hidden} {
		if strings.Contains(string(text), `"data":"`+base64.StdEncoding.EncodeToString([]byte(picture))) {
			t.Errorf("%.8q is in a message", picture)
		}
	}
	shown, err := journal.ReadShown(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	people := ""
	for _, m := range shown.Messages {
		people += string(m) + "\n"
	}
	if left := strings.Replace(want, base64.StdEncoding.EncodeToString([]byte(hidden)), "", 1); people != left {
		t.Errorf("people read\n%s\nwant\n%s", people, left)
	}
}
