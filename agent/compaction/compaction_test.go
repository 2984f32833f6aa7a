package compaction

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent"
	"batch.example/batch/llm"
)

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Parts: llm.Say(text)} }

func system(text string) llm.Message {
	return llm.Message{Role: llm.RoleSystem, Parts: llm.Say(text)}
}

// asks is a reply that calls bash once for each id, with signed reasoning.
func asks(ids ...string) llm.Message {
	m := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Reasoning{Text: "I think", Opaque: llm.Opaque{Provider: "anthropic", Data: "signature of " + strings.Join(ids, "+")}},
	}}
	for _, id := range ids {
		m.Parts = append(m.Parts, llm.ToolCall{
			ID: id, Name: "bash", Arguments: `{"command":"ls"}`, Opaque: llm.Opaque{Provider: "gemini", Data: "of " + id},
		})
	}
	return m
}

func result(id string, parts ...llm.Part) llm.Message {
	return llm.Message{
		Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: id, Parts: parts}},
		Extra: map[string]any{"returncode": 0, "raw_output": agent.OutputRef{Step: 1, Action: 1}},
	}
}

// shows is an observation of an agent without tools.
func shows(text string) llm.Message {
	m := user(text)
	m.Extra = map[string]any{"returncode": 0}
	return m
}

func text(n int) llm.Part { return llm.Text{Text: strings.Repeat("é", n)} }

func image() llm.Part { return llm.Image{MediaType: "image/png", Data: []byte("png")} }

// conversation is one with exact sizes: as many tokens as agent.EstimateTokens says.
func conversation(messages []llm.Message) agent.Conversation {
	c := agent.Conversation{
		Task: "the task", Messages: messages, Size: agent.EstimateTokens,
	}
	for _, m := range messages {
		c.Tokens += c.Size(m)
	}
	return c
}

