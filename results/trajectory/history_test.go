package trajectory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// sameViews fails if the view from an instance's journal differs from the view from its file, in what
// both know. It returns the view from the journal.
func sameViews(t *testing.T, dir, id string, m *mask.Masker) *View {
	t.Helper()
	s := Source{Dir: dir, Instance: id, Attempt: -1}
	got, err := s.Read(m)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := results.WriteTrajectory(&text, dir, id, got.Attempt, m); err != nil {
		t.Fatal(err)
	}
	want, err := Parse(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(inBoth(want, want), inBoth(got, want)); d != "" {
		t.Errorf("the views of the file and of the journal differ (-file +journal):\n%s", d)
	}
	return got
}

// inBoth returns what a journal and a file know of an attempt, as v has it. A file does not know a command
// without an answer, nor a reply that is not in the conversation yet.
func inBoth(v, file *View) any {
	type action struct {
		Tool, Command, Output, Note string
		State                       State
		Exit                        any
		Answer                      int
	}
	type step struct {
		Number, Reply      int
		Refused            bool
		Thought, Reasoning string
		Notes              []Message
		Cost               float64
		Rewrites           int
		Actions            []action
	}
	var steps []step
	for i, s := range v.Steps[:min(len(v.Steps), len(file.Steps))] {
		to := step{s.Number, s.Reply, s.Refused, s.Thought, s.Reasoning, s.Notes, s.Cost, len(s.Rewrites), nil}
		for j, a := range s.Actions {
			act := action{Tool: a.Tool, Command: a.Command}
			if file.Steps[i].Actions[j].State != Unknown {
				act = action{a.Tool, a.Command, a.Output, a.Note, a.State, nil, a.Answer}
				if a.Exit != nil && file.Steps[i].Actions[j].Exit != nil {
					act.Exit = *a.Exit
				}
			}
			to.Actions = append(to.Actions, act)
		}
		steps = append(steps, to)
	}
	var chats [][]Chat
	for _, m := range v.Messages {
		chats = append(chats, ReadChat(m))
	}
	patch := v.Patch
	if file.Patch == nil { // or it is not text
		patch = nil
	}
	settings, _ := json.Marshal([]any{v.Info.Config["agent"], v.Info.Config["model"]}) //nolint:errchkjson // they were read
	var config any
	_ = json.Unmarshal(settings, &config)
	return []any{v.Instance, v.Attempt, v.Prompts, v.Exit, patch, v.Info.BatchVersion, config, steps, chats}
}

// An attempt is read at each instant of its life: after each record of its journal.
func TestAViewFromTheJournalIsTheViewOfTheFile(t *testing.T) {
	for _, form := range []string{"toolcall", "text", "tools"} {
		whole, err := os.ReadFile(results.JournalPath(filepath.Join("..", "export", "testdata", form), "demo__roman-8"))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		path := results.JournalPath(dir, "demo__roman-8")
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		steps := 0
		for end := range lines(whole) {
			if err := os.WriteFile(path, whole[:end], 0o600); err != nil {
				t.Fatal(err)
			}
			if v := sameViews(t, dir, "demo__roman-8", mask.New(mask.Secret{Name: "WORD", Value: "Roman numerals"})); v != nil {
				steps = len(v.Steps)
			}
		}
		if steps < 4 {
			t.Errorf("%s: %d steps in the end, want more", form, steps)
		}
	}
}

// lines yields the ends of the lines.
func lines(text []byte) func(yield func(end int) bool) {
	return func(yield func(end int) bool) {
		for end := 0; end < len(text); {
			end += bytes.IndexByte(text[end:], '\n') + 1
			if !yield(end) {
				return
			}
		}
	}
}

func TestWhatIsOddInAJournalIsTheSameInBothViews(t *testing.T) {
	const secret = "sk-planted-0123456789"
	dir := t.TempDir()
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.Begin("a", manifest.Settings{Model: "m", Prompts: secret, Config: map[string]any{"agent": map[string]any{"cost_limit": 3}}})
	if err != nil {
		t.Fatal(err)
	}
	messages := func(list ...string) journal.MessagesData {
		var d journal.MessagesData
		for _, m := range list {
			d.Messages = append(d.Messages, json.RawMessage(m))
		}
		return d
	}
	arguments := `{"path":"/f é` + secret + `","view_range":[1, 50],"deep":{"a":null,"b":"\u00e9<","c":1.50}}`
	reply := `{"role":"assistant","content":"I look.","extra":{"timestamp":12.5,"actions":[{"tool":"edit","command":"","arguments":` + arguments + `,"tool_call_id":"1"}],
		"cost":0.5,"response":{"step":1}}}`
	response := `{"role":"assistant","usage":{"input_tokens":7,"output_tokens":2},"content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"1","name":"edit","input":` + arguments + `}]}`
	for _, r := range []struct {
		typ  string
		data any
	}{
		{journal.TypeMessages, messages(`{"role":"system","content":"You"}`, `{"role":"user","content":"Fix \u00e9 `+secret+`"}`)},
		{journal.TypeContainer, journal.ContainerData{Container: "c", Image: "img"}},
		{journal.TypeRequest, journal.RequestData{Step: 1}},
		{journal.TypeReply, journal.ReplyData{Step: 1, Cost: 0.5, Priced: true, Message: json.RawMessage(reply), Response: json.RawMessage(response)}},
		{journal.TypeMessages, messages(reply)},
		{journal.TypeAction, journal.ActionData{Step: 1, Tool: "edit"}},
		{journal.TypeOutput, journal.OutputData{Step: 1, Kept: []byte("caf\xe9 " + secret), Output: vocab.Output{ExitCode: 3, Total: 100}}},
		{journal.TypeMessages, messages(`{"role":"tool","tool_call_id":"1","content":"caf","extra":{"raw_output":{"step":1,"action":1},"returncode":3,"exception_info":"","timestamp":13}}`)},
		{journal.TypeRequest, journal.RequestData{Step: 2}},
		{journal.TypeReply, journal.ReplyData{Step: 2, Cost: 0.25, Priced: true, Message: json.RawMessage(`{"role":"assistant","content":"x"}`), Response: json.RawMessage(response)}},
		{journal.TypeMessages, messages(`{"role":"user","content":"No such tool.","extra":{"interrupt_type":"FormatError","cost":0.25,"response":{"step":2}}}`)},
		{journal.TypeRewrite, journal.RewriteData{Step: 3, Policy: "drop", Before: 9, After: 5, Edits: []journal.Edit{{From: 2, To: 4, Messages: messages(`{"role":"user","content":"short ` + secret + `"}`).Messages}}}},
		{journal.TypeRequest, journal.RequestData{Step: 3}},
		{journal.TypeSalvage, journal.SalvageData{Patch: []byte("caf\xe9")}},
	} {
		if err := a.Journal().Append(r.typ, r.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Journal().Sync(); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*mask.Masker{nil, mask.New(mask.Secret{Name: "KEY", Value: secret})} {
		v := sameViews(t, dir, "a", m)
		if len(v.Steps) != 2 || len(v.Steps[0].Actions) != 1 || v.Asked.IsZero() {
			t.Fatalf("%+v; want two steps, the first with an action, and a call", v)
		}
		if hidden := !bytes.Contains(fmt.Appendf(nil, "%q", v.Messages), []byte(secret)); hidden != (m != nil) {
			t.Errorf("hidden: %t, want %t", hidden, m != nil)
		}
		if command := v.Steps[0].Actions[0].Command; m == nil && command != "path: /f é"+secret+"\nview_range: [1,50]\ndeep: {\"a\":null,\"b\":\"é<\",\"c\":1.50}" {
			t.Errorf("the action is %q", command)
		}
	}
}
