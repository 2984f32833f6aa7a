package attempt_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
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
