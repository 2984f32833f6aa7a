// Package scripted plays fixed replies in place of a model: from a file, a recorded
// trajectory, the gold patch of an instance (-m oracle) or nothing (-m noop). They need no
// provider and cost nothing, so runs can be shown, checked and measured with them.
//
// # Scripts
//
// -m scripted/FILE plays a script, and batch stub --script serves one. It is one of
//
//   - a YAML or JSON file: from instance ids, or * for all others, to a list of replies;
//   - a recorded trajectory: an object with messages, or a bare list of them; its
//     instance_id is the key, or * without one;
//   - a folder of trajectories, ID/ID.traj.json or ID.traj.json.
//
// A reply is a text, or an object with these members, all optional:
//
//	content                      what the model says
//	bash                         a command: short for one call of the tool bash,
//	                             or a fenced block where the action form is text
//	tool_calls                   a list of id, name and arguments (a text or an
//	                             object)
//	cost                         US dollars; batch stub sends it by OpenAI's two
//	                             APIs; Anthropic's and Gemini's have no
//	                             member for it
//	input_tokens, output_tokens  as the provider would report them
//	finish_reason                default: tool_calls with calls, otherwise stop
//	delay                        before the reply: seconds, or a text such as
//	                             250ms
//
// This one edits a file in every instance and submits the change:
//
//	'*':
//	- {content: I will fix it., bash: "sed -i 's/-/+/' calc.py", cost: 0.01}
//	- content: Done.
//	  bash: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff
//	  delay: 250ms
//
// A call after the last reply is an error, which ends the instance.
//
// Its API is not promised to other programs: see package batch.
package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/retry"
	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
	"batch.example/batch/vocab"
)

// Anyone is the key of the replies in a [Script] for every instance
// without its own replies.
const Anyone = "*"

// ModelName is the model id in responses.
const ModelName = "scripted"

// Script maps instance ids to the model's replies, in order. Any number of players may share it as long as it
// is not changed.
type Script map[string][]Reply

// Reply is one answer. Bash is the short form of a single call of the tool bash; if the request offers no
// tools, it becomes a fenced block after Content.
type Reply struct {
	Content      string
	Bash         string
	ToolCalls    []llm.ToolCall // missing ids are "call_<reply>_<call>", counted from 1
	FinishReason string         // "" = "tool_calls" with tool calls, otherwise "stop"
	Cost         float64        // US dollars
	Usage        vocab.Usage
	Delay        time.Duration // added to Config.Delay

	message *llm.Message // recorded: played unchanged
}

// Config changes how a player plays. The zero value plays the script as it stands.
type Config struct {
	Delay time.Duration // before each reply, like a real model's

	// Convert fits replies to the request: a text with exactly one fenced command becomes a tool call if
	// tools are offered, and a bash tool call becomes a fenced block if they are not.
	Convert bool

	// Fence renders a command for requests without tools; nil is a
	// mswea_bash_command block. Agents with other text forms need their own.
	Fence func(command string) string
}

// Model plays the replies of one instance. It is safe for concurrent use, but
// only calls made one after the other get the replies in order.
type Model struct {
	replies []Reply
	cfg     Config
	end     func(said int) error // the error of a call without a reply left
	next    atomic.Int64
}

// Model returns a new player for the instance, with its own replies, otherwise with those for [Anyone]. If
// there are neither, the first call is an Instance fault.
func (s Script) Model(id string, cfg Config) *Model {
	replies, ok := s[id]
	if !ok {
		replies, ok = s[Anyone]
	}
	return newModel(replies, cfg, func(said int) error {
		if !ok {
			return fault.Newf(fault.Instance, "asking the script: it has no replies for %s", id).
				WithHint("add them under %q, or under %q for every instance", id, Anyone)
		}
		return fault.Newf(fault.Instance, "asking the script: no reply left for %s after %d", id, said).
			WithHint("add replies to the script: `batch resume` continues after the last one")
	})
}

func newModel(replies []Reply, cfg Config, end func(said int) error) *Model {
	if cfg.Fence == nil {
		cfg.Fence = fence
	}
	return &Model{replies: replies, cfg: cfg, end: end}
}

// Skip skips the next n replies: a resumed run already has them.
func (m *Model) Skip(n int) { m.next.Add(int64(n)) }

