package sandbox

// maxLeaving is how many closed sandboxes of an engine may still have their container.
// Removing one takes a fraction of a second, so few callers wait; until then, the processes
// in it keep their memory.
const maxLeaving = 8

// begin calls remove in the background, once fewer than maxLeaving other sandboxes on the engine
// are left.
func (h *Host) begin(s *site, remove func()) {
	s.places <- struct{}{}
	h.leaving.Go(func() {
		defer func() { <-s.places }()
		remove()
	})
}

// Close ends the sandbox. Its container is removed and its image released in the
// background; if many others are being removed, Close first waits for one of them. It also
// works after a canceled Open or Execute, with its own time limit, and may be called twice.
// The removal waits for an engine that is away, unless Open's context is done. [Host.Close]
// waits for it. The error is always nil: the host's log has a failure.
func (s *Sandbox) Close() error {
	s.closed.Do(func() { s.host.begin(s.site, s.remove) })
	return nil
}

func (s *Sandbox) remove() {
	defer s.release()
	if err := s.container.Remove(s.opened); err != nil {
		s.site.log.Error("removing a container", "instance", s.instance, "container", s.facts.Container, "err", err)
		return
	}
	s.host.leaveHistory(s.opened, s.site, s.facts.Image.Ref, s.scrub)
}
