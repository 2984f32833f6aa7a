// Package compaction keeps a conversation within the model's context: it shortens the
// oldest observations, drops them, or lets the model write a summary of what is past.
//
// A [Policy] acts in two cases: before a call, if the estimated length of the request is
// over the limit; and once more, harder, if the provider refuses the request because of its
// length. Otherwise, and if it cannot help, the conversation stays as it is, and a provider
// that refuses it ends the run as ContextWindowExceeded.
//
// # What is kept
//
// The system message, the first message of the user (the task) and the last messages, as
// many as Keep says, are never touched; if a tool call and its result are on both sides of
// that boundary, both are kept. Between them, only observations are shortened or dropped: a
// dropped one leaves a line in its place, so that its call is still answered. Replies of
// the model are never changed. Providers check what they have signed in them: Anthropic the
// thinking blocks, Gemini the thought signatures of calls, OpenAI that a reasoning item is
// followed by its call. A summary replaces whole replies and all their results.
//
// # Prompt caches
//
// A provider's prompt cache holds for the beginning of a conversation up to the first
// change. So a rewrite makes all that follows expensive once, and a policy that changed a
// little at each step would do so at every step. A policy here waits until the limit is
// reached, and then takes a big bite: it aims at half of the limit, so that the next calls,
// usually dozens, read the rewritten beginning from the cache again. The call for a summary
// sends the conversation as it was, with a question at its end, and so reads nearly all of
// its input from the cache.
//
// A conversation whose replies alone reach the limit cannot be brought to half of it by
// shorten or drop. Then there is less room, and rewrites come more often. A summary that
// does not help, since it is empty or too long, is not asked for again: from then on,
// observations are dropped.
//
// # The same again
//
// The same conversation and the same estimates give the same rewrite, so that a resumed
// attempt sends the same. A summary is taken from the journal then.
package compaction

import (
	"context"
	"fmt"

	"batch.example/batch/agent"
	"batch.example/batch/agent/template"
	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
)

// Names of policies.
const (
	Shorten   = "shorten"   // cut the oldest observations to their beginning and end
	Drop      = "drop"      // replace the oldest observations by a line
	Summarize = "summarize" // replace all but the last messages by a summary that the model writes
)

// Names are those that [Config] takes.
var Names = []string{Shorten, Drop, Summarize}

// DefaultKeep is how many messages at the end are kept as they are: about four steps.
const DefaultKeep = 8

// Config is a policy. Policy is required.
type Config struct {
	Policy string
	Limit  int64 // estimated tokens over which the policy acts; 0: only if the provider refuses
	Keep   int   // last messages that are not touched; 0 is DefaultKeep, negative keeps only the last step's

	SummaryTemplate string                  // Jinja, see [DefaultSummaryTemplate]; empty is that
	Place           func(offset int) string // describes a place in it for error messages; nil: line and column
}

// Policy rewrites conversations. It is safe for concurrent use.
type Policy struct {
	name    string
	limit   int64
	keep    int
	summary *template.Template
}

// New returns the policy. Errors are Usage faults.
func New(c Config) (*Policy, error) {
	p := &Policy{name: c.Policy, limit: c.Limit, keep: c.Keep}
	switch c.Policy {
	case Shorten, Drop, Summarize:
	default:
		hint := near.Hint(near.Name(c.Policy, Names), "")
		return nil, fault.Newf(fault.Usage, "context policy %q is not one of %v", c.Policy, Names).WithHint("%s", hint)
	}
	if c.Limit < 0 {
		return nil, fault.Newf(fault.Usage, "the context limit is %d tokens, expected 0 or more", c.Limit)
	}
	if p.keep == 0 {
		p.keep = DefaultKeep
	}
	source := c.SummaryTemplate
	if source == "" {
		source = DefaultSummaryTemplate
	}
	var err error
	if p.summary, err = template.Parse("agent.summary_template", source, c.Place); err != nil {
		return nil, err
	}
	_, err = p.summary.Render(summaryVars("task", 10)) // so that no instance fails with it
	return p, err
}

// Rewrite is a [agent.Turn]'s Rewrite.
func (p *Policy) Rewrite(ctx context.Context, c agent.Conversation) (*agent.Rewriting, error) {
	if !c.Refused && (p.limit == 0 || c.Tokens <= p.limit) {
		return nil, nil
	}
	d := p.draft(c)
	if d.from >= d.to {
		return nil, nil
	}
	if p.name == Summarize && !d.fruitless() {
		edit, err := p.summarize(ctx, c, d)
		switch {
		case err != nil:
			return nil, err
		case edit != nil:
			return &agent.Rewriting{Policy: Summarize, Edits: []agent.Edit{*edit}}, nil
		case !d.unanswered:
			return nil, nil
		}
		d.drop()
		return d.edits(Drop), nil // also if that is not enough, see fruitless
	}
	if p.name == Shorten {
		d.shorten()
		return d.rewriting(Shorten), nil
	}
	d.drop()
	return d.rewriting(Drop), nil
}

// goal returns how long the request may be after a rewrite, and how long it should be, in
// estimated tokens. What a provider has refused is too long, whatever the estimate says.
func (p *Policy) goal(c agent.Conversation) (most, aim int64) {
	most = p.limit
	if !c.Refused {
		return most, most / 2
	}
	if most == 0 || most > c.Tokens-c.Tokens/10 {
		most = c.Tokens - c.Tokens/10
	}
	return most, most / 4
}

// String describes the policy in a line.
func (p *Policy) String() string {
	if p.limit == 0 {
		return fmt.Sprintf("%s, when the provider refuses the conversation", p.name)
	}
	return fmt.Sprintf("%s, over about %d tokens", p.name, p.limit)
}