// Acts reports whether the next reply has a command, for an agent with or without tools. A reply without one
// is not kept in the conversation.
func (m *Model) Acts(tools bool) bool {
	n := int(m.next.Load())
	if n >= len(m.replies) {
		return false
	}
	msg := m.message(&m.replies[n], n+1, tools)
	if tools {
		return len(msg.ToolCalls()) > 0
	}
	return strings.Contains(msg.Text(), "```")
}

// Left returns how many replies have not been given yet.
func (m *Model) Left() int { return max(0, len(m.replies)-int(m.next.Load())) }

// Generate implements [llm.Model] with the next reply. A canceled call uses no reply. The response shares
// slices and texts with the script, which must not be changed.
func (m *Model) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	n := int(m.next.Add(1))
	if n > len(m.replies) {
		return nil, &llm.Unpaid{Err: m.end(len(m.replies))}
	}
	r := &m.replies[n-1]
	if err := retry.Sleep(ctx, m.cfg.Delay+r.Delay); err != nil {
		m.next.Add(-1)
		return nil, &llm.Unpaid{Err: fmt.Errorf("asking the script: %w", err)}
	}
	resp := &llm.Response{Usage: r.Usage, Cost: r.Cost, Priced: true, Model: ModelName}
	resp.Message = m.message(r, n, len(req.Tools) > 0)
	resp.FinishReason = cmp.Or(r.FinishReason, finish(resp.Message))
	return resp, nil
}

func finish(msg llm.Message) string {
	if len(msg.ToolCalls()) > 0 {
		return "tool_calls"
	}
	return "stop"
}

// bashTool is the tool that every agent with tools offers.
const bashTool = "bash"

// fenced finds the commands in a text, in the current and the older form.
var fenced = lazy.Regexp("(?s)```(?:mswea_bash_command|bash)\\s*\n(.*?)\n```")

func fence(command string) string { return "```mswea_bash_command\n" + command + "\n```" }

// Fenced returns a reply with a command for a request without tools.
func (c Config) Fenced(command string) string {
	if c.Fence == nil {
		return fence(command)
	}
	return c.Fence(command)
}

// message renders the n-th reply in the form that the request accepts.
func (m *Model) message(r *Reply, n int, tools bool) llm.Message {
	if r.message != nil && !m.cfg.Convert {
		return *r.message
	}
	msg := llm.Message{Role: llm.RoleAssistant, Parts: llm.Say(r.Content, r.ToolCalls...)}
	command := r.Bash
	if r.message != nil {
		msg = *r.message
	}
	if m.cfg.Convert && command == "" {
		command = m.convert(&msg, tools)
	}
	switch {
	case command == "":
	case tools:
		call := llm.ToolCall{Name: bashTool, Arguments: arguments(command)}
		msg.Parts = append(slices.Clip(msg.Parts), call)
	default:
		text := strings.TrimLeft(msg.Text()+"\n\n"+m.cfg.Fence(command), "\n")
		msg.Parts, msg.Chat = llm.Say(text, msg.ToolCalls()...), nil
	}
	return named(msg, n)
}

// convert takes out a command whose form does not fit the request, together with the provider's own message,
// which no longer fits.
func (m *Model) convert(msg *llm.Message, tools bool) string {
	calls, text := msg.ToolCalls(), msg.Text()
	if !tools && len(calls) == 1 && calls[0].Name == bashTool {
		var args struct{ Command string }
		if json.Unmarshal([]byte(calls[0].Arguments), &args) == nil && args.Command != "" {
			msg.Parts, msg.Chat = llm.Say(text), nil
			return args.Command
		}
	}
	if tools && len(calls) == 0 {
		if found := fenced().FindAllStringSubmatchIndex(text, 2); len(found) == 1 {
			at := found[0]
			msg.Parts, msg.Chat = llm.Say(strings.TrimSpace(text[:at[0]]+text[at[1]:])), nil
			return strings.TrimSpace(text[at[2]:at[3]])
		}
	}
	return ""
}

// named gives ids to calls without one, and leaves the script unchanged.
func named(msg llm.Message, n int) llm.Message {
	var ids []string
	missing := false
	for i, c := range msg.ToolCalls() {
		if c.ID == "" {
			c.ID, missing = "call_"+strconv.Itoa(n)+"_"+strconv.Itoa(i+1), true
		}
		ids = append(ids, c.ID)
	}
	if !missing {
		return msg
	}
	return msg.WithToolCallIDs(ids)
}

// arguments encodes a command as the bash tool's arguments, without escaping <, > and &.
func arguments(command string) string {
	return string(history.MustEncode(struct {
		Command string `json:"command"`
	}{command}))
}
