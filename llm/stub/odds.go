package stub

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/llm"
)

// Odds are answers that replace the due one for a share of the requests.
type Odds []Odd

// Odd is an element of [Odds].
type Odd struct {
	Share  float64 // share of all requests, from 0 to 1
	Status int     // status of an error, or 0
	Fault  Fault   // fault of the due answer
	Wrong  func(a Answer) Answer
}

// troubles are the words of [ParseOdds], in addition to statuses.
var troubles = map[string]Odd{
	"garbage": {Fault: Garbage}, "half": {Fault: Half}, "cut": {Fault: Cut}, "broken": {Fault: Broken}, "stall": {Fault: Stall},
	"hangup": {Fault: Hangup}, "silence": {Fault: Silence}, "slow": {Fault: Drip},
	"empty":     {Wrong: func(Answer) Answer { return Answer{} }},
	"tool":      {Wrong: func(a Answer) Answer { return withCalls(a, func(c *llm.ToolCall) { c.Name = "shell" }) }},
	"arguments": {Wrong: func(a Answer) Answer { return withCalls(a, func(c *llm.ToolCall) { c.Arguments = `{"command": "ls` }) }},
	"ids":       {Wrong: func(a Answer) Answer { return withCalls(a, func(c *llm.ToolCall) { c.ID = "call_twice" }) }},
	"usage":     {Wrong: func(a Answer) Answer { a.NoUsage = true; return a }},
}

// withCalls changes the tool calls of an answer.
func withCalls(a Answer, change func(*llm.ToolCall)) Answer {
	a.Parts = slices.Clone(a.parts())
	for i, p := range a.Parts {
		if c, ok := p.(llm.ToolCall); ok {
			change(&c)
			a.Parts[i] = c
		}
	}
	return a
}

// Troubles returns the words that [ParseOdds] accepts in addition to statuses.
func Troubles() []string {
	var list []string
	for name := range troubles {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// ParseOdds reads WHAT:SHARE, such as 429:5% or cut:0.01; WHAT is an error status or one of [Troubles].
func ParseOdds(text string) (Odd, error) {
	what, share, ok := strings.Cut(text, ":")
	o, known := troubles[what]
	if status, err := strconv.Atoi(what); err == nil && status >= 400 && status < 600 {
		o, known = Odd{Status: status}, true
	}
	if !known {
		return Odd{}, fmt.Errorf("%q is neither an error status nor one of %s", what, strings.Join(Troubles(), ", "))
	}
	number, percent := strings.CutSuffix(share, "%")
	n, err := strconv.ParseFloat(number, 64)
	if percent {
		n /= 100
	}
	if !ok || err != nil || !(n >= 0 && n <= 1) {
		return Odd{}, fmt.Errorf("%q needs a share such as %s:5%%", text, what)
	}
	o.Share = n
	return o, nil
}

// Wrap returns next with these odds. It calls injected for each answer that they change.
func (o Odds) Wrap(next func(int, *Request) Answer, injected func()) func(int, *Request) Answer {
	return func(n int, r *Request) Answer {
		draw := rand.Float64() //nolint:gosec // chance, not secrecy
		for _, odd := range o {
			if draw -= odd.Share; draw < 0 {
				injected()
				return odd.apply(n, r, next)
			}
		}
		return next(n, r)
	}
}

func (o Odd) apply(n int, r *Request, next func(int, *Request) Answer) Answer {
	switch {
	case o.Status == 429 || o.Status == 529:
		return Answer{Status: o.Status, RetryAfter: time.Second}
	case o.Status != 0:
		return Status(o.Status)
	}
	a := next(n, r)
	if o.Wrong != nil {
		return o.Wrong(a)
	}
	a.Fault, a.Pace = o.Fault, time.Millisecond
	return a
}
