package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
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
	images    *images.Cache
	histories *histories
	checks    sync.Map      // by key: a channel that the container which asks git has filled, see Checked
	places    chan struct{} // of closed sandboxes, see leaving
	short     shortage
	log       *slog.Logger

	room  int // how many sandboxes fit, at least 1
	limit int // how many may be open; 0: any number

	// Guarded by placement.mu:
	open map[bool]int    // sandboxes, by whether they are Pristine
	has  map[string]bool // images that were found here or used here, by [images.Ref]
}

// connectLimit is the time limit for reaching one of several engines.
const connectLimit = 30 * time.Second

// connectAll connects to the engines at the same time. One of several that does not answer is among
// the absent ones, with a message. It is an error if none answers, or if two are the same.
func connectAll(ctx context.Context, c Config, p *placement) (found []*site, absent []Engine, err error) {
	sites, errs := make([]*site, len(c.Engines)), make([]error, len(c.Engines))
	var connecting sync.WaitGroup
	for i, e := range c.Engines {
		connecting.Go(func() {
			limited, cancel := ctx, func() {}
			if len(c.Engines) > 1 {
				limited, cancel = context.WithTimeout(ctx, connectLimit)
			}
			defer cancel()
			sites[i], errs[i] = openSite(limited, c, e, p)
		})
	}
	connecting.Wait()
	refused := ctx.Err()
	for i, s := range sites {
		if s == nil {
			if fault.KindOf(errs[i]) == fault.Usage {
				refused = errs[i]
			}
			absent = append(absent, c.Engines[i])
			continue
		}
		if err := s.differs(found); err != nil {
			refused = err
		}
		found = append(found, s)
	}
	switch {
	case len(c.Engines) == 0:
		return nil, nil, fault.Newf(fault.Usage, "no engine is given")
	case len(c.Engines) == 1 && errs[0] != nil:
		return nil, nil, errs[0]
	case refused != nil || len(found) == 0:
		for _, s := range found {
			_ = s.engine.Close() // nothing was started through it
		}
		if refused != nil {
			return nil, nil, refused
		}
		return nil, nil, fault.New(fault.Host, "no engine can be reached", errors.Join(errs...)).WithHint("%s", fault.HintOf(errs[0]))
	}
	for i, err := range errs {
		if err != nil { // a person would see a warning beside the message
			c.Log.Info("an engine cannot be reached, and is not used until it answers", "engine", c.Engines[i].Address, "err", err)
			c.Notify(fmt.Sprintf("engine %s is not used until it answers: %v", c.Engines[i].Address, err))
		}
	}
	return found, absent, nil
}

// differs returns a Usage fault if the engine is one of others.
func (s *site) differs(others []*site) error {
	for _, same := range others {
		if s.about.ID != "" && s.about.ID == same.about.ID {
			return fault.Newf(fault.Usage, "engines %s and %s are the same one", same.Address, s.Address).WithHint("name it once")
		}
	}
	return nil
}

func openSite(ctx context.Context, c Config, e Engine, p *placement) (*site, error) {
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
	s := &site{
		Engine: e, engine: stock.engine, about: stock.about, log: log,
		places: make(chan struct{}, maxLeaving),
		open:   map[bool]int{}, has: map[string]bool{},
	}
	c.Images.Gone = func(ref string) { p.lost(s, ref) }
	s.images = images.New(measuredImages{imagesOf(s.engine), &s.short, c.Images.Reserve}, stock.ledger, c.Images)
	s.histories = newHistories(s.engine, s.about.CPUs, log)
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

// reap removes the containers of crashed runs and returns their number. A failure is logged and
// does not stop the run.
func (s *site) reap(ctx context.Context) int {
	removed, err := engine.ReapDead(ctx, s.engine, s.log)
	if err != nil {
		s.log.Warn("could not remove containers of crashed runs", "err", err)
	}
	if err := s.histories.reap(ctx); err != nil {
		s.log.Warn("could not remove volumes of crashed runs", "err", err)
	}
	return len(removed)
}

// imagesOf returns the images of an engine.
func imagesOf(e engine.Engine) images.Engine {
	if i, ok := e.(engine.Images); ok {
		return i.ImageEngine()
	}
	return unkept{}
}

// present reports which images an engine has.
func present(ctx context.Context, e engine.Engine, refs []string, platform string) (map[string]bool, error) {
	if i, ok := e.(engine.Images); ok {
		return i.Present(ctx, refs, platform)
	}
	all := map[string]bool{}
	for _, ref := range refs {
		all[ref] = true
	}
	return all, nil
}

// unkept implements images.Engine for an engine that keeps no images: each image is
// present when a container needs it.
type unkept struct{}

// Image implements images.Engine: an image's id is its name.
func (unkept) Image(_ context.Context, ref string) (images.Image, bool, error) {
	name, _ := images.CutRef(ref)
	return images.Image{Image: vocab.Image{Ref: ref, ID: name}, Names: 1}, true, nil
}

// Pull implements images.Engine.
func (u unkept) Pull(ctx context.Context, ref string, _ func(images.Progress)) (images.Image, error) {
	img, _, err := u.Image(ctx, ref)
	return img, err
}

// Layers implements images.Engine.
func (unkept) Layers(context.Context, string) ([]images.Layer, error) { return nil, nil }

// IDs implements images.Engine.
func (unkept) IDs(context.Context) (map[string]bool, error) { return nil, nil }

// Used implements images.Engine.
func (unkept) Used(context.Context) (map[string]bool, error) { return nil, nil }

// Remove implements images.Engine.
func (unkept) Remove(context.Context, string) error { return nil }

// DiskFree implements images.Engine.
func (unkept) DiskFree(context.Context) (free int64, known bool, err error) { return 0, false, nil }
