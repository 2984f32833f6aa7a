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
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
)

// asRead is a message as a provider of the usual form writes it, with more.
func asRead(t *testing.T, m *llm.Message, more string) {
	t.Helper()
	text, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	m.Chat = json.RawMessage(strings.TrimSuffix(string(text), "}") + more + "}")
}

// sealed is a message as a provider of another protocol than OpenAI's writes it.
func sealed(_ *testing.T, m *llm.Message, _ string) {
	parts := []llm.Part{llm.Reasoning{Text: "hm", Opaque: llm.Opaque{Provider: "anthropic", Data: "c2ln"}}}
	for _, c := range m.ToolCalls() {
		c.Opaque = llm.Opaque{Provider: "gemini", Data: "dGhvdWdodA=="}
		parts = append(parts, c, llm.Text{Text: "after " + c.ID})
	}
	m.Parts = parts
}

// What a provider wrote beyond the message's own fields is sent back to it
// after a crash too. What it did not is not held in memory twice.
func TestAResumedAttemptAsksWithTheMessagesItHad(t *testing.T) {
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
				t.Errorf("the last request: %s", diff)
			}
			for _, m := range got[:len(got)-2] { // what the journal had
				if m.Role == llm.RoleAssistant && (m.Chat != nil) != c.holds {
					t.Errorf("of %q the provider's own words are %q", m.Text(), m.Chat)
				}
			}
		})
	}
}

// chat is a message as it stands in an answer of OpenAI's chat completions.
func chat(t *testing.T, m *llm.Message, more string) {
	t.Helper()
	asRead(t, m, more)
	var members map[string]any
	if err := json.Unmarshal(m.Chat, &members); err != nil {
		t.Fatal(err)
	}
	m.Chat, _ = json.Marshal(members) // its names are in another order than ours
}

// thought is a message whose reasoning only its provider understands.
func thought(t *testing.T, m *llm.Message, more string) {
	t.Helper()
	sealed(t, m, "")
	m.Parts = append(m.Parts, llm.Text{Text: more})
}

func TestAReplyIsInTheJournalOnce(t *testing.T) {
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
			// What it stands for in the message itself is the message's.
			once := strings.Count(string(rawOf(t, p.requests[1])), text)
			if all != replies || all != once || all == 0 {
				t.Errorf("it stands %d times, %d of them in the reply, and %d in its message", all, replies, once)
			}
			if got := strings.Join(messages(t, dir), ""); !strings.Contains(got, text) {
				t.Errorf("the trajectory lacks it: %s", got)
			}
		})
	}
}

// rawOf is the reply among messages, without what is not the provider's.
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

// sent are messages as a provider reads them, their members in one order.
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

// A journal whose messages cannot be read is not resumed with a part of them.
func TestAMessageThatCannotBeReadIsAFaultBeforeACallIsPaid(t *testing.T) {
	p := newPlaying(t, plays["submits"])
	p.provider = func(m *llm.Message) { m.Chat = json.RawMessage(`{"role":"assistant","content":5}`) }
	whole := t.TempDir()
	p.solve(whole)
	lines := p.lines(whole)
	for _, command := range []string{
		"do 1", // the reply is the last there is
		"do 4", // and one of the conversation
	} {
		cut := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"command":"`+command+`"`)) })
		p.requests = nil
		_, err := p.try(p.crashed(lines[:cut+1], false))
		if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "reading a message of the journal") || len(p.requests) > 0 {
			t.Errorf("cut behind %s: %v after %d requests", command, err, len(p.requests))
		}
	}
}

// The journal keeps 64 MiB of outputs. Of what comes then it keeps the ends,
// and what the model was shown of it.
func TestOfOutputsBeyondTheirRoomTheJournalKeepsTheEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("keeps 80 MiB of outputs")
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
	p.dies = true // the trajectory is not what this is about
	whole := t.TempDir()
	p.solve(whole)
	for i, o := range recorded[journal.OutputData](t, whole, journal.TypeOutput) {
		cut := i == 3
		if (len(o.Kept) == 64<<10) != cut || (o.Shown == "0") != cut || (o.Total > int64(len(o.Kept))) != cut {
			t.Errorf("output %d: %d of %d bytes are kept, shown is %q", i+1, len(o.Kept), o.Total, o.Shown)
		}
	}
}
