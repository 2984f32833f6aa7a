package agent

import (
	"context"
	"errors"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Loop is the agent's control flow: Step = Query + ExecuteActions, until an
// interrupt ends it. It keeps nothing between runs and is safe for concurrent use.
type Loop struct {
	config Config
	form   *form

	system, instance, observation, formatError *template
}

// Turn is what one run works on and with.
type Turn struct {
	Task string         // template variable task
	Vars map[string]any // more template variables; they win over the configuration's

	// Messages is the history to go on from, not changed; empty begins with the
	// system and the task message. Messages of role exit are kept but not sent.
	// Tool calls that it leaves without an answer are answered first.
	Messages []llm.Message
	Say      string        // what a person says next, after the history; empty says nothing
	Calls    int           // made so far; counts for the step limit
	Cost     float64       // spent so far, US dollars; counts for the cost limit
	Elapsed  time.Duration // worked so far; counts for the wall time limit

	FormatErrors int // in a row at the end of Messages
	// Unfinished is the step after Messages, when a run was stopped in the middle
	// of it; nil when there is none. It is taken to its end before the next
	// call. Limits, Admit and the Recorder hear nothing of the parts it holds.
	Unfinished *Unfinished

	Model    llm.Model
	Env      Environment
	Recorder Recorder     // may be nil
	Admit    func() error // asked before each paid call; may be nil; its error ends the run

	// Approve is asked before each action that is to run, with the tool's name. An
	// [Interrupt] that it returns keeps the action and the rest of its reply from
	// running, and its messages follow on what the model is told of that; another
	// error ends the run. May be nil.
	Approve func(ctx context.Context, tool string, c Call) error

	// Rewrite is asked before each call with the conversation as it is sent, not to
	// be changed; nil leaves it so. May be nil.
	Rewrite func(ctx context.Context, sent []llm.Message) (*Rewriting, error)

	// Ready is waited for before each action that runs, which takes none of the
	// agent's time; its error ends the run. May be nil.
	Ready func(context.Context) error

	// Step is told of progress: the phase is "model" or "command". May be nil.
	Step func(step int, phase string, cost float64)
}

// Unfinished is a step of which the reply is known, and what its first actions did.
type Unfinished struct {
	Reply   *llm.Response  // not counted yet in the Turn's Calls and Cost
	Outputs []vocab.Output // of actions that are not to run again, in order
}

// Ending is how a run ended.
type Ending struct {
	Status     vocab.Status // an interrupt's name, or a fault kind's Status
	Submission []byte       // exact; not nil when Submitted
	Submitted  bool
	Reason     string        // what the provider or the environment said where it ended the run; else empty
	Messages   []llm.Message // the whole conversation, the history first
	Calls      int           // answered and paid, those of the Turn included
	Cost       float64       // US dollars, that of the Turn included
	Usage      vocab.Usage   // of this run
	ModelID    string        // as the provider names the model that answered last

	ModelTime   time.Duration // in calls, RateWait included
	RateWait    time.Duration // of that, spent waiting for rate limits and retries
	CommandTime time.Duration
}

// Run takes steps until the run ends. The Ending is never nil and says what is
// known so far. A run that submits, gives up or meets a limit has a nil error,
// and so has one whose conversation the model's provider does not take any more
// (llm.ErrContextLength, llm.ErrContentPolicy), or that has destroyed its
// environment ([vocab.ErrDestroyed]); an error is a fault, what Admit or the recorder
// returned, or a cancellation, and then the last message has the role exit with exit_status and exception_str.
func (l *Loop) Run(ctx context.Context, t Turn) (*Ending, error) {
	r := newRun(l, t)
	err := r.begin(ctx)
	for err == nil && !r.done() {
		err = r.handle(ctx, r.step(ctx))
	}
	if err != nil {
		r.fail(ctx, err)
	}
	r.end.Messages = r.messages
	return &r.end, err
}

// handle appends an interrupt's messages. Any other error is returned.
func (r *run) handle(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	stop, ok := errors.AsType[*Interrupt](err)
	if !ok {
		return err
	}
	if stop.Name == vocab.StatusFormatError {
		stop = r.countFormatError(stop)
	}
	if err := r.record(ctx, Event{Type: EventInterrupt, Interrupt: stop.Name}); err != nil {
		return err
	}
	if err := r.append(ctx, stop.Messages...); err != nil {
		return err
	}
	if r.done() {
		r.end.Status = stop.Name
	}
	return nil
}

func (r *run) countFormatError(stop *Interrupt) *Interrupt {
	r.formatErrors++
	if limit := r.loop.config.MaxFormatErrors; limit < 0 || r.formatErrors < limit {
		return stop
	}
	last := exit(vocab.StatusRepeatedFormatError)
	return &Interrupt{vocab.StatusRepeatedFormatError, append(stop.Messages, last.Messages...)}
}

// fail ends the run with a message that says why. A recorder that is the
// reason may fail again; what it then says adds nothing.
func (r *run) fail(ctx context.Context, err error) {
	status := fault.KindOf(err).Status()
	if fault.Canceled(err) {
		status = vocab.StatusUserInterruption
	}
	r.end.Status = status
	_ = r.append(context.WithoutCancel(ctx), errorMessage(status, err))
}

// Environment is where actions run. The agent needs no more of a container.
type Environment interface {
	// Execute runs one command in a fresh shell, with empty stdin, and waits
	// for it or for its time limit. What the command does, its exit code and
	// a timeout included, is in the Output; an error is a *fault.Error,
	// [vocab.ErrDestroyed] or the cancellation of ctx and ends the run.
	Execute(ctx context.Context, command string) (vocab.Output, error)

	// Vars are the template variables that describe the environment.
	Vars() map[string]any
}
