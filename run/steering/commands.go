package steering

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
	"batch.example/batch/run/control"
	"batch.example/batch/runner"
)

// verbs returns what the work can be asked to do.
func (s *Steering) verbs() []control.Verb {
	return slices.DeleteFunc(slices.Clone(control.Verbs), func(v control.Verb) bool { return s.Kind == control.KindGrade && onlyAgents(v) })
}

// onlyAgents reports whether a verb makes sense only for agents.
func onlyAgents(v control.Verb) bool {
	return slices.Contains([]control.Verb{control.SetBudget, control.SetLimit, control.Say, control.Requeue}, v)
}

// Check implements control.Work.
func (s *Steering) Check(c control.Command) (control.Command, error) {
	if !slices.Contains(s.verbs(), c.Verb) {
		return c, fault.Newf(fault.Usage, "%s: no agents run here", c.Verb)
	}
	var p *Part
	id := ""
	if c.Instance != "" {
		var err error
		if p, id, err = s.find(c.Instance); err != nil {
			return c, err
		}
		c.Instance = p.Full(id)
	}
	switch c.Verb {
	case control.SetWidth:
		if s.Fits != nil {
			return c, s.Fits(c.Width)
		}
	case control.Pause, control.Resume, control.Requeue:
		s.mu.Lock()
		state, reached := s.state, s.budget != nil && !s.budget.Open()
		s.mu.Unlock()
		switch {
		case final(state):
			return c, ending(c.Verb, state)
		case reached && c.Verb == control.Requeue:
			return c, fault.Newf(fault.Usage, "requeue: the cost limit is reached").WithHint("raise it: `batch ctl DIR budget +5`")
		}
	case control.SetBudget:
		if s.Unpriced {
			return c, fault.Newf(fault.Usage, "budget: the price of the model is not known")
		}
		return s.absolute(c)
	}
	if p == nil {
		return c, nil
	}
	return c, p.check(c.Verb, id)
}

// ending refuses a command because the work ends.
func ending(v control.Verb, state control.State) error {
	return fault.Newf(fault.Usage, "%s: the work is %s", v, state).WithHint("`batch resume` continues it afterwards")
}

// absolute returns a change of the budget as the new limit.
func (s *Steering) absolute(c control.Command) (control.Command, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Add && s.Limit <= 0 {
		return c, fault.Newf(fault.Usage, "budget: there is no limit to add to").WithHint("set one: `batch ctl DIR budget 20`")
	}
	if c.Add {
		c.Budget += s.Limit
	}
	if c.Add && c.Budget <= 0 {
		return c, fault.Newf(fault.Usage, "budget: the limit is %s", printable.Dollars(s.Limit))
	}
	if spent := s.Spent(); c.Budget > 0 && c.Budget <= spent {
		text := printable.Dollars(s.Cost()) + " is spent already"
		if held := spent - s.Cost(); cents(held) > 0 {
			text = fmt.Sprintf("%s; up to %s with calls of unknown cost", text, printable.Dollars(spent))
		}
		return c, fault.Newf(fault.Usage, "budget: %s: the limit must be higher", text).
			WithHint("`batch ctl DIR drain` ends the work")
	}
	c.Add = false
	return c, nil
}

