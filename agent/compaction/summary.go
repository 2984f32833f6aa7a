package compaction

import (
	"context"
	"fmt"
	"strings"

	"batch.example/batch/agent"
	"batch.example/batch/llm"
)

// DefaultSummaryTemplate asks for a summary. Its variables are task, the text of the issue,
// and n_messages, the number of messages that the summary replaces.
const DefaultSummaryTemplate = `The conversation is about to exceed the length that you can read. Write a summary of the work so far. It will replace
all messages after the task; only the most recent ones stay. Whatever is not in it is lost, so write down, without
repeating the task:

1. What you have found out: the cause of the problem, the files, functions and line numbers that matter, and how the code works there.
2. What you have changed, file by file, and why; what you have tried that did not work.
3. The state of the tests: which ones you ran, how, and what they said.
4. What is left to do, in order, and what you were about to do next.

Quote names, paths, commands and short pieces of code exactly. Do not call a tool and do not give a command now: answer
only with the summary.`

// summaryMessage is shown to the model in place of the summarized messages.
const summaryMessage = "To keep the conversation short, %d messages were replaced by this summary, which you wrote:\n\n%s"

// leastSummary is the smallest length of a summary that is assumed before it is asked for, in
// tokens.
const leastSummary = 100

func summaryVars(task string, messages int) map[string]any {
	return map[string]any{"task": task, "n_messages": messages}
}

// summarize asks the model for a summary of everything that may be rewritten, and returns
// the edit that puts it there. Without a usable answer the edit is nil.
func (p *Policy) summarize(ctx context.Context, c agent.Conversation, d *draft) (*agent.Edit, error) {
	n := d.to - d.from
	said := d.lastSaid()
	rest := d.tokens
	for _, m := range said {
		n--
		rest += d.size(m)
	}
	if p.many(c) && len(d.messages)-n+1 > p.most {
		return nil, nil // too many are kept
	}
	for _, m := range d.messages[d.from:d.to] {
		rest -= d.size(m)
	}
	if rest+leastSummary > d.most {
		return nil, nil // no summary is short enough
	}
	question, err := p.summary.Render(summaryVars(c.Task, n))
	if err != nil {
		return nil, err
	}
	resp, err := ask(ctx, c, d, llm.Message{Role: llm.RoleUser, Parts: llm.Say(question)})
	if err != nil {
		return nil, err
	}
	d.unanswered = true // until there is one that helps
	if resp == nil {
		return nil, nil
	}
	text := strings.TrimSpace(resp.Message.Text())
	if text == "" {
		return nil, nil
	}
	m := llm.Message{
		Role: llm.RoleUser, Parts: llm.Say(fmt.Sprintf(summaryMessage, n, text)),
		Extra: map[string]any{rewrittenMember: Summarize},
	}
	if rest+d.size(m) > d.most {
		return nil, nil
	}
	d.unanswered = false
	return &agent.Edit{From: d.from, To: d.to, Messages: append([]llm.Message{m}, said...)}, nil
}

// ask sends everything up to the messages that are kept, and the question. If the provider
// refuses this because of its length, or has refused it before, the observations are cut; if
// it refuses that too, there is no answer.
func ask(ctx context.Context, c agent.Conversation, d *draft, question llm.Message) (*llm.Response, error) {
	if !c.Refused {
		resp, err := c.Ask(ctx, with(d.messages[:d.to], question))
		if err == nil || !llm.TooLong(err) {
			return resp, err
		}
	}
	short := *d
	short.replaced, short.refused = map[int]llm.Message{}, true
	short.shorten()
	var messages []llm.Message
	for i := range d.to {
		messages = append(messages, short.at(i))
	}
	resp, err := c.Ask(ctx, with(messages, question))
	if llm.TooLong(err) {
		return nil, nil
	}
	return resp, err
}

func with(messages []llm.Message, last llm.Message) []llm.Message {
	return append(messages[:len(messages):len(messages)], last)
}
