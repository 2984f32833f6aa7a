// Package compaction keeps a conversation within the model's context: it shortens the
// oldest observations, or drops them.
//
// A [Policy] acts in two cases: before a call, if the request has more messages or a longer
// estimated length than the limits allow; and once more, harder, if the provider refuses the
// request because of its length. Otherwise, and if it cannot help, the conversation stays as it
// is, and a refusal by the provider ends the run as ContextWindowExceeded.
//
// # What is kept
//
// The system message, the first message of the user (the task) and the last messages, as
// many as Keep says, are never touched; if a tool call and its result are on both sides of
// that boundary, both are kept. Between them, only observations are shortened or dropped: a
// dropped one leaves a line in its place, so that its call is still answered. If there are
// too many messages, whole steps are dropped, each reply with all its results, and one
// line says how many. A person's words, and answers to questions, are kept word for
// word. Replies of the model are never changed. Providers check what they have signed in
// them: Anthropic the thinking blocks, Gemini the thought signatures of calls, OpenAI that a
// reasoning item is followed by its call.
//
// # Prompt caches
//
// A provider's prompt cache holds for the beginning of a conversation up to the first
// change. So a rewrite makes all that follows expensive once, and a policy that changed a
// little at each step would do so at every step. A policy here waits until the limit is
// reached, and then takes a big bite: it aims at half of the limit, so that the next calls,
// usually dozens, read the rewritten beginning from the cache again.
//
// If the replies alone reach the limit, a policy cannot bring a conversation to half of it.
// Then there is less room, and rewrites come more often.
//
// # The same again
//
// The same conversation and the same estimates give the same rewrite, so that a resumed
// attempt sends the same.
//
// Its API is not promised to other programs: see package batch.
package compaction

import (
	"context"
	"fmt"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
)

// Names of policies.
const (
	Shorten = "shorten" // cut the oldest observations to their beginning and end; drop them if that is not enough
	Drop    = "drop"    // replace the oldest observations by a line
)

// Names lists the policies.
var Names = []string{Shorten, Drop}

// DefaultKeep is the number of messages at the end that are kept as they are: about four steps.
const DefaultKeep = 8

// Config is a policy.
type Config struct {
	Policy string // one of Names
	Limit  int64  // estimated tokens over which the policy acts; 0: only if the provider refuses

	// Messages is the number of messages that the conversation may have, for Drop. It must be
	// at least twice the kept number and room for the beginning. 0: any number.
	Messages int

	Keep int // last messages that are not touched; 0 is DefaultKeep, negative keeps only the last step's
}

// Policy rewrites conversations. It is safe for concurrent use.
type Policy struct {
	name  string
	limit int64
	most  int // messages; 0: any number
	keep  int
}

// New returns the policy. A number of messages that does not go with the rest is a Usage fault.
func New(c Config) (*Policy, error) {
	p := &Policy{name: c.Policy, limit: c.Limit, most: c.Messages, keep: c.Keep}
	if p.keep == 0 {
		p.keep = DefaultKeep
	}
	switch least := 2*max(1, p.keep) + beginning; {
	case p.most > 0 && p.name == Shorten:
		return nil, fault.Newf(fault.Usage, "the context policy %s cannot limit the number of messages", Shorten).
			WithHint("choose %s", Drop)
	case p.most > 0 && p.most < least:
		return nil, fault.Newf(fault.Usage, "the context may have %d messages: too few, when the last %d are kept", p.most, max(1, p.keep)).
			WithHint("allow %d, or keep fewer", least)
	}
	return p, nil
}

// Rewrite is the Rewrite of [agent.Hooks].
func (p *Policy) Rewrite(_ context.Context, c agent.Conversation) (*agent.Rewriting, error) {
	long := p.limit > 0 && c.Tokens > p.limit
	if !c.Refused && !long && !p.many(c) {
		return nil, nil
	}
	return p.shorter(c), nil
}

// Now is Rewrite for a conversation of any length.
func (p *Policy) Now(_ context.Context, c agent.Conversation) (*agent.Rewriting, error) {
	return p.shorter(c), nil
}

// many reports whether there are too many messages. A refused conversation has too many
// tokens instead.
func (p *Policy) many(c agent.Conversation) bool {
	return !c.Refused && p.most > 0 && len(c.Messages) > p.most
}

// beginning is the number of messages at the beginning: the system message, the task, and
// what stands for the messages that were dropped.
const beginning = 4

func (p *Policy) shorter(c agent.Conversation) *agent.Rewriting {
	d := p.draft(c)
	switch {
	case d.from >= d.to:
		return nil
	case p.many(c):
		return d.remove(p.most / 2)
	case p.name == Shorten:
		d.shorten()
	default:
		d.drop()
	}
	return d.rewriting(p.name)
}

// goal returns the longest and the wanted length of the request after a rewrite, in estimated
// tokens. A refused request is too long, whatever the estimate says.
func (p *Policy) goal(c agent.Conversation) (most, aim int64) {
	most = p.limit
	switch {
	case !c.Refused && (most == 0 || c.Tokens <= most): // because of the messages, or of a person
		return c.Tokens - 1, c.Tokens / 2
	case !c.Refused:
		return most, most / 2
	}
	if most == 0 || most > c.Tokens-c.Tokens/10 {
		most = c.Tokens - c.Tokens/10
	}
	return most, most / 4
}

// String describes the policy in a line.
func (p *Policy) String() string {
	if p.most > 0 {
		text := fmt.Sprintf("%s, over %d messages", p.name, p.most)
		if p.limit > 0 {
			text += fmt.Sprintf(" or about %d tokens", p.limit)
		}
		return text
	}
	if p.limit == 0 {
		return fmt.Sprintf("%s, when the provider refuses the conversation", p.name)
	}
	return fmt.Sprintf("%s, over about %d tokens", p.name, p.limit)
}
