package selecting

import (
	"context"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
	"batch.example/batch/results/selections"
	"batch.example/batch/run/rundir"
	"batch.example/batch/runner"
)

// The selectors.
const (
	ByMajority = "majority" // the patch that most attempts made
	ByProgram  = "program"  // the patch that a program chooses
)

// Config describes a selection. Output and Attempts are required.
type Config struct {
	Output   string
	Attempts []scores.Run // of one entry, in order: attempt 1 is the first
	Program  *Program     // nil: the majority decides

	Instances []dataset.Instance // rows; needed by a Program

	About *manifest.Manifest // of the directory; nil: none is written, and an existing one stays
	Store results.Options
	Width *runner.Width     // instances at the same time; nil: one
	Tell  func(text string) // called before work begins; nil ignores
}

// by names what decides.
func (c Config) by() string {
	if c.Program != nil {
		return ByProgram
	}
	return ByMajority
}

// Selecting is a directory that this process has locked, to write selections into it.
type Selecting struct {
	Config
	store *results.Store
	log   *selections.Log
	rows  map[string]dataset.Instance
	all   []*choice // by instance id
	sum   runner.Summary
}

// Open locks the directory and reads the candidates. The caller must Close the Selecting.
func Open(ctx context.Context, c Config) (*Selecting, error) {
	if c.Tell == nil {
		c.Tell = func(string) {}
	}
	s := &Selecting{Config: c, rows: map[string]dataset.Instance{}}
	for _, in := range c.Instances {
		s.rows[in.ID] = in
	}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	_, err := rundir.Open(c.Output, c.Store, func(store *results.Store) error {
		s.store = store
		return s.prepare()
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// prepare refuses a directory with other content, and takes over the decisions of an
// earlier call.
func (s *Selecting) prepare() (err error) {
	if err := s.checkManifest(); err != nil {
		return err
	}
	if err := s.store.CanImport(nil); err != nil {
		return err
	}
	if s.log, err = selections.Open(s.Output, selections.Options{Mask: s.Store.Mask}); err != nil {
		return err
	}
	for _, note := range append(s.store.Recovered(), s.log.Recovered()...) {
		s.Tell(note)
	}
	last := selections.Latest(s.log.All())
	for _, c := range s.all {
		old, decided := last[c.id]
		switch {
		case !decided:
		case old.Key != c.key:
			return fault.Newf(fault.Usage, "%s has a selection for %s from other candidates, or with other settings", s.Output, c.id).
				WithHint("choose another directory with -o")
		default:
			c.decided = &old
		}
	}
	return nil
}

// Todo returns how many instances have candidates and are left to decide.
func (s *Selecting) Todo() int { return len(s.todo()) }

func (s *Selecting) todo() (list []*choice) {
	for _, c := range s.all {
		if c.decided == nil && len(c.candidates) > 0 {
			list = append(list, c)
		}
	}
	return list
}

// Missing returns how many instances have no selection.
func (s *Selecting) Missing() (n int) {
	for _, c := range s.all {
		if c.decided == nil {
			n++
		}
	}
	return n
}

// Selections returns the selections so far, sorted by instance id.
func (s *Selecting) Selections() (list []selections.Selection) {
	for _, c := range s.all {
		if c.decided != nil {
			list = append(list, *c.decided)
		}
	}
	return list
}

// Pending returns how many instances Work left, because it was interrupted.
func (s *Selecting) Pending() int { return s.sum.Pending }

// Cost returns 0: what a program spends is not known.
func (*Selecting) Cost() float64 { return 0 }
