package view

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/trajectory"
	"batch.example/batch/run/control"
)

// Config describes a server. Roots, Token, Hosts and Mask are required.
type Config struct {
	Roots  []string // run directories, folders of sweeps, and folders of them
	Token  string   // token that a request needs; see the package comment
	Hosts  []string // the server's names in the header Host, in lower case: "127.0.0.1:4200"
	Secure bool     // the server uses TLS

	Mask *mask.Masker // hides secrets in all texts
	// Row returns an instance's row of the dataset, for a run with a manifest, or the reason why there is
	// none. Nil means that no row is known.
	Row func(ctx context.Context, m *manifest.Manifest, id string) (row *dataset.Instance, why string)

	// Control reads the arguments of a verb of `batch ctl`. If it is set, the pages have forms that send
	// commands to the processes; nil means that they only read.
	Control func(control.Verb, []string) ([]control.Command, error)

	// MaskOf returns a masker of the secrets of a run and of Mask, for the run's pages; nil uses Mask.
	MaskOf func(*manifest.Manifest) *mask.Masker

	Log *slog.Logger // logs errors of the server itself; nil discards
}

// Server serves the pages. It is safe for concurrent use.
type Server struct {
	c     Config
	runs  *runs
	cache *trajectory.Cache
	now   working

	comparing sync.Mutex // held while a report is made: it takes both the time and the memory
}

// mostAttempts is the maximum number of journals with an index in memory.
const mostAttempts = 256

// New returns a server that has found a run in each of the roots. A root without a run is a Usage fault.
func New(c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.MaskOf == nil {
		c.MaskOf = func(*manifest.Manifest) *mask.Masker { return c.Mask }
	}
	s := &Server{c: c, runs: &runs{roots: c.Roots, maskOf: c.MaskOf, known: map[string]*run{}}, cache: trajectory.NewCache(mostAttempts)}
	if _, err := s.runs.all(); err != nil {
		return nil, err
	}
	return s, nil
}

// Runs returns the number of runs that were found.
func (s *Server) Runs() int {
	s.runs.mu.Lock()
	defer s.runs.mu.Unlock()
	return len(s.runs.list)
}

// Handler answers the requests of browsers and programs. The caller limits the time for headers. Answers that
// last until their reader leaves end with the request's context.
func (s *Server) Handler() http.Handler { return s.guard(s.mux()) }

// mux returns the handlers of all pages.
func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.overview)
	mux.HandleFunc("GET /assets/{name}", asset)
	mux.HandleFunc("GET /report", s.report)
	mux.HandleFunc("GET /live", s.live)
	mux.HandleFunc("GET /live/events", s.liveEvents)
	mux.HandleFunc("GET /search", s.search)
	mux.HandleFunc("GET /search/events", s.searchEvents)
	mux.HandleFunc("GET /instance/{id}", s.beside)
	mux.HandleFunc("GET /run/{run}/{id}", s.attempt)
	mux.HandleFunc("GET /run/{run}/{id}/events", s.grows)
	mux.HandleFunc("GET /run/{run}/{id}/output", s.output)
	mux.HandleFunc("GET /run/{run}/{id}/patch", s.patch)
	mux.HandleFunc("GET /run/{run}/{id}/tests", s.tests)
	mux.HandleFunc("GET /run/{run}/{id}/log", s.testLog)
	mux.HandleFunc("GET /run/{run}/{id}/audit", s.audit)
	if s.c.Control != nil {
		mux.HandleFunc("POST /control", s.steer)
	}
	return mux
}

// runs holds the run directories that a server shows.
type runs struct {
	roots  []string
	maskOf func(*manifest.Manifest) *mask.Masker

	mu     sync.Mutex
	list   []*run
	known  map[string]*run // runs by directory
	looked time.Time
}

// findEvery is the interval at which the folders are searched for new runs.
const findEvery = 5 * time.Second

// all returns the runs, in order, after it has looked for new ones.
func (r *runs) all() ([]*run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list != nil && time.Since(r.looked) < findEvery {
		return r.list, nil
	}
	places, err := find(r.roots)
	if err != nil {
		if r.list != nil { // a folder was removed: show the others
			return r.list, nil
		}
		return nil, err
	}
	list := make([]*run, len(places))
	for i, p := range places {
		if r.known[p.Dir] == nil {
			r.known[p.Dir] = &run{place: p, maskOf: r.maskOf}
		}
		list[i] = r.known[p.Dir]
	}
	r.list, r.looked = list, time.Now()
	return list, nil
}

// named returns the run with a name.
func (r *runs) named(name string) (*run, error) {
	list, err := r.all()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(one *run) bool { return one.Name == name }); i >= 0 {
		return list[i], nil
	}
	return nil, fault.Newf(fault.Usage, "there is no run %q here", name)
}

// Warm reads all runs, so that the first page comes at once. It returns when ctx ends.
func (s *Server) Warm(ctx context.Context) {
	list, err := s.runs.all()
	for i := 0; err == nil && i < len(list) && ctx.Err() == nil; i++ {
		list[i].read()
	}
}
