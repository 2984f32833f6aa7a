package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"batch.example/batch/vocab"
)

// Reader is an [Environment] in which actions that change nothing may run at the same time.
type Reader interface {
	Environment

	// Read is Execute for a command that changes nothing. It is safe for concurrent use.
	// Its action is recorded afterwards, so the command may run again after a crash.
	Read(ctx context.Context, command string) (vocab.Output, error)
}

// maxReads is the number of actions of a run that are executed at the same time.
const maxReads = 8

// early is a read-only action that is executed before its turn: together with the read-only
// actions after it, and before it is recorded. Other actions are recorded before they run, so
// that none runs twice after a crash; a read-only action may. The journal has the actions one
// after the other, each with its output, as if they had run in order. If one fails or runs too
// long, the results of later ones are dropped.
type early struct {
	out     vocab.Output
	err     error // of the execution
	refused error // why it was not executed: it was not approved, or the environment is not ready
	panic   any   // what its execution panicked with
}

// readAhead executes the read-only actions at the beginning of the rest of a reply at the same
// time, if there are several. They are approved before, one after the other. A refusal ends
// the group and is kept for the action's turn.
func (r *run) readAhead(ctx context.Context, rest []action) {
	env, ok := r.turn.Env.(Reader)
	n := 0
	for n < len(rest) && rest[n].tool.ReadOnly != nil && rest[n].tool.ReadOnly(rest[n].Call) {
		n++
	}
	if !ok || n < 2 || len(r.known) > 0 || rest[0].early != nil || ctx.Err() != nil {
		return
	}
	var group []action
	for i := range rest[:n] {
		rest[i].early = &early{refused: r.approve(ctx, rest[i])}
		if rest[i].early.refused != nil {
			break
		}
		group = append(group, rest[i])
	}
	if len(group) == 0 {
		return
	}
	if err := r.await(ctx); err != nil {
		group[0].early.refused = err
		return
	}
	start := r.loop.config.Now()
	readAll(ctx, env, group)
	r.end.CommandTime += r.loop.config.Now().Sub(start)
}

// readAll executes actions at the same time. It panics if one of them does.
func readAll(ctx context.Context, env Reader, group []action) {
	var all sync.WaitGroup
	slots := make(chan struct{}, maxReads)
	for _, a := range group {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			defer func() {
				if p := recover(); p != nil {
					a.early.panic = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
				}
			}()
			a.early.out, a.early.err = a.execute(ctx, reading{env})
		})
	}
	all.Wait()
	for _, a := range group {
		if a.early.panic != nil {
			panic(a.early.panic)
		}
	}
}

// reading is the environment of read-only actions.
type reading struct{ Reader }

// Execute implements [Environment].
func (r reading) Execute(ctx context.Context, command string) (vocab.Output, error) {
	return r.Read(ctx, command)
}