func newPolicy(t testing.TB, c Config) *Policy {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// apply returns the messages after a rewriting.
func apply(messages []llm.Message, w *agent.Rewriting) (sent []llm.Message) {
	at := 0
	for _, e := range w.Edits {
		sent = append(append(sent, messages[at:e.From]...), e.Messages...)
		at = e.To
	}
	return append(sent, messages[at:]...)
}

// legal reports why a provider refuses messages, or "".
func legal(messages []llm.Message) string {
	open := map[string]bool{}
	for i, m := range messages {
		if m.Role != llm.RoleTool && len(open) > 0 {
			return fmt.Sprintf("message %d comes before %d results", i, len(open))
		}
		if m.Role == llm.RoleTool {
			if id := m.ToolCallID(); !open[id] {
				return fmt.Sprintf("message %d answers no call", i)
			}
			delete(open, m.ToolCallID())
		}
		for _, c := range m.ToolCalls() {
			open[c.ID] = true
		}
		if len(m.Parts) == 0 {
			return fmt.Sprintf("message %d is empty", i)
		}
	}
	if len(open) > 0 {
		return "calls have no results"
	}
	return ""
}

func TestPoliciesRewriteTheOldestFirst(t *testing.T) {
	start := []llm.Message{system("s"), user("the task")}
	long := func(id string) llm.Message { return result(id, text(8000)) } // 4004 tokens
	whole := []llm.Message{start[0], start[1], asks("1"), long("1"), asks("2", "3"), long("2"), long("3"), asks("4"), long("4"), asks("5"), long("5")}
	cut := "characters were left out"
	for name, c := range map[string]struct {
		config   Config
		messages []llm.Message
		refused  bool
		want     string // for each message: . as it was, s shortened or d dropped
	}{
		"below the limit":              {Config{Policy: Shorten, Limit: 30_000}, whole, false, "..........."},
		"without a limit":              {Config{Policy: Drop}, whole, false, "..........."},
		"shortened until half of it":   {Config{Policy: Shorten, Limit: 20_000, Keep: 2}, whole, false, "...s.ss...."},
		"dropped until half of it":     {Config{Policy: Drop, Limit: 20_000, Keep: 2}, whole, false, "...d.dd...."},
		"parallel calls stay together": {Config{Policy: Drop, Limit: 17_000, Keep: 5}, append(whole[:7:7], long2()...), false, "...d......"},
		"a refusal cuts harder":        {Config{Policy: Shorten, Keep: 2}, whole, true, "...d.ss.s.."},
		"a refusal below the limit":    {Config{Policy: Drop, Limit: 1_000_000, Keep: 2}, whole, true, "...d.dd.d.."},
		"nothing helps":                {Config{Policy: Drop, Limit: 3_000, Keep: 2}, whole, false, "..........."},
		"too short a conversation":     {Config{Policy: Drop, Limit: 10}, whole[:4], false, "...."},
		"images are left out":          {Config{Policy: Shorten, Limit: 2000, Keep: 2}, []llm.Message{start[0], start[1], asks("1"), result("1", text(9), image(), image()), asks("2"), result("2", text(1))}, false, "...s.."},
		"observations in text":         {Config{Policy: Drop, Limit: 3000, Keep: 1}, []llm.Message{start[0], start[1], asks(), shows(strings.Repeat("a", 20_000)), user(strings.Repeat("b", 2000)), asks(), user("last")}, false, "...d..."},
		"no system message":            {Config{Policy: Drop, Limit: 3000, Keep: 2}, []llm.Message{user("t"), asks("1"), long("1"), asks("2"), result("2", text(1))}, false, "..d.."},
	} {
		t.Run(name, func(t *testing.T) {
			conv := conversation(c.messages)
			conv.Refused = c.refused
			w, err := newPolicy(t, c.config).Rewrite(t.Context(), conv)
			if err != nil {
				t.Fatal(err)
			}
			sent := c.messages
			if w != nil {
				sent = apply(c.messages, w)
			}
			got := ""
			for i, m := range sent {
				switch {
				case strings.Contains(m.Text(), "was left out"):
					got += "d"
				case strings.Contains(m.Text(), cut) || strings.Contains(m.Text(), "images were left out"):
					got += "s"
				case i < len(c.messages) && (len(sent) != len(c.messages) || reflect.DeepEqual(m, c.messages[i])):
					got += "."
				default:
					got += "?"
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("messages (-want +got):\n%s", d)
			}
			if why := legal(sent); why != "" {
				t.Error(why)
			}
		})
	}
}

// long2 returns two more steps; the first has two calls.
func long2() []llm.Message {
	return []llm.Message{asks("4", "5"), result("4", text(8000)), result("5", text(8000))}
}

func TestACutKeepsBothEndsAndCountsCodePoints(t *testing.T) {
	whole := strings.Repeat("é", 600) + strings.Repeat("😀", 5000) + strings.Repeat("ü", 600)
	m := result("1", llm.Text{Text: whole})
	first := cutTo(m, 500)
	want := strings.Repeat("é", 500) + "\n\n[... 5200 characters were left out to shorten the conversation ...]\n\n" + strings.Repeat("ü", 500)
	if d := cmp.Diff(want, first.Text()); d != "" || !utf8.ValidString(first.Text()) {
		t.Errorf("text (-want +got):\n%s", d)
	}
	second := cutTo(first, 100)
	want = strings.Repeat("é", 100) + "\n\n[... 6000 characters were left out to shorten the conversation ...]\n\n" + strings.Repeat("ü", 100)
	if d := cmp.Diff(want, second.Text()); d != "" {
		t.Errorf("text of a second cut (-want +got):\n%s", d)
	}
	var read llm.Message // as after a resume
	data, err := second.MarshalJSON()
	if err == nil {
		err = read.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []llm.Message{first, second, read} {
		third := cutTo(m, 0)
		if d := cmp.Diff("[The output, 6200 characters, was left out to shorten the conversation.]", third.Text()); d != "" {
			t.Errorf("line (-want +got):\n%s", d)
		}
		if third.ToolCallID() != "1" || third.Role != llm.RoleTool || third.Extra["raw_output"] != nil {
			t.Errorf("got %+v, want the result of call 1, without its output", third)
		}
	}
	if d := cmp.Diff("x", cutTo(result("1", llm.Text{Text: "x"}), 500).Text()); d != "" {
		t.Error(d)
	}
	if got := cutTo(result("1", llm.Text{Text: "x"}, image()), 500).Text(); got != "x\n[1 images were left out to shorten the conversation.]" {
		t.Errorf("with an image: %q", got)
	}
}

// random is any conversation that an agent can have.
func random(r *rand.Rand) []llm.Message {
	var messages []llm.Message
	if r.IntN(4) > 0 {
		messages = append(messages, system("s"))
	}
	messages = append(messages, user(strings.Repeat("t", r.IntN(400))+"t"))
	id, tools := 0, r.IntN(4) > 0
	for range r.IntN(30) {
		switch {
		case r.IntN(6) == 0:
			messages = append(messages, user(strings.Repeat("f", 1+r.IntN(1000)))) // a format error
		case !tools:
			messages = append(messages, llm.Message{Role: llm.RoleAssistant, Parts: llm.Say(strings.Repeat("a", 1+r.IntN(500)))},
				shows(strings.Repeat("ö", r.IntN(5000))+"x"))
		default:
			var ids []string
			for range 1 + r.IntN(3) {
				ids = append(ids, fmt.Sprint(id))
				id++
			}
			messages = append(messages, asks(ids...))
			for _, id := range ids {
				parts := []llm.Part{text(r.IntN(5000))}
				if r.IntN(8) == 0 {
					parts = append(parts, image())
				}
				messages = append(messages, result(id, parts...))
			}
		}
	}
	return messages
}

// Whatever the conversation, the policy and the limit: what is sent afterwards is legal, and
// short enough, or what it was. Replies are as they were or gone, and so are the beginning
// and the end.
func TestAnyConversationStaysLegalAndIsShortEnough(t *testing.T) {
	rewritten := map[string]int{}
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 1))
		messages := random(r)
		name := Names[r.IntN(len(Names))]
		conv := conversation(messages)
		scale := int64(1 + r.IntN(3)) // the provider counts more than is estimated
		size := func(m llm.Message) int64 { return scale * agent.EstimateTokens(m) }
		conv.Size, conv.Tokens, conv.Refused = size, scale*conv.Tokens+int64(r.IntN(100)), r.IntN(3) == 0
		limit := r.Int64N(2*conv.Tokens + 1)
		p := newPolicy(t, Config{Policy: name, Limit: limit, Keep: 1 + r.IntN(10)})
		for round := range 3 { // a rewritten conversation may be rewritten again
			w, err := p.Rewrite(t.Context(), conv)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if w == nil {
				break
			}
			rewritten[w.Policy]++
			sent := apply(messages, w)
			tokens := conv.Tokens
			for _, m := range messages {
				tokens -= size(m)
			}
			for _, m := range sent {
				tokens += size(m)
			}
			if why := legal(sent); why != "" {
				t.Fatalf("seed %d, round %d, %s: %s", seed, round, name, why)
			}
			if limit > 0 && tokens > limit || tokens >= conv.Tokens {
				t.Fatalf("seed %d, round %d, %s: %d tokens were %d, the limit is %d", seed, round, name, tokens, conv.Tokens, limit)
			}
			from, to := span(messages, p.keep)
			if !reflect.DeepEqual(sent[:from], messages[:from]) || !reflect.DeepEqual(sent[len(sent)-(len(messages)-to):], messages[to:]) {
				t.Fatalf("seed %d, round %d, %s: the beginning or the end has changed", seed, round, name)
			}
			for i, j := 0, 0; i < len(sent); i++ {
				if sent[i].Role != llm.RoleAssistant {
					continue
				}
				for j < len(messages) && !reflect.DeepEqual(messages[j], sent[i]) {
					j++
				}
				if j == len(messages) {
					t.Fatalf("seed %d, round %d, %s: the reply %d is not one of those before, in order", seed, round, name, i)
				}
				j++
			}
			messages, conv.Messages, conv.Tokens = sent, sent, tokens+int64(r.IntN(200))
		}
	}
	for _, name := range Names {
		if rewritten[name] < 40 {
			t.Errorf("only %d rewrites by %s: nothing was tested", rewritten[name], name)
		}
	}
}

// After a rewrite, many steps fit before the next one.
func TestRewritesAreRare(t *testing.T) {
	for _, name := range Names {
		p := newPolicy(t, Config{Policy: name, Limit: 40_000})
		messages := []llm.Message{system("s"), user("the task")}
		rewrites, steps := 0, 200
		for i := range steps {
			id := fmt.Sprint(i)
			messages = append(messages, asks(id), result(id, text(2000))) // about 1040 tokens
			w, err := p.Rewrite(t.Context(), conversation(messages))
			if err != nil {
				t.Fatal(err)
			}
			if w != nil {
				rewrites++
				messages = apply(messages, w)
			}
		}
		if most := steps / 12; rewrites == 0 || rewrites > most {
			t.Errorf("%s: %d rewrites in %d steps, want at most %d", name, rewrites, steps, most)
		}
	}
}
