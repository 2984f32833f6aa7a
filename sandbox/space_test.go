package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// crampedEngine is an engine whose containers print what the space script would.
type crampedEngine struct {
	engine.Engine
	fresh   string // in a new one
	refused error  // of Create
	own     int64
	out     vocab.Output
	made    int
	removed []string
}

type crampedContainer struct {
	engine.Container
	on    *crampedEngine
	id    string
	space string
}

func (e *crampedEngine) Create(context.Context, engine.Spec) (engine.Container, error) {
	e.made++
	return crampedContainer{nil, e, "fresh", e.fresh}, e.refused
}

func (c crampedContainer) ID() string { return c.id }

func (c crampedContainer) Run(_ context.Context, cmd box.Command) (vocab.Output, error) {
	if cmd.Script == spaceScript {
		return vocab.Output{Bytes: []byte(c.space)}, nil
	}
	return c.on.out, nil
}

func (c crampedContainer) Remove(context.Context) error {
	c.on.removed = append(c.on.removed, c.id)
	return nil
}

func (c crampedContainer) OwnFiles(context.Context) (bytes, files int64, err error) {
	return c.on.own, 0, nil
}

func TestAnOutputIsTheEnginesFailureOnlyWhileItsDiskIsShort(t *testing.T) {
	const (
		full, roomy  = "4096 0 25000000 9000 10000", "4096 20000000 25000000 9000 10000" // of 100 GB
		below        = "4096 200000 25000000 9000 10000"                                 // 800 MB
		noInodes     = "4096 20000000 25000000 0 10000"
		small, words = "4096 30000 125000 9000 10000", "cat: write error: No space left on device\n" // 120 of 500 MB
		submission   = "SUBMIT\n"
	)
	noSpace := fault.New(fault.Host, "creating", syscall.ENOSPC)
	for name, c := range map[string]struct {
		out           vocab.Output
		inside, fresh string
		refused       error
		own           int64
		began         int64 // what was free; 0: unknown
		want          bool
		made          int // containers to measure in
	}{
		"words, and it is full":                      {vocab.Output{Bytes: []byte(words)}, full, full, nil, 1e6, 8e9, true, 1},
		"words, and it is below the reserve":         {vocab.Output{Bytes: []byte(words)}, below, below, nil, 1e6, 8e9, true, 1},
		"words alone":                                {vocab.Output{Bytes: []byte(words)}, roomy, roomy, nil, 1e6, 8e9, false, 0},
		"words on a small disk that is not full":     {vocab.Output{Bytes: []byte(words)}, small, small, nil, 1e6, 2e8, false, 0},
		"a failure without words":                    {vocab.Output{ExitCode: 1}, full, full, nil, 1e6, 8e9, true, 1},
		"a failure below the reserve":                {vocab.Output{ExitCode: 1}, below, below, nil, 1e6, 8e9, false, 0},
		"a submission below the reserve":             {vocab.Output{Bytes: []byte(submission)}, below, below, nil, 1e6, 8e9, false, 0},
		"a submission without words":                 {vocab.Output{Bytes: []byte(submission)}, full, full, nil, 1e6, 8e9, true, 1},
		"an output that says nothing":                {vocab.Output{}, full, full, nil, 1e6, 8e9, false, 0},
		"no inodes":                                  {vocab.Output{ExitCode: 1}, noInodes, noInodes, nil, 1e6, 8e9, true, 1},
		"no space for a new container":               {vocab.Output{ExitCode: 1}, full, "", noSpace, 1e6, 8e9, true, 1},
		"no new container for another reason":        {vocab.Output{ExitCode: 1}, full, "", errors.New("no"), 1e6, 8e9, false, 1},
		"the container's own quota, or what it says": {vocab.Output{Bytes: []byte(words)}, full, roomy, nil, 1e6, 8e9, false, 1},
		"its own limit":                              {vocab.Output{Bytes: []byte(words), Disk: &vocab.DiskUse{}}, full, full, nil, 1e6, 8e9, false, 0},
		"it filled the disk":                         {vocab.Output{Bytes: []byte(words)}, full, full, nil, 6e9, 8e9, false, 1},
		"others took more":                           {vocab.Output{Bytes: []byte(words)}, full, full, nil, 3e9, 8e9, true, 1},
		"it is taken over, and filled the disk":      {vocab.Output{Bytes: []byte(words)}, full, full, nil, 6e9, 0, false, 1},
		"it is taken over, and is small":             {vocab.Output{Bytes: []byte(words)}, full, full, nil, 1e6, 0, true, 1},
		"nothing measures it":                        {vocab.Output{Bytes: []byte(words)}, full, "no stat", nil, 1e6, 8e9, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := &crampedEngine{fresh: c.fresh, refused: c.refused, own: c.own, out: c.out}
			h := &Host{common: &common{}, Config: Config{Longer: func(begin []byte) bool { return strings.HasPrefix(string(begin), submission) }}.withDefaults()}
			h.Images.Reserve = 1e9
			s := &Sandbox{host: h, site: &site{engine: e, log: slog.New(slog.DiscardHandler)}, container: crampedContainer{nil, e, "agent", c.inside}, began: space{free: c.began}}
			_, err := s.Execute(t.Context(), "1", "x")
			if got := errors.Is(err, engine.ErrNoSpace); got != c.want || (err != nil) != c.want || e.made != c.made {
				t.Errorf("got %v after %d measurements in a new container, want a fault: %v, after %d", err, e.made, c.want, c.made)
			}
			if removed := strings.Contains(fmt.Sprint(e.removed), "agent"); removed != c.want {
				t.Errorf("removed %v; the agent's container is removed with a fault, as it would return the output again", e.removed)
			}
			if c.want && (fault.KindOf(err) != fault.Transient || s.Alive(t.Context()) == nil) {
				t.Errorf("%v, want a Transient fault, and a sandbox that is not used again", err)
			}
			short := c.want || c.own == 6e9 // whoever filled it
			if free, known, _ := (measuredImages{unkept{}, &s.site.short, 1e9}).DiskFree(t.Context()); known != short || short && free >= 1e9 {
				t.Errorf("%d bytes are free afterwards (known: %v), want that instances wait: %v", free, known, short)
			}
		})
	}
}
