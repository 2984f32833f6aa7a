package grading

import (
	"context"
	"strings"
	"sync"
	"time"

	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/family"
	"batch.example/batch/sandbox/engine"
)

// networkOf is the network in which a task's tests run: the one that was asked for, else the one
// shared bridge where the task installs something, as in the official harness, and none
// otherwise.
func networkOf(asked string, t *family.Task) string {
	switch {
	case asked != "":
		return asked
	case evaluate.Installs(installing(t)):
		return engine.Bridge
	}
	return networkNone
}

const networkNone = "none"

// installing is all that a task runs.
func installing(t *family.Task) string { return t.Setup + "\n" + t.Script + "\n" + t.Command }

// offline reports whether what a task installs in a box fails: no package index can be reached.
func offline(ctx context.Context, box Box, network string, t *family.Task) (bool, error) {
	script := installing(t)
	if !evaluate.Installs(script) {
		return false, nil
	}
	if network == networkNone {
		return true, nil
	}
	reached, err := box.Reaches(ctx, t.Workdir, script)
	return !reached, err
}

// reach remembers which package indexes the containers of an engine reach. It is safe for
// concurrent use.
type reach struct {
	mu    sync.Mutex
	known map[string]reached // by address
}

// reached says whether an address accepted a connection, and when.
type reached struct {
	yes bool
	at  time.Time
}

const (
	// probeLimit is how long an index has to accept a connection.
	probeLimit = 5 * time.Second
	// unreachedFor is how long an index that did not is not asked again.
	unreachedFor = time.Minute
)

// any reports whether one of the addresses that a script may install from accepts connections
// out of a box. Only the first box waits for the answer, and one a minute while there is none.
func (r *reach) any(ctx context.Context, box evaluate.Box, workdir, script string) (bool, error) {
	settings, err := box.Run(ctx, evaluate.Command{Script: evaluate.Settings, Dir: workdir, Timeout: probeLimit})
	if err != nil {
		return false, err
	}
	list := evaluate.Indexes(script, string(settings.Bytes))
	r.mu.Lock() // also while it asks: the others would ask the same
	defer r.mu.Unlock()
	ask := r.unknown(list)
	if len(ask) == 0 || r.found(list) {
		return r.found(list), nil
	}
	out, err := box.Run(ctx, evaluate.Command{Script: evaluate.Connects(ask), Timeout: probeLimit})
	if err != nil {
		return false, err
	}
	for _, address := range ask {
		r.known[address] = reached{strings.Contains("\n"+string(out.Bytes), "\n"+address+"\n"), time.Now()}
	}
	return r.found(list), nil
}

func (r *reach) found(list []string) bool {
	for _, address := range list {
		if r.known[address].yes {
			return true
		}
	}
	return false
}

func (r *reach) unknown(list []string) (unknown []string) {
	for _, address := range list {
		if known, asked := r.known[address]; !asked || !known.yes && time.Since(known.at) > unreachedFor {
			unknown = append(unknown, address)
		}
	}
	return unknown
}
