package grading

import (
	"context"
	"strings"
	"sync"
	"time"

	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/family"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// networkOf returns the network in which a task's tests run: the network that was asked for; or
// the shared bridge if the task installs something, as in the official harness; otherwise none.
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

// installing returns all commands of a task that may install something.
func installing(t *family.Task) string { return t.Setup + "\n" + t.Script + "\n" + t.Command }

// offline reports whether a task's installations fail in a box because no package index can be
// reached.
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
	// probeLimit is the time limit for an index to accept a connection.
	probeLimit = 5 * time.Second
	// unreachedFor is the time before an unreachable index is asked again.
	unreachedFor = time.Minute
)

// any reports whether one of the addresses that a script may install from accepts connections
// from a box. Only the first box waits for the answer; while the answer is no, one box a
// minute asks again.
func (r *reach) any(ctx context.Context, box evaluate.Box, workdir, script string) (bool, error) {
	settings, err := box.Run(ctx, vocab.Command{Script: evaluate.Settings, Dir: workdir, Timeout: probeLimit})
	if err != nil {
		return false, err
	}
	list := evaluate.Indexes(script, string(settings.Bytes))
	r.mu.Lock() // also while it asks: others would ask the same
	defer r.mu.Unlock()
	ask := r.unknown(list)
	if len(ask) == 0 || r.found(list) {
		return r.found(list), nil
	}
	out, err := box.Run(ctx, vocab.Command{Script: evaluate.Connects(ask), Timeout: probeLimit})
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
