package serve

import (
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/runner"
)

// Config describes a server. Dir, Instance and Width are required.
type Config struct {
	Dir   string // the run directory
	Width int    // number of contexts that may have a container at the same time: the run's width

	// Instance returns the instance of a context with id as its ID. Everything else, such as its
	// image, depends on row, the dataset's row that the context began with, or "". It must return
	// the same after a restart. A Usage fault says that the row does not exist.
	Instance func(id, row string) (dataset.Instance, error)

	Card   Card
	Tokens *Tokens // of those who may call; nil allows all programs on this machine
	Limits Limits

	// ModelKeyHeader is the name of an HTTP header with an API key for the model. The turn that the
	// request begins uses the key. Empty: there is no such header.
	ModelKeyHeader string

	Idle time.Duration // unused contexts are paused after this time; 0: never

	Mask func(string) string // hides secrets in texts; nil hides none
	Log  *slog.Logger        // nil discards
	Now  func() time.Time    // nil: time.Now
}

// Limits limit callers. Zero: no limit.
type Limits struct {
	Contexts int   // of all callers together
	Turns    int   // messages in a context
	Body     int64 // bytes of a request; 0: 1 MiB
}

// Server is an A2A server over one run. It is safe for concurrent use.
type Server struct {
	c    Config
	jobs *runner.Roster[dataset.Instance] // contexts that wait for a container; over when contexts should be paused

	mu       sync.Mutex
	contexts map[string]*conversation
	seats    int // contexts that have a container or wait for one

	stopped chan struct{} // closed by Close
	streams sync.WaitGroup
}

// defaultBody is the default of Limits.Body.
const defaultBody = 1 << 20

// New returns a server without contexts.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Mask == nil {
		c.Mask = func(text string) string { return text }
	}
	if c.Limits.Body <= 0 {
		c.Limits.Body = defaultBody
	}
	if c.Width < 1 {
		c.Width = 1
	}
	return &Server{c: c, contexts: map[string]*conversation{}, stopped: make(chan struct{})}
}

// Context is a context in a run directory.
type Context struct{ ID, Row string }

// Contexts returns the contexts in a run directory, except those with unreadable logs. A run over
// the directory has their instances.
func Contexts(dir string) ([]Context, error) {
	var list []Context
	err := eachLog(dir, func(id, path string) error {
		c := Context{ID: id}
		ok := false
		err := readLog(path, func(e entry) error {
			if e.Type == entryContext {
				c.Row, ok = e.Row, true
			}
			return nil
		})
		if ok && err == nil {
			list = append(list, c)
		}
		return nil
	})
	return list, err
}

// eachLog calls do with each context that has a log.
func eachLog(dir string, do func(id, path string) error) error {
	folders, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Host, "reading the contexts", err)
	}
	for _, f := range folders {
		path := filepath.Join(dir, f.Name(), logName)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := do(f.Name(), path); err != nil {
			return err
		}
	}
	return nil
}

// Load reads the contexts in Dir, which the caller must have locked. Contexts with work are added to
// jobs, which the caller holds open: unfinished work continues as soon as the run works. A context with a
// damaged log is logged and left out: the others are served.
func (s *Server) Load(jobs *runner.Roster[dataset.Instance]) error {
	s.jobs = jobs
	return eachLog(s.c.Dir, func(id, path string) error {
		c := s.conversation(id)
		var ok bool
		var err error
		if c.log, ok, err = openLog(path, c.recall); err != nil {
			s.c.Log.Error("a context is left out: its log cannot be read", "context", id, "err", err)
			return nil
		}
		if !ok {
			return nil
		}
		s.mu.Lock()
		s.contexts[c.id] = c
		s.mu.Unlock()
		return c.resume()
	})
}

// Drain stops the server from accepting messages. Running turns end, then their contexts are
// paused. It may be called twice.
func (s *Server) Drain() { s.jobs.Close() }

// Close ends all streams, and answers requests that wait for a turn with the
// current state. The run must have ended before.
func (s *Server) Close() {
	s.Drain()
	s.mu.Lock()
	if !closed(s.stopped) {
		close(s.stopped)
	}
	s.mu.Unlock()
	s.streams.Wait()
}

// Contexts returns the number of contexts.
func (s *Server) Contexts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.contexts)
}

// draining reports whether contexts should be paused.
func (s *Server) draining() bool { return closed(s.jobs.Over()) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// enqueue gives a context to the run. If all containers are in use, the least recently used idle
// context is paused.
func (s *Server) enqueue(c *conversation) {
	s.mu.Lock()
	s.seats++
	full := s.seats > s.c.Width
	s.mu.Unlock()
	in, err := s.c.Instance(c.id, c.row)
	if err != nil {
		c.unseat(false, s.c.Mask(err.Error()))
		return
	}
	s.jobs.Add(in)
	if full {
		s.evict()
	}
}

// signal puts a token into a channel of capacity one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// evict pauses the least recently used idle context, if any.
func (s *Server) evict() {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.contexts))
	s.mu.Unlock()
	var oldest *conversation
	var used time.Time
	for _, c := range all {
		if at, idle := c.idleSince(); idle && (oldest == nil || at.Before(used)) {
			oldest, used = c, at
		}
	}
	if oldest != nil {
		signal(oldest.leave)
	}
}

// waiting reports whether contexts wait for a container.
func (s *Server) waiting() bool { return s.jobs.Left() > 0 }

// gone records that the run is done with a context.
func (s *Server) gone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seats--
}

// find returns a caller's context, or nil.
func (s *Server) find(id, owner string) *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.contexts[id]
	if c == nil || c.owner != owner {
		return nil
	}
	return c
}
