package steering

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"batch.example/batch/internal/mask"
	"batch.example/batch/run/control"
	"batch.example/batch/run/rundir"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// Config describes work that is steered. All fields are required, except where they say otherwise.
type Config struct {
	Kind  string // a Kind constant of package control
	Dir   string // with the socket; this process has its lock
	Log   *control.Log
	Given *control.Begin        // what this process was given, without PID; nil: other programs cannot watch or change the work
	Width *runner.Width         // of the work
	Fits  func(width int) error // refuses a width; nil: any fits
	Limit float64               // US dollars that the work may cost; 0: no limit
	Parts []*Part

	Unpriced bool // costs are not known, so that they cannot be limited

	Cost  func() float64 // US dollars of all answered calls
	Spent func() float64 // Cost, and what unanswered calls may have cost
	Mask  *mask.Masker   // hides secrets in texts; nil hides none
}

// Part is one run: all of the work, or a cell of a sweep.
type Part struct {
	Name     string // of the cell; empty: the work has no cells
	IDs      []string
	Halts    *runner.Halts        // knows which instances are queued
	Finished func(id string) bool // it has a result; nil: a result is not kept apart

	// Takes refuses instances that run again, with a Usage fault; nil: it takes them.
	Takes func() error

	// Again removes the result of an instance and lets it run again; nil: that is not possible.
	// A Usage fault says that it has done nothing.
	Again func(id string) error

	has    map[string]bool
	limits map[string]control.Limit // guarded by the mu of Steering
	said   []control.Record         // likewise
}

// Steering is the steering of one work. It is safe for concurrent use.
type Steering struct {
	Config
	pause   runner.Pause
	workers tracker
	started time.Time // when the work began

	drain, stop func() // of Begin
	say         func(text string)
	log         *slog.Logger

	mu      sync.Mutex
	state   control.State
	since   time.Time
	budget  *runner.Budget // nil: it is not open yet
	drained bool
}

// New returns the steering of work, with what earlier commands left in force for its parts.
func New(c Config) *Steering {
	s := &Steering{Config: c, state: control.Running}
	s.workers.init(c.Mask)
	in := c.Log.InForce()
	for _, p := range c.Parts {
		own := in.Cell(p.Name)
		p.has = map[string]bool{}
		for _, id := range p.IDs {
			p.has[id] = true
		}
		p.limits, p.said = own.Limits, own.Said
		if c.Kind == control.KindGrade { // what was canceled is an agent's attempt
			continue
		}
		for _, id := range own.Canceled {
			p.Halts.Halt(id)
		}
	}
	return s
}

// Pause is the pause of all pools of the work.
func (s *Steering) Pause() *runner.Pause { return &s.pause }

// Opened says that calls are paid from b.
func (s *Steering) Opened(b *runner.Budget) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget = b
	if b != nil && s.budgetChanged() {
		b.SetLimit(s.Limit)
	}
}

// budgetChanged reports whether a command changed the limit before the budget was open. s.mu is
// held.
func (s *Steering) budgetChanged() bool { return s.budget.Limit() != s.Limit }

// Drained reports whether a command drained or stopped the work.
func (s *Steering) Drained() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drained
}

// Begin implements [rundir.Steerer]. Work that cannot be steered, because no socket can be made
// there, is done all the same.
func (s *Steering) Begin(v rundir.View, log *slog.Logger, drain, stop func(), draining <-chan struct{}) (rundir.View, func()) {
	s.drain, s.stop, s.say, s.log = drain, stop, v.Say, log
	s.started = time.Now()
	s.since = s.started
	server, err := s.serve()
	if err != nil {
		log.Warn("other programs cannot watch or control this work", "err", err)
	}
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-draining:
			s.enter(control.Draining)
		case <-over:
		}
	})
	return s.watch(v), func() {
		close(over)
		watching.Wait()
		if server == nil {
			return
		}
		if err := server.Close(); err != nil {
			log.Warn("closing "+control.SocketName, "err", err)
		}
	}
}

// serve listens for other programs; nil: they cannot watch or change the work.
func (s *Steering) serve() (*control.Server, error) {
	if s.Given == nil {
		return nil, nil
	}
	given := *s.Given
	given.PID, given.Kind = os.Getpid(), s.Kind
	if err := s.Log.Begin(given); err != nil {
		return nil, err
	}
	return control.Serve(s.Dir, s, s.Log, s.log)
}

// enter changes the state, and holds the pools while it is Paused. A state that ends the work stays.
// It returns the state.
func (s *Steering) enter(state control.State) control.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	stays := s.state == control.Stopping || s.state == control.Draining && state != control.Stopping
	if !stays && s.state != state {
		s.state, s.since = state, time.Now()
		s.pause.Set(state == control.Paused)
	}
	return s.state
}

// final reports whether a state ends the work.
func final(s control.State) bool { return s == control.Draining || s == control.Stopping }

// Status implements control.Work.
func (s *Steering) Status(content bool) control.Status {
	st := control.Status{Kind: s.Kind, Started: s.started, Now: time.Now(), Verbs: s.verbs(), Width: s.Width.N(), Cancels: s.canceled()}
	if content {
		st.Queued = s.queued()
	}
	st.Cost = s.Cost()
	st.Held = cents(s.Spent() - st.Cost)
	s.mu.Lock()
	st.State, st.Since, st.Budget = s.state, s.since, s.Limit
	s.mu.Unlock()
	for _, p := range s.Parts {
		if p.Name != "" {
			st.Cells = append(st.Cells, p.Name)
		}
	}
	st.Recent = s.Log.Recent(content)
	for i := range st.Recent {
		st.Recent[i].Text = s.Mask.Text(st.Recent[i].Text)
	}
	s.workers.fill(&st)
	for i := range st.Workers {
		w := &st.Workers[i]
		w.Doing, w.Reason = s.Mask.Text(w.Doing), s.Mask.Text(w.Reason)
		if !content {
			w.Doing, w.Reason = "", ""
		}
	}
	return st
}

// cents returns an amount without the errors of sums.
func cents(dollars float64) float64 { return max(0, math.Round(dollars*1e9)/1e9) }

// queued returns the names of the instances that have not begun.
func (s *Steering) queued() []string {
	list := []string{}
	for _, p := range s.Parts {
		for _, id := range p.IDs {
			if _, halted := p.Halts.At(id); !halted && p.Halts.Queued(id) {
				list = append(list, p.Full(id))
			}
		}
	}
	return list
}

// canceled returns the names of the canceled instances.
func (s *Steering) canceled() []string {
	list := []string{}
	for _, p := range s.Parts {
		for _, id := range p.Halts.Halted() {
			list = append(list, p.Full(id))
		}
	}
	return list
}

// Full returns the name of an instance in the work.
func (p *Part) Full(id string) string {
	if p.Name == "" {
		return id
	}
	return p.Name + "/" + id
}

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
