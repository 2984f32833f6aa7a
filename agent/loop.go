package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"batch.example/batch/agent/template"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/picture"
	"batch.example/batch/vocab"
)

// Loop is the agent's control flow: Step = Query + ExecuteActions, until an
// interrupt ends it. It keeps nothing between runs and is safe for concurrent use.
type Loop struct {
	config Config
	form   *form

	system, instance, observation, formatError *template.Template
}

// Turn is the input of one run.
type Turn struct {
	Task string         // template variable task
	Vars map[string]any // more template variables; they win over the configuration's

	// Pictures follow the text of the task message, in this order. Without Messages they must be
	// within the limits of Sight.
	Pictures []picture.Picture

	// Messages is the history to continue from, not changed; empty begins with the
	// system and the task message. Messages of role exit are kept but not sent.
	// Tool calls that it leaves without an answer are answered first.
	Messages []llm.Message
	Calls    int           // made so far; counts towards the step limit
	Cost     float64       // spent so far, US dollars; counts towards the cost limit
	Elapsed  time.Duration // worked so far; counts towards the wall time limit
	Unpriced int           // replies so far with an unknown cost; one that counts reaches a cost limit
	Earlier  Spent         // the parts of Calls, Cost and Unpriced that do not count, since earlier turns made them

	// Say is a person's message after the history, and the answer to the question that the
	// history may end with; empty for none. If a step is unfinished,
	// it comes after what is known of that step, and the rest of the step does not run.
	Say    string
	Tokens int64 // estimated length of the request that Messages were sent with; 0 if it is unknown

	FormatErrors int // in a row at the end of Messages
	// Unfinished is the step after Messages if a run was interrupted in the middle
	// of it; nil if there is none. It is completed before the next call. Limits, Admit
	// and the Recorder do not see the parts that it holds.
	Unfinished *Unfinished

	// Tools can be called in addition to the tools of the [ActionForm], which must not be Text.
	// Their names differ from all others. A resumed run needs the same.
	Tools []Tool

	// Program leads the conversation in place of the loop; nil: none does. Its task is the instance template.
	Program Program
	Beside  int // calls beside the conversation that the Program made so far

	Model llm.Model
	ModelFacts
	Env      Environment
	Recorder Recorder     // may be nil
	Number   int          // of the turn in its session, for the events; 0 without a session
	Admit    func() error // asked before each paid call; may be nil; its error ends the run
	Hooks
}

// ModelFacts are facts about the model that a run needs.
type ModelFacts struct {
	Window int64 // the model's context in tokens, for the Recorder; 0 if it is unknown
	// StrictRoles says that the model's server takes only the model's words after the result of a tool,
	// as Mistral's do: a message of the user is then sent as a part of the result. Others read it as
	// the user's, and trust it more.
	StrictRoles bool
	// Uncounted says that costs need not be known: the cost limit has no effect on replies
	// without a known cost.
	Uncounted bool
	// Price is what calls cost, for the calls of a Program, whose cost is limited before they are made;
	// nil: unknown.
	Price *vocab.Price
	Sight llm.Sight // the images that the model takes
}

// Hooks are how a Turn's caller observes and steers the run. Each may be nil.
type Hooks struct {
	Listen []Listener // in this order

	// Limits is called before each call with the limits of the configuration, and returns the ones
	// that apply.
	Limits func(vocab.Limits) vocab.Limits

	// Approve is called before each action, with the tool's name. If it returns an
	// [Interrupt], the action and the rest of its reply do not run; the model is shown
	// that, and then the interrupt's messages. Another error ends the run.
	Approve func(ctx context.Context, tool string, c Call) error

	// Begun is called, in place of Approve, for the Unfinished action that had begun. Nil says
	// that the environment knows it: Execute waits for its result, which the model reads before
	// Say. If an [Interrupt] is returned, the model is shown that its result is unknown. Without
	// Begun the action is one that has not begun.
	Begun func(ctx context.Context, tool string, c Call) error

	// Rewrite is called before each call with the conversation to send, and once more if
	// the provider refuses it because of its length. A nil Rewriting leaves it unchanged.
	// With the same conversation it must decide the same, so that a resumed run sends the
	// same.
	Rewrite func(ctx context.Context, c Conversation) (*Rewriting, error)

	// Ready is called before each action that runs and returns when the environment is
	// ready. The wait does not count as the agent's time; an error ends the run.
	Ready func(context.Context) error
}

