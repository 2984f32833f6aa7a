package trajectory_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// writer writes a journal as a run does.
type writer struct {
	t    testing.TB
	j    *journal.Writer
	dir  string
	path string
	step int
	last []json.RawMessage // messages since the last request
	rand *rand.Rand
}

func newWriter(t testing.TB) *writer {
	t.Helper()
	w := &writer{t: t, dir: t.TempDir(), rand: rand.New(rand.NewPCG(1, 2))}
	w.path = results.JournalPath(w.dir, demo)
	w.ok(os.Mkdir(filepath.Dir(w.path), 0o700))
	w.open()
	return w
}

func (w *writer) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) open() {
	tail, err := journal.ReadTail(w.path)
	w.ok(err)
	w.j, err = journal.Open(w.path, tail, journal.Options{Durability: journal.Process, Spend: func(_, _ float64) {}})
	w.ok(err)
}

func (w *writer) begin(n int) {
	w.step = 0
	w.ok(w.j.Begin(n, map[string]any{"owner": "host h, pid 1, since 2026-01-01T00:00:00Z"}))
	w.add(journal.TypeContainer, journal.ContainerData{Container: "c", Image: "i", ImageID: "sha256:0"})
	w.messages(message("system", "You are an engineer."), message("user", "Fix the defect."))
}

func (w *writer) add(typ string, v any) {
	w.t.Helper()
	w.ok(w.j.Append(typ, v))
}

func (w *writer) flush() { w.ok(w.j.Flush()) }

func (w *writer) messages(list ...json.RawMessage) {
	w.add(journal.TypeMessages, journal.MessagesData{Messages: list})
	w.last = append(w.last, list...)
}

func message(role, text string) json.RawMessage {
	return encode(map[string]any{"role": role, "content": text})
}

func encode(v any) json.RawMessage {
	text, _ := json.Marshal(v) //nolint:errchkjson // texts
	return text
}

// ask records a request.
func (w *writer) ask() {
	w.last = nil
	w.add(journal.TypeRequest, journal.RequestData{Step: w.step + 1, Digest: "d", Tokens: 1000})
}

// reply records an answer with a command in a call of a tool, and its message.
func (w *writer) reply(thought, command string) {
	w.step++
	id := fmt.Sprintf("call_%d", w.step)
	calls := []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "bash", "arguments": string(encode(map[string]any{"command": command}))}}}
	m := map[string]any{"role": "assistant", "content": thought, "tool_calls": calls}
	response := encode(map[string]any{"id": "chatcmpl-1", "choices": []any{map[string]any{"message": m, "finish_reason": "stop"}}})
	limited := 0.5
	w.add(journal.TypeReply, journal.ReplyData{
		Step: w.step, Cost: 0.01, Usage: vocab.Usage{Input: 1000, Cached: 750, Output: 50}, Model: "m", Seconds: 2, Waited: 1, Limited: &limited,
		Message: encode(m), FinishReason: "stop", Priced: true, Response: response,
	})
	m["extra"] = map[string]any{"actions": []any{map[string]any{"command": command, "tool_call_id": id}}, "cost": 0.01, "response": map[string]any{"step": w.step}, "timestamp": 1.5}
	w.messages(encode(m))
}

// act records a command and its output.
func (w *writer) act(command string, d journal.OutputData) {
	w.add(journal.TypeAction, journal.ActionData{Step: w.step, Action: 1, Command: command})
	w.output(d)
}

func (w *writer) output(d journal.OutputData) {
	d.Step, d.Action, d.Seconds, d.SHA256 = w.step, 1, 0.25, strings.Repeat("0", 64)
	if d.Total == 0 {
		d.Total = int64(len(d.Kept))
	}
	w.add(journal.TypeOutput, d)
	shown := string(d.Kept)
	if len(shown) > 10_000 {
		shown = shown[:5000] + "\n[...]\n" + shown[len(shown)-5000:]
	}
	w.messages(encode(map[string]any{
		"role": "tool", "tool_call_id": fmt.Sprintf("call_%d", w.step), "content": fmt.Sprintf("<returncode>%d</returncode>\n<output>\n%s</output>", d.ExitCode, shown),
		"extra": map[string]any{"raw_output": journal.OutputRef{Step: w.step, Action: 1}, "returncode": d.ExitCode, "exception_info": "", "timestamp": 2.5},
	}))
}

// full records a whole step.
func (w *writer) full(thought, command, output string) {
	w.ask()
	w.reply(thought, command)
	w.act(command, journal.OutputData{Output: vocab.Output{}, Kept: []byte(output)})
}

func (w *writer) finish(status vocab.Status) {
	w.add(journal.TypeInterrupt, journal.InterruptData{Step: w.step, Name: status})
	w.messages(encode(map[string]any{"role": "exit", "content": "bye", "extra": map[string]any{"exit_status": string(status), "submission": ""}}))
	end := encode(map[string]any{"record": map[string]any{"instance_id": demo, "attempt": 1, "exit_status": status, "outcome": "limits"}, "spent": 0.1})
	w.ok(w.j.Finish(journal.Record{Type: journal.TypeEnd, Data: end}))
}

// text returns lines of a log with about n bytes.
func (w *writer) text(n int) string {
	words := strings.Fields("the value of self is not None return assert test_parse ERROR in line File module.py raise ValueError import os def setup PASSED FAILED 0x7f 17 42 é ")
	var b strings.Builder
	for b.Len() < n {
		for range 4 + w.rand.IntN(9) {
			b.WriteString(words[w.rand.IntN(len(words))])
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// large writes a journal of about size bytes.
func large(b testing.TB, size int64, output int) *writer {
	w := newWriter(b)
	w.begin(1)
	text := w.text(output)
	for written := int64(0); written < size; {
		w.full(w.text(600), "grep -rn "+w.text(100), text)
		w.flush()
		info, err := os.Stat(w.path)
		w.ok(err)
		written = info.Size()
	}
	w.ok(w.j.Close())
	return w
}
