package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/imagecache"
	"batch.example/batch/sandbox/engine"
)

// Engine is an engine on which sandboxes may be opened, and how much of it they may use.
type Engine struct {
	Address string // as a person named it; empty: it was not named
	Connect engine.Connect

	// Workers is how many agents' sandboxes may be open at the same time, and how many Pristine
	// ones; 0: as many as there is room for in Memory and CPUs if one of these is set, otherwise any
	// number.
	Workers int
	Memory  int64   // bytes; 0: what the engine has
	CPUs    float64 // 0: what the engine has
}

// One returns a list of one engine without an address.
func One(connect engine.Connect) []Engine { return []Engine{{Connect: connect}} }

// site is an engine with what the sandboxes on it share. One engine's disk, pulls and removals do
// not hold up another one's.
type site struct {
	Engine
	engine    engine.Engine
	about     engine.About
	images    *imagecache.Cache
	histories *histories
	places    chan struct{} // of closed sandboxes, see leaving
	log       *slog.Logger

	room  int // how many sandboxes fit, at least 1
	limit int // how many may be open; 0: any number

	// Guarded by placement.mu:
	open map[bool]int    // sandboxes, by whether they are Pristine
	has  map[string]bool // images that were found here or used here, by [imagecache.Ref]
}

// connectLimit is the time limit for reaching one of several engines.
const connectLimit = 30 * time.Second

// connectAll connects to the engines at the same time. One of several that does not answer is left
// out, with a message. It is an error if none answers, or if two are the same.
func connectAll(ctx context.Context, c Config) ([]*site, error) {
	sites, errs := make([]*site, len(c.Engines)), make([]error, len(c.Engines))
	var connecting sync.WaitGroup
	for i, e := range c.Engines {
		connecting.Go(func() {
			limited, cancel := ctx, func() {}
			if len(c.Engines) > 1 {
				limited, cancel = context.WithTimeout(ctx, connectLimit)
			}
			defer cancel()
			sites[i], errs[i] = openSite(limited, c, e)
		})
	}
	connecting.Wait()
	var found []*site
	byID := map[string]*site{}
	refused := ctx.Err()
	for i, s := range sites {
		if s == nil {
			if fault.KindOf(errs[i]) == fault.Usage {
				refused = errs[i]
			}
			continue
		}
		if same := byID[s.about.ID]; same != nil && s.about.ID != "" {
			refused = fault.Newf(fault.Usage, "engines %s and %s are the same one", same.Address, s.Address).WithHint("name it once")
		}
		byID[s.about.ID] = s
		found = append(found, s)
	}
	switch {
	case len(c.Engines) == 0:
		return nil, fault.Newf(fault.Usage, "no engine is given")
	case len(c.Engines) == 1 && errs[0] != nil:
		return nil, errs[0]
	case refused != nil || len(found) == 0:
		for _, s := range found {
			_ = s.engine.Close() // nothing was started through it
		}
		if refused != nil {
			return nil, refused
		}
		return nil, fault.New(fault.Host, "no engine can be reached", errors.Join(errs...)).WithHint("%s", fault.HintOf(errs[0]))
	}
	for i, err := range errs {
		if err != nil {
			c.Log.Warn("an engine cannot be reached and is not used", "engine", c.Engines[i].Address, "err", err)
			c.Notify(fmt.Sprintf("engine %s is not used: %v", c.Engines[i].Address, err))
		}
	}
	return found, nil
}

func openSite(ctx context.Context, c Config, e Engine) (*site, error) {
	log := c.Log
	if len(c.Engines) > 1 {
		log = log.With("engine", e.Address)
		c.Options.Log, c.Images.Log = log, log
		notify := c.Images.Notify
		c.Images.Notify = func(text string) { notify("engine " + e.Address + ": " + text) }
	}
	stock, err := OpenStock(ctx, e.Connect, c.Options, c.State)
	if err != nil {
		return nil, err
	}
	images := stock.Cache(c.Images)
	s := &site{
		Engine: e, engine: stock.engine, about: stock.about, images: images, log: log,
		histories: newHistories(stock.engine, images, stock.about.CPUs, log),
		places:    make(chan struct{}, maxLeaving),
		open:      map[bool]int{}, has: map[string]bool{},
	}
	s.room, s.limit = e.Workers, e.Workers
	if s.room == 0 {
		s.room = max(1, e.Within(machineOf(s.about)).Room(c.Container.Memory))
		if e.Memory > 0 || e.CPUs > 0 {
			s.limit = s.room
		}
	}
	return s, nil
}

// answers reports, without waiting, whether the engine is believed to answer.
func (s *site) answers() bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return s.engine.Ready(ctx) == nil
}

// within returns ctx for work at the end of a run: one that has ended if another engine may be used
// instead of this one and this one does not answer.
func (s *site) within(ctx context.Context, several bool) (context.Context, context.CancelFunc) {
	if several && !s.answers() {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx, cancel
	}
	return context.WithTimeout(ctx, reapLimit)
}

// reap removes the containers of crashed runs and returns their number. A failure is logged and
// does not stop the run.
func (s *site) reap(ctx context.Context) int {
	removed, err := engine.Reap(ctx, s.engine, s.log)
	if err != nil {
		s.log.Warn("could not remove containers of crashed runs", "err", err)
	}
	if err := s.histories.reap(ctx); err != nil {
		s.log.Warn("could not remove volumes of crashed runs", "err", err)
	}
	return len(removed)
}