// Spent counts model calls and their cost.
type Spent struct {
	Calls int
	Cost  float64 // US dollars
	// Unpriced is the number of replies without a known cost; they are not in Cost.
	Unpriced int
}

// Unfinished is a step with a known reply and perhaps the outputs of its first actions.
type Unfinished struct {
	Reply   *llm.Response  // not counted yet in the Turn's Calls and Cost
	Outputs []vocab.Output // of actions that must not run again, in order
	Begun   bool           // the action after them had begun
}

// Ending is the result of a run.
type Ending struct {
	Status     vocab.Status // an interrupt's name, or a fault kind's Status
	Submission []byte       // exact; not nil when Submitted
	Submitted  bool
	Question   string        // that the model has asked the person, if input is required
	Reason     string        // the error of the provider or the environment, if that ended the run
	Messages   []llm.Message // the whole conversation, the history first; nothing of it is rewritten
	Calls      int           // answered and paid steps, including the Turn's
	Cost       float64       // US dollars, including the Turn's and calls that were no steps
	Unpriced   int           // replies with an unknown cost, not in Cost, of the same calls as Cost
	Usage      vocab.Usage   // of this run, with calls that were no steps
	ModelID    string        // the provider's name of the model that answered last

	ModelTime   time.Duration // in calls, including RateWait and Backoff
	RateWait    time.Duration // part of ModelTime: tries that met a rate limit, and the waits after them
	Backoff     time.Duration // part of ModelTime: tries that failed for other reasons, and the waits after them
	CommandTime time.Duration
}

// NeedsSubmission reports whether only a submission ends a run before its limits.
func (l *Loop) NeedsSubmission() bool { return !l.config.FinishWithoutCalls }

// Run takes steps until the run ends. The Ending is never nil and holds what is known
// so far. The error is nil if the run submits, answers, asks a person, gives up, reaches a limit, has a
// conversation that the provider no longer accepts (llm.ErrContextLength,
// llm.ErrContentPolicy) or has destroyed its environment ([vocab.ErrDestroyed]). Any
// error is a fault, the error of Admit or the recorder, or a cancellation; the last
// message then has the role exit, with exit_status and exception_str.
func (l *Loop) Run(ctx context.Context, t Turn) (*Ending, error) {
	r := newRun(l, t)
	err := r.begin(ctx)
	for err == nil && !r.done() {
		err = r.handle(ctx, r.step(ctx))
	}
	if err != nil {
		err = toCorrect(err)
		r.fail(ctx, err)
	}
	r.end.Messages = r.messages
	_ = r.record(context.WithoutCancel(ctx), Event{Type: EventEnd, Ending: &r.end, Err: err}) // the run has ended
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
	limit := r.loop.config.MaxFormatErrors
	if limit < 0 || r.formatErrors < limit || r.say != "" { // the model has yet to see the person's words
		return stop
	}
	last := exit(vocab.StatusRepeatedFormatError)
	return &Interrupt{vocab.StatusRepeatedFormatError, append(stop.Messages, last.Messages...)}
}

// toCorrect adds to the failure of a template what to do about it: in the middle of a run, it is
// not clear that a failure is a mistake in the configuration.
func toCorrect(err error) error {
	name := template.NameOf(err)
	if name == "" {
		return err
	}
	hint := fault.HintOf(err)
	if strings.Contains(hint, "\n") { // a long list of names, which hides the rest
		hint = ""
	}
	hint = strings.TrimSpace(hint + " correct this template of the configuration;")
	return fault.New(fault.KindOf(err), "", err).
		WithHint("%s changing it needs --accept-changes=%s, and starts unfinished instances from the beginning", hint, name)
}

// fail ends the run with a message that says why. If the recorder caused the failure, it
// may fail again; that second error is ignored.
func (r *run) fail(ctx context.Context, err error) {
	status := fault.KindOf(err).Status()
	if fault.Canceled(err) {
		status = vocab.StatusUserInterruption
	}
	r.end.Status = status
	_ = r.append(context.WithoutCancel(ctx), errorMessage(status, err))
}

// Environment is where actions run. It is all that the agent needs of a container.
type Environment interface {
	// Execute runs one command in a new shell, with empty stdin, and waits
	// for it or for its time limit. The Output has everything that the command did,
	// including its exit code and a timeout. An error is a *fault.Error,
	// [vocab.ErrDestroyed] or the cancellation of ctx, and ends the run.
	Execute(ctx context.Context, command string) (vocab.Output, error)

	// Vars are the template variables that describe the environment.
	Vars() map[string]any
}
