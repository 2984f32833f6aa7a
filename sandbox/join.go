package sandbox

import (
	"context"
	"fmt"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/retry"
)

// absentPause is the time between two tries to reach an absent engine.
const absentPause = 10 * time.Second

// await tries to reach an engine that was absent at the beginning, until it is added or refused, or ctx
// ends.
func (s *common) await(ctx context.Context, c Config, e Engine, refs []string) {
	said := ""
	for retry.Sleep(ctx, absentPause) == nil {
		err := s.reach(ctx, c, e, refs)
		if err != nil && err.Error() != said && ctx.Err() == nil {
			said = err.Error()
			s.log.Info("an absent engine cannot be used yet", "engine", e.Address, "err", err)
		}
		switch {
		case err == nil:
			s.log.Info("an engine that was absent answers and is used", "engine", e.Address)
			s.notify(fmt.Sprintf("engine %s answers, and is used from now on", e.Address))
			return
		case fault.KindOf(err) == fault.Usage:
			s.log.Info("an engine that was absent is refused", "engine", e.Address, "err", err)
			s.notify(fmt.Sprintf("engine %s is not used: %v", e.Address, err))
			return
		}
	}
}

// reach connects to an engine that was absent, and adds it.
func (s *common) reach(ctx context.Context, c Config, e Engine, refs []string) error {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	at, err := openSite(ctx, c, e, s.place)
	if err != nil {
		return err
	}
	if err := s.add(ctx, c, at, refs); err != nil {
		_ = at.engine.Close() // nothing was started through it
		return err
	}
	return nil
}

// add adds an engine, with what has been done on the others when they were reached.
func (s *common) add(ctx context.Context, c Config, at *site, refs []string) error {
	s.joining.Lock()
	defer s.joining.Unlock()
	if err := at.differs(s.all()); err != nil {
		return err
	}
	for h := range s.hosts {
		if err := h.inherit(ctx, at); err != nil {
			return err
		}
	}
	s.sayReaped(at.reap(ctx))
	s.place.look(ctx, at, refs, c.Container.Platform)
	at.images.Plan(nil) // images of the plan are pulled ahead on the others
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sites = append(s.sites, at)
	s.outdate()
	s.current, s.outdate = context.WithCancel(context.Background())
	return nil
}

// forget says that a host ends: an engine that is added later has nothing for it.
func (s *common) forget(h *Host) {
	s.joining.RLock() // waits for an engine that is being added
	defer s.joining.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.hosts, h)
}
