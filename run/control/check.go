package control

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/vocab"
)

// Verbs are all verbs of commands.
var Verbs = []Verb{SetWidth, Pause, Resume, Drain, Stop, Cancel, Requeue, SetBudget, SetLimit, Say}

// Limits of a [Command].
const (
	maxID    = 100
	maxName  = 1000
	maxWidth = 100_000
)

// check refuses a command that no work can carry out.
func (c Command) check() error {
	switch {
	case c.ID == "" || len(c.ID) > maxID || strings.ContainsFunc(c.ID, outside):
		return fault.Newf(fault.Usage, "a command needs an id of 1 to %d letters, digits and hyphens", maxID)
	case len(c.Instance) > maxName || len(c.Program) > maxName || !utf8.ValidString(c.Instance+c.Program):
		return fault.Newf(fault.Usage, "the instance or the program has a name that is too long, or not UTF-8")
	case !slices.Contains(Verbs, c.Verb):
		return unknownVerb(c.Verb)
	}
	return c.checkArguments()
}

func unknownVerb(v Verb) error {
	names := make([]string, len(Verbs))
	for i, name := range Verbs {
		names[i] = string(name)
	}
	return fault.Newf(fault.Usage, "unknown verb %.40q", string(v)).
		WithHint("%s", near.Hint(near.Name(string(v), names), "expected one of "+strings.Join(names, ", ")))
}

// outside reports whether a letter may not be in an id.
func outside(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
}

func (c Command) checkArguments() error {
	switch c.Verb {
	case Cancel, Requeue, Say:
		if c.Instance == "" {
			return fault.Newf(fault.Usage, "%s: which instance?", c.Verb)
		}
	case SetWidth:
		if c.Width < 1 || c.Width > maxWidth {
			return fault.Newf(fault.Usage, "width %d: expected a number from 1 to %d", c.Width, maxWidth)
		}
	case SetBudget:
		if !amount(c.Budget, c.Add) {
			return fault.Newf(fault.Usage, "budget %v: expected a number of US dollars", c.Budget)
		}
	case SetLimit:
		return c.checkLimit()
	}
	if c.Verb == Say && (strings.TrimSpace(c.Text) == "" || len(c.Text) > MaxText || !utf8.ValidString(c.Text)) {
		return fault.Newf(fault.Usage, "say: expected a text of 1 to %d bytes in UTF-8", MaxText)
	}
	return nil
}

func (c Command) checkLimit() error {
	if len(c.Limit) == 0 {
		return fault.Newf(fault.Usage, "limit: which one?").WithHint("step=N, cost=N or time=N")
	}
	for name, v := range c.Limit {
		i := slices.IndexFunc(vocab.LimitKinds, func(k vocab.LimitKind) bool { return k.Name == name })
		switch {
		case i < 0:
			return fault.Newf(fault.Usage, "limit: unknown limit %.40q", name)
		case !(v >= 0): // nor is it NaN
			return fault.Newf(fault.Usage, "limit: expected numbers that are not negative; 0 is no limit")
		case v > vocab.LimitKinds[i].Most:
			return fault.Newf(fault.Usage, "limit: at most %.0f %s; 0 is no limit", vocab.LimitKinds[i].Most, vocab.LimitKinds[i].Unit)
		}
	}
	return nil
}

// amount reports whether a number can be a limit, or with signed, a change of one.
func amount(n float64, signed bool) bool {
	return !math.IsNaN(n) && math.Abs(n) <= 1e12 && (signed || n >= 0)
}
