package search

import (
	"context"
	"errors"
	"sync"

	"batch.example/batch/internal/mask"
)

// Source is an attempt to search.
type Source struct {
	Name     string // name of the run, for the caller
	Dir      string // the run directory
	Instance string
	Attempt  int    // negative: the last; 0: without a journal
	File     string // replaces Dir, Instance and Attempt

	Mask *mask.Masker // hides its secrets
}

// Result describes what was searched.
type Result struct {
	Sources int  `json:"sources"` // sources that were read to their end
	Hits    int  `json:"hits"`
	More    bool `json:"more"`    // there are more hits than the limit
	Damaged int  `json:"damaged"` // records that could not be read
	Failed  int  `json:"failed"`  // sources that could not be read

	Unmasked int `json:"unmasked"` // sources that were never searched for secrets: see [journal.Shown]
}

// parallel is how many sources are read concurrently, and ahead how many hits of a source may wait for the
// sources before it.
const (
	parallel = 2
	ahead    = 64
)

// errEnough ends the search of a source.
var errEnough = errors.New("enough hits")

// Search calls emit with the hits in the sources, in order, until the limit is reached, ctx is done, or emit
// fails. It returns the error in the last two cases. A mistake in the query is a Usage fault.
func Search(ctx context.Context, sources []Source, q Query, emit func(Hit) error) (Result, error) {
	m, err := q.compile()
	if err != nil {
		return Result{}, err
	}
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	s := &search{matcher: m, limit: limit, emit: emit}
	err = s.run(ctx, sources)
	return s.result, err
}

// search is a search under way.
type search struct {
	*matcher
	limit  int
	emit   func(Hit) error
	result Result
}

// found has the hits of one source.
type found struct {
	hits    chan Hit
	damaged int // this field and the next ones are valid after hits is closed
	err     error

	unmasked bool
}

// run reads the sources and hands over their hits in order.
func (s *search) run(ctx context.Context, sources []Source) error {
	ctx, stop := context.WithCancel(ctx)
	queue := make(chan *found, parallel-1) // with the source that is delivered, at most parallel sources are read
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	work.Add(1)
	go func() {
		defer work.Done()
		defer close(queue)
		s.begin(ctx, sources, queue, &work)
	}()
	for f := range queue {
		if err := s.deliver(ctx, f); err != nil {
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		}
	}
	return ctx.Err()
}

// begin reads one source after the other.
func (s *search) begin(ctx context.Context, sources []Source, queue chan<- *found, work *sync.WaitGroup) {
	for _, src := range sources {
		f := &found{hits: make(chan Hit, ahead)}
		select {
		case queue <- f:
		case <-ctx.Done():
			return
		}
		work.Add(1)
		go func() {
			defer work.Done()
			defer close(f.hits)
			f.err = s.read(ctx, src, f)
		}()
	}
}

// deliver hands over the hits of a source.
func (s *search) deliver(ctx context.Context, f *found) error {
	for h := range f.hits {
		if s.result.Hits == s.limit {
			s.result.More = true
			return errEnough
		}
		s.result.Hits++
		if err := s.emit(h); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.result.Damaged += f.damaged
	if f.unmasked {
		s.result.Unmasked++
	}
	if s.result.Sources++; f.err != nil {
		s.result.Sources--
		s.result.Failed++
	}
	return nil
}
