package results_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// trajectoryOf writes an attempt of one step, with the messages and the records that they
// may refer to, and returns the messages of its trajectory.
func trajectoryOf(t *testing.T, out journal.OutputData, reply journal.ReplyData, messages ...string) []json.RawMessage {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	a := begin(t, s, "a")
	var d journal.MessagesData
	for _, m := range messages {
		d.Messages = append(d.Messages, json.RawMessage(m))
	}
	tell(
		t, a, journal.TypeRequest, request(1), journal.TypeReply, reply,
		journal.TypeAction, action(1, "a"), journal.TypeOutput, out, journal.TypeMessages, d,
	)
	end(t, s, a, result("a", ""))
	var got results.Trajectory
	if err := json.Unmarshal([]byte(read(t, dir, "a", "a.traj.json")), &got); err != nil {
		t.Fatal(err)
	}
	return got.Messages
}

func TestOnlyRealReferencesAreFollowed(t *testing.T) {
	out := journal.OutputData{Step: 1, Action: 1, Output: vocab.Output{Total: 5}, Kept: []byte("hello")}
	answer := journal.ReplyData{Step: 1, Message: json.RawMessage(`{}`), Response: json.RawMessage(`{"id":"r-1"}`)}
	for name, c := range map[string]struct{ message, want string }{
		"an output":                     {`{"extra":{"raw_output":{"step":1,"action":1},"after":1}}`, `{"extra":{"raw_output":"hello","after":1}}`},
		"an answer":                     {`{"extra":{"response":{"step":1},"after":1}}`, `{"extra":{"response":{"id":"r-1"},"after":1}}`},
		"both":                          {`{"extra":{"response":{"step":1},"raw_output":{"step":1,"action":1}}}`, `{"extra":{"response":{"id":"r-1"},"raw_output":"hello"}}`},
		"an answer that is not there":   {`{"extra":{"response":{"step":2}}}`, `{"extra":{"response":{"step":2}}}`},
		"an output that is not there":   {`{"extra":{"raw_output":{"step":1,"action":2}}}`, `{"extra":{"raw_output":""}}`},
		"more than a reference":         {`{"extra":{"response":{"step":1,"id":7}}}`, `{"extra":{"response":{"step":1,"id":7}}}`},
		"another member":                {`{"other":{"response":{"step":1}}}`, `{"other":{"response":{"step":1}}}`},
		"not in extra itself":           {`{"extra":{"in":{"response":{"step":1}}}}`, `{"extra":{"in":{"response":{"step":1}}}}`},
		"a list":                        {`["extra",{"response":{"step":1}}]`, `["extra",{"response":{"step":1}}]`},
		"a list in extra":               {`{"extra":["response",{"step":1}],"more":{"response":{"step":1}}}`, `{"extra":["response",{"step":1}],"more":{"response":{"step":1}}}`},
		"text":                          {`"extra \"response\":{\"step\":1}"`, `"extra \"response\":{\"step\":1}"`},
		"an answer of no object's kind": {`{"extra":{"response":"step 1"}}`, `{"extra":{"response":"step 1"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := trajectoryOf(t, out, answer, c.message)
			if len(got) != 1 || compact(t, got[0]) != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	t.Run("an answer that was not kept", func(t *testing.T) {
		const message = `{"extra":{"response":{"step":1}}}`
		if got := trajectoryOf(t, out, reply(1), message); compact(t, got[0]) != message {
			t.Errorf("got %s, want %v", got, message)
		}
	})
}

func compact(t *testing.T, text json.RawMessage) string {
	t.Helper()
	return strings.NewReplacer("\n", "", "  ", "", ": ", ":").Replace(string(text))
}

func TestATrajectoryHasTheWholeLargeOutput(t *testing.T) {
	const reference = `{"extra":{"raw_output":{"step":1,"action":1}}}`
	type extra struct {
		Extra struct {
			RawOutput   string `json:"raw_output"`
			Base64      []byte `json:"raw_output_base64"`
			OutputBytes int64  `json:"output_bytes"`
		}
	}
	for name, text := range map[string]string{
		"one byte a character":   strings.Repeat("0123456789abcde\n", 40<<10),
		"two, from an odd place": "x" + strings.Repeat("é", 100<<10),
		"one":                    "x",
		"one more than a part":   strings.Repeat("x", 16<<10) + "y",
		"four":                   "xyz" + strings.Repeat("😀", 50<<10),
		"none that is UTF-8":     "\"" + strings.Repeat("\x80\xff", 50<<10),
	} {
		for _, dropped := range []int64{0, 7} {
			var got extra
			total := int64(len(text)) + dropped
			messages := trajectoryOf(t, journal.OutputData{Step: 1, Action: 1, Output: vocab.Output{Total: total}, Kept: []byte(text)}, reply(1), reference)
			if err := json.Unmarshal(messages[0], &got); err != nil {
				t.Fatal(err)
			}
			want := extra{}
			want.Extra.RawOutput = strings.ToValidUTF8(text, "\ufffd")
			if name == "none that is UTF-8" {
				want.Extra.RawOutput = "\"" + strings.Repeat("\ufffd\ufffd", 50<<10)
				want.Extra.Base64 = []byte(text)
			}
			if dropped > 0 {
				want.Extra.OutputBytes = total
			}
			if got.Extra.RawOutput != want.Extra.RawOutput || got.Extra.OutputBytes != want.Extra.OutputBytes || !bytes.Equal(got.Extra.Base64, want.Extra.Base64) {
				t.Errorf("%s: %d bytes became %d, %d as base64, with output_bytes %d", name, len(text), len(got.Extra.RawOutput), len(got.Extra.Base64), got.Extra.OutputBytes)
			}
		}
	}
}

func TestAHistoryHasLargeOutputsDifferencesAndSteps(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := begin(t, s, "a")
	large := strings.Repeat("0123456789abcde\n", 40<<10) // larger than a reader's buffer
	tell(
		t, a, journal.TypeRequest, request(1), journal.TypeReply, reply(1),
		journal.TypeAction, action(1, "a"), journal.TypeOutput, output(1, large), journal.TypeAction, action(1, "b"), journal.TypeOutput, output(1, "small"),
		journal.TypeDifference, journal.DifferenceData{Step: 1}, journal.TypeDifference, journal.DifferenceData{Step: 1},
		journal.TypeRequest, request(2), journal.TypeRequest, request(2), journal.TypeReply, reply(2),
	)
	h, err := s.History("a")
	if err != nil {
		t.Fatal(err)
	}
	for number, want := range map[int]string{1: large, 2: "small", 3: ""} {
		if got, err := h.Output(1, number); err != nil || string(got) != want || (got == nil) != (want == "") {
			t.Errorf("output %d has %d bytes, %v; want %.100q, no error", number, len(got), err, want)
		}
	}
	if h.Differences != 2 || h.Last() == nil || h.Last().Number != 2 {
		t.Errorf("%d differences, the last step is %+v", h.Differences, h.Last())
	}
	if before := h.Before(); len(before) != 1 || before[0].Number != 1 || before[0].Actions[0].Output.Kept != nil {
		t.Errorf("before it: %+v, want 1 before, number 1, kept nil", before)
	}
	if kept := int64(len(large) + len("small")); h.Kept < kept || h.Kept > kept+8 {
		t.Errorf("%d bytes are kept, about, want %d", h.Kept, kept)
	}
	tell(t, a, journal.TypeRequest, request(3))
	if h, err = s.History("a"); err != nil || h.Last() != nil || len(h.Before()) != 2 {
		t.Errorf("with a call under way: got %+v, %v", h.Last(), err)
	}
}
