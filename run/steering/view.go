package steering

import (
	"fmt"
	"slices"

	"batch.example/batch/run/rundir"
	"batch.example/batch/vocab"
)

// watch returns a View that also keeps the state of the workers.
func (s *Steering) watch(v rundir.View) rundir.View {
	return rundir.NewView(func(e vocab.Event) {
		s.workers.event(e)
		v.Event(e)
		if e.Type == vocab.EventInstanceEnd && e.Outcome.Final() {
			s.unread(e)
		}
	})
}

// unread drops the messages for an instance that has a result, so that no later attempt reads what
// was said to this one. A person who watches is shown them.
func (s *Steering) unread(e vocab.Event) {
	i := slices.IndexFunc(s.Parts, func(p *Part) bool { return p.Name == e.Cell })
	if i < 0 {
		return
	}
	for _, r := range s.Said(s.Parts[i], e.Instance) {
		s.say(fmt.Sprintf("say %s: the attempt ended before the agent read the message (%s)", e.Name(), by(r)))
		s.log.Warn("a person's message was not read: the attempt ended before", "instance", e.Name(), "id", r.ID)
		if err := s.Heard(s.Parts[i], r.ID); err != nil {
			s.log.Warn("not on record: that a message was not read", "instance", e.Name(), "id", r.ID, "err", err)
		}
	}
}
