package solver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/internal/sample"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
)

// asRead is a message in the form of most providers, with additional members.
func asRead(t *testing.T, m *llm.Message, more string) {
	t.Helper()
	text, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	m.Chat = json.RawMessage(strings.TrimSuffix(string(text), "}") + more + "}")
}

// sealed is a message of a provider with another protocol than OpenAI's.
func sealed(_ *testing.T, m *llm.Message, _ string) {
	parts := []llm.Part{llm.Reasoning{Text: "hm", Opaque: llm.Opaque{Provider: "anthropic", Data: "c2ln"}}}
	for _, c := range m.ToolCalls() {
		c.Opaque = llm.Opaque{Provider: "gemini", Data: "dGhvdWdodA=="}
		parts = append(parts, c, llm.Text{Text: "after " + c.ID})
	}
	m.Parts = parts
}

// Members that a provider wrote beyond the message's own fields are sent back to it
// after a crash too. Those that it did not write are not held in memory twice.
func TestAResumedAttemptSendsTheSameMessages(t *testing.T) {
	for name, c := range map[string]struct {
		write func(*testing.T, *llm.Message, string)
		more  string
		holds bool
	}{
		"a message with its reasoning":  {asRead, `,"reasoning_content":"a < b"`, true},
		"a plain message":               {asRead, "", false},
		"a message of another protocol": {sealed, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlaying(t, plays["submits"])
			p.provider = func(m *llm.Message) { c.write(t, m, c.more) }
			whole := t.TempDir()
			p.solve(whole)
			want := p.requests[len(p.requests)-1]
			lines := p.lines(whole)
			cut := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"command":"do 6"`)) })
			p.solve(p.crashed(lines[:cut], false))
			got := p.requests[len(p.requests)-1]
			if diff := cmp.Diff(sent(t, want), sent(t, got)); diff != "" {
				t.Errorf("the last request: %s, want no difference", diff)
			}
			for _, m := range got[:len(got)-2] { // messages from the journal
				if m.Role == llm.RoleAssistant && (m.Chat != nil) != c.holds {
					t.Errorf("the message %q has the provider's members %q", m.Text(), m.Chat)
				}
			}
		})
	}
}

// chat is a message as in an answer of OpenAI's chat completions.
func chat(t *testing.T, m *llm.Message, more string) {
	t.Helper()
	asRead(t, m, more)
	var members map[string]any
	if err := json.Unmarshal(m.Chat, &members); err != nil {
		t.Fatal(err)
	}
	m.Chat, _ = json.Marshal(members) // its members are in another order than batch writes them
}

// thought is a message with reasoning that only its provider understands.
func thought(t *testing.T, m *llm.Message, more string) {
	t.Helper()
	sealed(t, m, "")
	m.Parts = append(m.Parts, llm.Text{Text: more})
}

func TestAReplyIsJournaledOnce(t *testing.T) {
	text := strings.Repeat("a text that is long enough to be worth it, ", 3)
	for name, write := range map[string]func(*testing.T, *llm.Message, string){
		"as OpenAI has it": func(t *testing.T, m *llm.Message, _ string) { chat(t, m, `,"reasoning_content":"`+text+`"`) },
		"as scripted":      func(_ *testing.T, m *llm.Message, _ string) { m.Parts = append(llm.Say(text), m.Parts...) },
		"of another form":  func(t *testing.T, m *llm.Message, _ string) { thought(t, m, text) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlaying(t, []scripted.Reply{bash("do 1"), bash("submit")})
			p.provider = func(m *llm.Message) {
				if len(p.requests) == 1 {
					write(t, m, "")
				}
			}
			dir := t.TempDir()
			p.solve(dir)
			var replies, all int
			for _, line := range p.lines(dir) {
				n := bytes.Count(line, []byte(text))
				if all += n; bytes.Contains(line, []byte(`"type":"reply"`)) {
					replies += n
				}
			}
			// An occurrence within the message itself counts as the message's.
			once := strings.Count(string(rawOf(t, p.requests[1])), text)
			if all != replies || all != once || all == 0 {
				t.Errorf("the text occurs %d times, %d of them in the reply and %d in its message; want once", all, replies, once)
			}
			if got := strings.Join(messages(t, dir), ""); !strings.Contains(got, text) {
				t.Errorf("the trajectory lacks it: %s", got)
			}
		})
	}
}

// rawOf is the reply among messages, with only the provider's members.
func rawOf(t *testing.T, list []llm.Message) []byte {
	t.Helper()
	m := list[slices.IndexFunc(list, func(m llm.Message) bool { return m.Role == llm.RoleAssistant })]
	m.Extra = nil
	text, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// sent are messages as a provider reads them, their members in a fixed order.
func sent(t *testing.T, list []llm.Message) (all []string) {
	t.Helper()
	for _, m := range list {
		m.Extra = nil
		text, err := m.MarshalJSON()
		var members map[string]any
		if err == nil {
			err = json.Unmarshal(text, &members)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(members))
	}
	return all
}

// A journal with unreadable messages is not resumed with a part of them.
func TestAnUnreadableMessageIsAFaultBeforeAPaidCall(t *testing.T) {
	p := newPlaying(t, plays["submits"])
	p.provider = func(m *llm.Message) { m.Chat = json.RawMessage(`{"role":"assistant","content":5}`) }
	whole := t.TempDir()
	p.solve(whole)
	lines := p.lines(whole)
	for _, command := range []string{
		"do 1", // the reply is the last record
		"do 4", // the reply is in the middle of the conversation
	} {
		cut := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"command":"`+command+`"`)) })
		p.requests = nil
		_, err := p.try(p.crashed(lines[:cut+1], false))
		if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "reading a message of the journal") || len(p.requests) > 0 {
			t.Errorf("cut after %s: got %v after %d requests", command, err, len(p.requests))
		}
	}
}

// The journal keeps 64 MiB of outputs. Of later ones it keeps the ends,
// and what the model was shown. A test of package session holds the same in every pass.
func TestTheJournalKeepsTheEndsOfLargeOutputs(t *testing.T) {
	if !sample.All() {
		t.Skip("writes and reads 80 MiB of outputs: BATCH_TESTS=all runs it")
	}
	t.Parallel() // it takes seconds
	loop, err := agent.NewLoop(agent.Config{
		SystemTemplate: "s", InstanceTemplate: "{{task}}", Now: clock,
		ObservationTemplate: "{{output.returncode}}",
	})
	if err != nil {
		t.Fatal(err)
	}
	const a = "do print a lot" // 20 MiB
	p := newPlaying(t, plays["submits"])
	p.loop = loop
	p.play = append(p.play[:0:0], bash(a), bash(a), bash(a), bash(a), bash("submit"))
	p.dies = true // the trajectory is not tested here
	whole := t.TempDir()
	p.solve(whole)
	for i, o := range recorded[journal.OutputData](t, whole, journal.TypeOutput) {
		cut := i == 3
		if (len(o.Kept) == 64<<10) != cut || (o.Shown == "0") != cut || (o.Total > int64(len(o.Kept))) != cut {
			t.Errorf("output %d: %d of %d bytes are kept, shown %q; want the ends and what was shown", i+1, len(o.Kept), o.Total, o.Shown)
		}
	}
}
