package sandbox

import "sync"

// maxLeaving is how many closed sandboxes of an engine may still have their container.
// Removing one takes a fraction of a second, so few callers wait; until then, the processes
// in it keep their memory.
const maxLeaving = 8

// leaving has the closed sandboxes of a host while their containers are being removed.
type leaving struct {
	places  chan struct{} // of all hosts on the engine
	running sync.WaitGroup
}

// begin calls remove in the background, once fewer than maxLeaving others are left.
func (l *leaving) begin(remove func()) {
	l.places <- struct{}{}
	l.running.Go(func() {
		defer func() { <-l.places }()
		remove()
	})
}

// Close ends the sandbox. Its container is removed and its image released in the
// background; if many others are being removed, Close first waits for one of them. It also
// works after a canceled Open or Execute, with its own time limit, and may be called twice.
// The removal waits for an engine that is away, unless Open's context is done. [Host.Close]
// waits for it. The error is always nil: the host's log has a failure.
func (s *Sandbox) Close() error {
	s.closed.Do(func() { s.host.leaving.begin(s.remove) })
	return nil
}

func (s *Sandbox) remove() {
	defer s.release()
	if err := s.container.Remove(s.opened); err != nil {
		s.host.Log.Error("removing a container", "instance", s.instance, "container", s.facts.Container, "err", err)
		return
	}
	s.host.leaveHistory(s.opened, s.facts.Image.Ref, s.scrub)
}