// find returns the instance with a name, which may leave out the cell if only one cell has it.
func (s *Steering) find(name string) (p *Part, id string, err error) {
	var found []*Part
	for _, p := range s.Parts {
		own, inCell := strings.CutPrefix(name, p.Name+"/")
		if p.Name != "" && inCell && p.has[own] {
			return p, own, nil
		}
		if p.has[name] {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return nil, "", s.unknown(name)
	case 1:
		return found[0], name, nil
	}
	return nil, "", fault.Newf(fault.Usage, "%s is in %d cells", name, len(found)).WithHint("name one, such as %s", found[0].Full(name))
}

func (s *Steering) unknown(name string) error {
	var names []string
	for _, p := range s.Parts {
		for _, id := range p.IDs {
			names = append(names, p.Full(id))
		}
	}
	return fault.Newf(fault.Usage, "no instance %s is in this work", name).WithHint("%s", near.Hint(near.Name(name, names), ""))
}

// check refuses a verb that an instance's state does not allow.
func (p *Part) check(v control.Verb, id string) error {
	at, halted := p.Halts.At(id)
	finished := at != runner.Underway && p.Finished != nil && p.Finished(id)
	switch v {
	case control.Requeue:
		switch {
		case at == runner.Underway && !halted:
			return fault.Newf(fault.Usage, "requeue: %s is running", p.Full(id))
		case p.Halts.Queued(id) && !halted:
			return fault.Newf(fault.Usage, "requeue: %s has not begun yet", p.Full(id))
		case p.Takes != nil:
			return p.Takes()
		}
	case control.Cancel, control.Say:
		if finished {
			return fault.Newf(fault.Usage, "%s: %s has a result", v, p.Full(id)).WithHint("`batch ctl DIR requeue %s` runs it again", p.Full(id))
		}
	}
	if v == control.Say && (at == runner.Left || halted) {
		return fault.Newf(fault.Usage, "say: %s does not run any more", p.Full(id))
	}
	return nil
}

// Apply implements control.Work. A person who watches is shown what changes.
func (s *Steering) Apply(r control.Record) (effect string, err error) {
	effect, err = s.apply(r)
	if err == nil {
		s.say(strings.TrimSpace(fmt.Sprintf("%s %s", r.Verb, r.Instance)) + ": " + effect + " (" + by(r) + ")")
	}
	return effect, err
}

// by names who gave a command.
func by(r control.Record) string {
	text := cmp.Or(r.User, fmt.Sprintf("user %d", r.UID))
	if r.Program != "" {
		text += " with " + r.Program
	}
	return text
}

func (s *Steering) apply(r control.Record) (effect string, err error) {
	switch r.Verb {
	case control.SetWidth:
		was := s.Width.N()
		s.Width.Set(r.Width)
		return fmt.Sprintf("%d at once, before: %d", r.Width, was), nil
	case control.Pause:
		if state := s.enter(control.Paused); final(state) { // a drain came after Check
			return "", ending(r.Verb, state)
		}
		if s.Kind == control.KindGrade {
			return "no prediction begins, the running ones end", nil
		}
		return "no instance begins, and attempts wait before their next call", nil
	case control.Resume:
		if state := s.enter(control.Running); final(state) {
			return "", ending(r.Verb, state)
		}
		return "the work continues", nil
	case control.Drain, control.Stop:
		return s.finish(r.Verb), nil
	case control.SetBudget:
		return s.setBudget(r.Budget), nil
	}
	return s.applyTo(r)
}

// finish ends the work as an interrupt does.
func (s *Steering) finish(v control.Verb) string {
	s.mu.Lock()
	s.drained = true
	s.mu.Unlock()
	if v == control.Drain {
		s.enter(control.Draining)
		s.drain()
		return "running instances end, no others begin"
	}
	s.enter(control.Stopping)
	s.drain()
	s.stop()
	return "running attempts are saved, and continue later"
}

func (s *Steering) setBudget(dollars float64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	closed := s.budget != nil && !s.budget.Open()
	s.Limit = dollars
	if s.budget != nil {
		s.budget.SetLimit(dollars)
	}
	effect := "no limit"
	if dollars > 0 {
		effect = "the limit is " + printable.Dollars(dollars)
	}
	if closed {
		effect += "; it had been reached, and instances that ended for that continue with batch resume"
	}
	return effect
}

// applyTo carries out a command about one instance, or about the limits of all.
func (s *Steering) applyTo(r control.Record) (effect string, err error) {
	if r.Instance == "" {
		for _, p := range s.Parts {
			s.setLimit(p, "", r.Limit)
		}
		return "all attempts have the new limits from their next call on", nil
	}
	p, id, err := s.find(r.Instance)
	if err != nil {
		return "", err
	}
	switch r.Verb {
	case control.SetLimit:
		s.setLimit(p, id, r.Limit)
		return "its attempt has the new limits from its next call on", nil
	case control.Say:
		return s.deliver(p, id, r)
	case control.Cancel:
		at, _ := p.Halts.At(id)
		p.Halts.Halt(id)
		if s.Kind == control.KindGrade {
			return "it is not graded, until the next batch grade", nil
		}
		if at == runner.Underway {
			return "its attempt ends now, and does not run again until it is requeued", nil
		}
		return "it does not run until it is requeued", nil
	default:
		return "it runs again", s.requeue(p, id, r)
	}
}

// deliver keeps a message for an attempt. The attempt may have ended since the check: then no other
// one may read what was said to this one.
func (s *Steering) deliver(p *Part, id string, r control.Record) (effect string, err error) {
	over := p.check(r.Verb, id) != nil
	s.mu.Lock()
	over = over || s.workers.final(p.Full(id)) // unread takes s.mu after that is known
	if !over {
		p.said = append(p.said, inPart(r, id))
	}
	s.mu.Unlock()
	if !over {
		return "the agent reads it before its next call", nil
	}
	if err := s.Log.Done(r.ID); err != nil {
		return "", err
	}
	return "", fault.Newf(fault.Usage, "say: the attempt at %s ended before the agent read the message", p.Full(id))
}

func (s *Steering) requeue(p *Part, id string, r control.Record) error {
	undo := func() {}
	if p.Finished(id) {
		undo = s.workers.again(p.Full(id)) // before it can begin
	}
	err := p.Again(id)
	if err != nil {
		undo()
	}
	if err != nil && fault.KindOf(err) != fault.Usage {
		return err
	}
	return cmp.Or(s.Log.Done(r.ID), err) // the next process must not carry out what was refused
}

// inPart returns a record with the name of its instance in its part.
func inPart(r control.Record, id string) control.Record {
	r.Instance = id
	return r
}

func (s *Steering) setLimit(p *Part, id string, l control.Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.limits == nil {
		p.limits = map[string]control.Limit{}
	}
	if id == "" {
		for other, before := range p.limits {
			p.limits[other] = l.Over(before)
		}
	}
	p.limits[id] = l.Over(p.limits[id])
}

// LimitOf returns the limits of an instance of a part that commands have set.
func (s *Steering) LimitOf(p *Part, id string) control.Limit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.limits[id].Over(p.limits[""])
}

// Heard says that a message is part of an attempt: no other attempt gets it.
func (s *Steering) Heard(p *Part, id string) error {
	s.mu.Lock()
	n := len(p.said)
	p.said = slices.DeleteFunc(p.said, func(r control.Record) bool { return r.ID == id })
	waited := len(p.said) < n
	s.mu.Unlock()
	if !waited {
		return nil // it was heard before
	}
	return s.Log.Done(id)
}

// Said returns the messages of people for an instance of a part that no attempt has heard, oldest
// first.
func (s *Steering) Said(p *Part, id string) (list []control.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range p.said {
		if r.Instance == id {
			list = append(list, r)
		}
	}
	return list
}
